//! Compares basic dependencies of the parser's trees with CoreNLP 3.6.0, using the rules of the reference
//! jars.
//!
//! Run it with `cargo test -p capeval-classfiles -- --ignored`. Paths come from the environment:
//!
//! - `CAPEVAL_SPICE_JARS`: a folder with `stanford-corenlp-3.6.0.jar`, `SceneGraphParser-1.0.jar` and
//!   `spice-1.0.jar`, directly or in its folder `lib`.
//! - `CAPEVAL_SPICE_GOLDENS`: JSON Lines files separated by `:`, optionally gzipped, with one caption per
//!   line: `s` has the sentences, each with its `tree` and `b`, the basic dependencies.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use capeval_classfiles::{Jars, Reference};
use capeval_dependencies::{Converter, ConverterScratch, Edge, Labels, Tree};
use capeval_lemmas::Lemmatizer;
use serde_json::Value;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} must be set, as this file's first lines say"))
}

fn jar(folder: &Path, name: &str) -> Vec<u8> {
    let path = [folder.join(name), folder.join("lib").join(name)].into_iter().find(|path| path.exists());
    std::fs::read(path.unwrap_or_else(|| panic!("{name} is not in {}", folder.display()))).unwrap()
}

fn read_reference(folder: &Path) -> Reference {
    let jar = |name| jar(folder, name);
    Reference::read(Jars {
        corenlp: jar("stanford-corenlp-3.6.0.jar"),
        scene_graph_parser: jar("SceneGraphParser-1.0.jar"),
        spice: jar("spice-1.0.jar"),
    })
    .unwrap()
}

fn captions(path: &str) -> Vec<Value> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let reader: Box<dyn Read> = if path.ends_with(".gz") {
        Box::new(flate2::read::MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    BufReader::new(reader).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

struct Comparison {
    converter: Converter,
    lemmas: Lemmatizer,
    labels: Labels,
    scratch: ConverterScratch,
    spent: Duration,
}

impl Comparison {
    fn new(reference: Reference) -> Self {
        let converter = Converter::new(&reference.rules.dependencies).unwrap();
        let labels = converter.labels();
        let lemmas = Lemmatizer::new(reference.lemmas).unwrap();
        Comparison { converter, lemmas, labels, scratch: ConverterScratch::default(), spent: Duration::ZERO }
    }

    /// Returns whether a sentence's edges are equal, and prints the different ones.
    fn is_equal(&mut self, sentence: &Value, number: u32) -> bool {
        let text = sentence["tree"].as_str().unwrap();
        let mut tree = Tree::read(text, &mut self.labels).unwrap();
        let lemma = |word: &str, tag: &str| self.lemmas.lemma(word, tag);
        let start = Instant::now();
        let edges = self.converter.convert(&mut tree, &mut self.labels, number, &lemma, &mut self.scratch);
        self.spent += start.elapsed();
        let name = |edge: &Edge| self.converter.relations().name(edge.relation);
        let edges = edges.unwrap();
        let found: Vec<(&str, u32, u32)> = edges.iter().map(|e| (name(e), e.governor, e.dependent)).collect();
        let token = |value: &Value| value.as_u64().unwrap() as u32;
        let expected: Vec<(&str, u32, u32)> = (sentence["b"].as_array().unwrap().iter())
            .map(|edge| (edge[0].as_str().unwrap(), token(&edge[1]), token(&edge[2])))
            .collect();
        if found != expected {
            println!("{text}\n  rewritten {}", tree.to_text(&self.labels));
            println!("  found    {found:?}\n  expected {expected:?}");
        }
        found == expected
    }
}

#[test]
#[ignore = "needs the reference's jars and its dumps"]
fn basic_dependencies_equal_the_reference() {
    let files = variable("CAPEVAL_SPICE_GOLDENS");
    let mut comparison = Comparison::new(read_reference(Path::new(&variable("CAPEVAL_SPICE_JARS"))));
    let mut different = 0;
    for path in files.split(':').filter(|path| !path.is_empty()) {
        let (mut equal, mut all) = (0, 0);
        comparison.spent = Duration::ZERO;
        for caption in captions(path) {
            for (sentence, number) in caption["s"].as_array().unwrap().iter().zip(0..) {
                equal += usize::from(comparison.is_equal(sentence, number));
                all += 1;
            }
        }
        let each = comparison.spent.as_secs_f64() * 1e6 / f64::from(all);
        println!("{path}: basic dependencies of {equal} of {all} sentences equal, {each:.1} us each");
        assert!(all > 0, "{path} has no sentences");
        different += all as usize - equal;
    }
    assert_eq!(different, 0);
}
