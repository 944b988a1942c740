//! Tokenizes standard input line by line, as one batch of captions.
//!
//! Flags: `--keep-case`, `--punctuation keep|reference|paper`, `--alone` (tokenize each line as a separate
//! file).

use capeval_ptb::{Options, Punctuation, Tokenizer};
use std::io::{Read, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = Options { punctuation: Punctuation::Keep, ..Options::default() };
    let mut alone = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--keep-case" => options.lowercase = false,
            "--alone" => alone = true,
            "--punctuation" => {
                options.punctuation = match arguments.next().as_deref() {
                    Some("keep") => Punctuation::Keep,
                    Some("reference") => Punctuation::Reference,
                    Some("paper") => Punctuation::Paper,
                    other => return Err(format!("unknown punctuation {other:?}").into()),
                }
            }
            other => return Err(format!("unknown flag {other:?}").into()),
        }
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let lines: Vec<&str> = text.split('\n').collect();
    let mut tokenizer = Tokenizer::new();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (index, line) in lines.iter().enumerate() {
        let following = if alone { &[] } else { &lines[index + 1..] };
        let mut separator = "";
        let mut result = String::new();
        tokenizer.tokenize_in_batch(line, following, &options, |token| {
            result.push_str(separator);
            result.push_str(token);
            separator = " ";
        });
        out.write_all(result.as_bytes())?;
        if index + 1 < lines.len() {
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}
