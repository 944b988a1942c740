//! Compiles the grammar of a models jar, or parses the sentences of a file with a compiled grammar.
//!
//! Usage: `parse compile JAR SPELLINGS TABLE` or `parse run TABLE FILE [ROUNDS]`. SPELLINGS has two words per
//! line. FILE has one sentence per line, as tokens separated by spaces.

use std::error::Error;
use std::fs;
use std::ops::ControlFlow;
use std::time::Instant;

use capeval_parser::{Model, Parser, Source, compile};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["compile", jar, spellings, table] => make(jar, spellings, table),
        ["run", table, file] => run(table, file, 1),
        ["run", table, file, rounds] => run(table, file, rounds.parse()?),
        _ => Err("expected: compile JAR SPELLINGS TABLE | run TABLE FILE [ROUNDS]".into()),
    }
}

fn make(jar: &str, spellings: &str, table: &str) -> Result<(), Box<dyn Error>> {
    let mut source = Source::from_jar(fs::File::open(jar)?)?;
    for line in fs::read_to_string(spellings)?.lines() {
        match line.split_once(' ') {
            Some((spelling, lookup)) => source.spellings.push((spelling.to_owned(), lookup.to_owned())),
            None => source.our_words.push(line.to_owned()),
        }
    }
    fs::write(table, compile(&source)?)?;
    Ok(())
}

fn run(table: &str, file: &str, rounds: usize) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let kind = capeval_tables::Kind { name: "SPICE", version: 1 };
    let bytes = fs::read(table)?;
    let model = Model::open(bytes.clone()).or_else(|_| Model::open_in(bytes, kind))?;
    eprintln!("opened in {:.1} ms", 1e3 * start.elapsed().as_secs_f64());
    let text = fs::read_to_string(file)?;
    let sentences: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let parser = Parser::new(&model).with_limit(1000);
    for round in 0..rounds {
        let start = Instant::now();
        let parses = parser.parse_all(&sentences, &|_| ControlFlow::Continue(()))?;
        let seconds = start.elapsed().as_secs_f64();
        eprintln!(
            "{} sentences in {seconds:.2} s, {:.0} a second",
            parses.len(),
            parses.len() as f64 / seconds
        );
        if round == 0 {
            for (parse, words) in parses.iter().zip(&sentences) {
                println!("{}\t{}", parse.score, parse.to_brackets(model.labels(), words));
            }
        }
    }
    Ok(())
}
