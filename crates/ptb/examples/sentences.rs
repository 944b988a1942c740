//! Tokenizes texts like CoreNLP 3.6.0, one text per input line.
//!
//! Prints one line of tokens per sentence, and an empty line after each text. In the input, `\n` stands for a
//! line end.

use std::io::{BufRead, Write, stdin, stdout};

use capeval_ptb::{Options, Punctuation, Release, Tokenizer, sentences};

fn main() -> std::io::Result<()> {
    let mut tokenizer = Tokenizer::with_release(Release::V3_6_0);
    let options = Options { lowercase: false, punctuation: Punctuation::Keep };
    let mut out = std::io::BufWriter::new(stdout().lock());
    for line in stdin().lock().lines() {
        let mut tokens = Vec::new();
        let text = line?.replace("\\n", "\n");
        tokenizer.tokenize_into(&text, &options, |token| tokens.push(token.to_owned()));
        for sentence in sentences(&tokens) {
            writeln!(out, "{}", tokens[sentence].join("\t"))?;
        }
        writeln!(out)?;
    }
    out.flush()
}
