//! Compares the parser with CoreNLP 3.6.0 on captions.
//!
//! These tests need files that are not part of the project, so they run only on request. `make conformance`
//! runs all of them except the test of the jar: `cargo test --release -p capeval-parser --test corenlp --
//! --ignored --nocapture`.
//!
//! - `CAPEVAL_MODELS_JAR`: CoreNLP 3.6.0's models jar.
//! - `CAPEVAL_SPICE_MODEL`: the file created by `capeval resources spice`.
//! - `CAPEVAL_SPICE_GOLDENS`: JSON Lines files with CoreNLP's results for captions, separated by colons,
//!   optionally gzipped.

use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;

use capeval_parser::{Model, Parse, Parser, Source, compile};
use capeval_ptb::{Options, Punctuation, Release, Tokenizer, sentences};
use capeval_tables::Kind;
use flate2::read::GzDecoder;
use serde_json::Value;

/// The kind of the file that contains the grammar together with SPICE's rules and lists.
const SPICE: Kind = Kind { name: "SPICE", version: 1 };

struct Sentence {
    tokens: Vec<String>,
    tags: Vec<String>,
    /// `None` if CoreNLP found no parse.
    score: Option<f64>,
    tree: String,
}

struct Caption {
    text: String,
    sentences: Vec<Sentence>,
}

fn setting(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} must be set: see the top of this file"))
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn goldens() -> Vec<Caption> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance/spice/golden.jsonl");
    let more = env::var("CAPEVAL_SPICE_GOLDENS").unwrap_or_default();
    let mut captions = Vec::new();
    for path in [own].into_iter().chain(more.split(':').filter(|path| !path.is_empty())) {
        let file = File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let reader: Box<dyn Read> =
            if path.ends_with(".gz") { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
        let before = captions.len();
        captions.extend(BufReader::new(reader).lines().filter_map(|line| caption(&line.unwrap())));
        assert!(captions.len() > before, "{path}: expected captions, found none");
    }
    captions
}

/// Reads a caption, or `None` if the line contains something else.
fn caption(line: &str) -> Option<Caption> {
    let line: Value = serde_json::from_str(line).unwrap();
    let text = line.get("c")?.as_str()?.to_owned();
    let sentence = |sentence: &Value| Sentence {
        tokens: texts(&sentence["t"]),
        tags: texts(&sentence["p"]),
        score: sentence["sc"].as_f64(),
        tree: sentence["tree"].as_str().unwrap().to_owned(),
    };
    let sentences = line["s"].as_array().map_or(&[][..], Vec::as_slice);
    Some(Caption { text, sentences: sentences.iter().map(sentence).collect() })
}

#[test]
fn tokens_and_sentences_match_corenlp() {
    let mut tokenizer = Tokenizer::with_release(Release::V3_6_0);
    let options = Options { lowercase: false, punctuation: Punctuation::Keep };
    let captions = goldens();
    let mut wrong = 0;
    for caption in &captions {
        let mut tokens = Vec::new();
        tokenizer.tokenize_into(&caption.text, &options, |token| tokens.push(token.to_owned()));
        let found: Vec<&[String]> = sentences(&tokens).into_iter().map(|range| &tokens[range]).collect();
        let expected: Vec<&[String]> =
            caption.sentences.iter().map(|sentence| &sentence.tokens[..]).collect();
        if found != expected {
            wrong += 1;
            eprintln!("{:?}\n  expected {expected:?}\n  found {found:?}", caption.text);
        }
    }
    println!("tokens: {} of {} captions equal", captions.len() - wrong, captions.len());
    assert_eq!(wrong, 0);
}

#[test]
#[ignore = "needs SPICE's model"]
fn scores_tags_and_trees_match_corenlp() {
    let path = setting("CAPEVAL_SPICE_MODEL");
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let model = Model::open_in(bytes, SPICE).unwrap();
    let captions = goldens();
    let sentences: Vec<&Sentence> = captions.iter().flat_map(|caption| &caption.sentences).collect();
    let tokens: Vec<&[String]> = sentences.iter().map(|sentence| &sentence.tokens[..]).collect();
    let parses = Parser::new(&model).parse_all(&tokens, &|_| ControlFlow::Continue(())).unwrap();
    let wrong = sentences.iter().zip(&parses).filter(|(sentence, parse)| !is_equal(&model, sentence, parse));
    let wrong = wrong.count();
    println!("parses: {} of {} sentences equal", sentences.len() - wrong, sentences.len());
    assert_eq!(wrong, 0);
}

fn is_equal(model: &Model<Vec<u8>>, expected: &Sentence, found: &Parse) -> bool {
    let tree = found.to_brackets(model.labels(), &expected.tokens);
    let tags: Vec<&str> = found.tags.iter().map(|&tag| model.labels()[usize::from(tag)].as_str()).collect();
    let score = (!found.score.is_nan()).then_some(found.score);
    let equal = tree == expected.tree && tags == expected.tags && score == expected.score;
    if !equal {
        eprintln!("expected {:?} {}\n  found {score:?} {tree}", expected.score, expected.tree);
    }
    equal
}

#[test]
#[ignore = "needs CoreNLP's models jar"]
fn the_models_jar_has_the_grammar() {
    let jar = setting("CAPEVAL_MODELS_JAR");
    let source = Source::from_jar(File::open(jar).unwrap()).unwrap();
    let sizes = [
        source.states.len(),
        source.tags.len(),
        source.words.len(),
        source.binary_rules.len(),
        source.unary_rules.len(),
        source.seen.len(),
        source.unseen.len(),
    ];
    assert_eq!(sizes, [12_977, 614, 48_050, 46_091, 3_135, 123_365, 2_180]);
    let all = |counts: &[capeval_parser::Count]| {
        let whole = counts.iter().find(|count| count.word.is_none() && count.tag.is_none());
        whole.unwrap().count
    };
    assert_eq!(all(&source.seen), 1_064_728.499_999_974_2);
    assert_eq!(all(&source.unseen), 14_707.853_068_450_902);
    let table = compile(&source).unwrap();
    assert!(table.len() < 4_000_000, "{}", table.len());
    Model::open(table).unwrap();
}
