//! Compile METEOR's word tables: `meteor_compile DIRECTORY PARAPHRASES OUTPUT`, where DIRECTORY
//! holds the unpacked METEOR jar.

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Instant;

use capeval_metrics::meteor::{Sources, Tables, compile};

fn open(path: &Path) -> Result<BufReader<File>, Box<dyn Error>> {
    Ok(BufReader::new(File::open(path).map_err(|error| format!("{}: {error}", path.display()))?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, paraphrases, output] = &arguments[..] else {
        return Err("expected DIRECTORY PARAPHRASES OUTPUT".into());
    };
    let directory = Path::new(directory);
    let start = Instant::now();
    let sources = Sources {
        synsets: &mut open(&directory.join("synonym/english.synsets"))?,
        exceptions: &mut open(&directory.join("synonym/english.exceptions"))?,
        function_words: &mut open(&directory.join("function/english.words"))?,
        prefixes: &mut open(&directory.join("nonbreaking/english.prefixes"))?,
        paraphrases: &mut open(Path::new(paraphrases))?,
    };
    let file = compile(sources, &mut |_| std::ops::ControlFlow::Continue(()))?;
    std::fs::write(output, &file)?;
    let tables = Tables::open(file)?;
    println!(
        "{} words, {} nodes, {} pairs in {:.2} s",
        tables.words(),
        tables.nodes(),
        tables.paraphrase_pairs(),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
