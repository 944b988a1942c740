//! Every stage after the basic dependencies against dumps of the reference.
//!
//! Not part of plain `cargo test`, as it needs files that are not in the repository:
//!
//! ```sh
//! CAPEVAL_SPICE_DUMPS=dev.jsonl.gz:more.jsonl CAPEVAL_SPICE_LISTS=lists.json \
//!     cargo test --release -p capeval-spice --test conformance -- --ignored --nocapture
//! ```
//!
//! A dump has a caption a line with its sentences `s` (tokens `t`, tags `p`, lemmas `l`, basic
//! dependencies `b`, CC-processed dependencies `cc`, and `en` where rewriting changes them) and
//! tuples `tu`. `CAPEVAL_SPICE_LISTS` is a JSON object with the fields of `WordLists`.

use capeval_dependencies::processed::{BasicDependency, Graph, Sentence, process};
use capeval_spice::{Lists, ParsedSentence, WordLists, rewrite, tuples};
use flate2::read::MultiGzDecoder;
use serde_json::Value;
use std::io::Read;
use std::time::{Duration, Instant};

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("nothing to test: set {name} (see the top of this file)"))
}

fn read(path: &str) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    text
}

fn captions() -> Vec<Value> {
    let paths = setting("CAPEVAL_SPICE_DUMPS");
    let texts: Vec<String> = paths.split(':').map(read).collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    let captions: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!captions.is_empty(), "nothing to test: no captions in {paths}");
    captions
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

fn lists() -> Lists {
    let lists: Value = serde_json::from_str(&read(&setting("CAPEVAL_SPICE_LISTS"))).unwrap();
    let list = |name: &str| strings(&lists[name]).into_iter().map(str::to_owned).collect();
    let lists = WordLists {
        two_word_prepositions: list("two_word_prepositions"),
        two_word_prepositions_headed_by_first: list("two_word_prepositions_headed_by_first"),
        three_word_prepositions: list("three_word_prepositions"),
        quantity_nouns: list("quantity_nouns"),
        plural_quantities: list("plural_quantities"),
        partitives: list("partitives"),
        singular_pronouns: list("singular_pronouns"),
        colors: list("colors"),
        sizes: list("sizes"),
        numbers: list("numbers"),
    };
    Lists::new(lists).unwrap()
}

/// The edges of a graph as dumps have them.
fn dumped(graph: &Graph) -> Value {
    let node = |word| match graph.copy(word) {
        0 => Value::from(graph.index(word)),
        copy => Value::from(format!("{}.{copy}", graph.index(word))),
    };
    let mut roots: Vec<_> = graph.roots().collect();
    roots.sort_by(|&one, &other| graph.compare(one, other));
    let roots = roots.into_iter().map(|root| Value::from(vec!["root".into(), Value::from(0), node(root)]));
    let mut edges: Vec<_> = graph.edges().collect();
    edges.sort_by(|one, other| {
        let dependents = graph.compare(one.dependent, other.dependent);
        let words = dependents.then_with(|| graph.compare(one.governor, other.governor));
        words.then_with(|| graph.name(one.relation).cmp(graph.name(other.relation)))
    });
    let edges = edges.into_iter().map(|edge| {
        Value::from(vec![graph.name(edge.relation).into(), node(edge.governor), node(edge.dependent)])
    });
    roots.chain(edges).collect()
}

#[derive(Default)]
struct Tally {
    total: usize,
    equal: usize,
}

impl Tally {
    fn add(&mut self, what: &str, caption: &Value, expected: &Value, found: &Value) {
        self.total += 1;
        if expected == found {
            self.equal += 1;
        } else if self.total - self.equal <= 5 {
            println!("{what} of {}\n  expected {expected}\n  found    {found}", caption["c"]);
        }
    }
}

#[derive(Default)]
struct Run {
    processed: Tally,
    rewritten: Tally,
    tuples: Tally,
    time: Duration,
    steps: [Duration; 3],
}

impl Run {
    fn caption(&mut self, caption: &Value, lists: &Lists) {
        let mut all_tuples = Vec::new();
        for (number, sentence) in caption["s"].as_array().unwrap().iter().enumerate() {
            let (words, tags, lemmas) =
                (strings(&sentence["t"]), strings(&sentence["p"]), strings(&sentence["l"]));
            let basic: Vec<BasicDependency<'_>> = sentence["b"]
                .as_array()
                .unwrap()
                .iter()
                .map(|edge| BasicDependency {
                    relation: edge[0].as_str().unwrap(),
                    governor: edge[1].as_u64().unwrap() as usize,
                    dependent: edge[2].as_u64().unwrap() as usize,
                })
                .collect();
            let dumped_sentence = Sentence { number, words: &words, tags: &tags };
            let start = Instant::now();
            let mut graph = process(&dumped_sentence, &basic, &lists.prepositions).unwrap();
            let processed = graph.clone();
            let after_processing = start.elapsed();
            rewrite(&mut graph, &dumped_sentence, lists);
            let after_rewriting = start.elapsed();
            let found = tuples(&graph, &ParsedSentence { sentence: dumped_sentence, lemmas: &lemmas });
            let end = start.elapsed();
            self.time += end;
            self.steps[0] += after_processing;
            self.steps[1] += after_rewriting - after_processing;
            self.steps[2] += end - after_rewriting;
            self.processed.add("cc", caption, &sentence["cc"], &dumped(&processed));
            let expected = if sentence["en"].is_null() { &sentence["cc"] } else { &sentence["en"] };
            self.rewritten.add("en", caption, expected, &dumped(&graph));
            all_tuples.extend(found.iter().map(|tuple| Value::from(tuple.parts())));
        }
        self.tuples.add("tu", caption, &caption["tu"], &Value::from(all_tuples));
    }
}

#[test]
#[ignore = "needs dumps of the reference"]
fn graphs_and_tuples_are_those_of_the_reference() {
    let (captions, lists) = (captions(), lists());
    let mut run = Run::default();
    for caption in &captions {
        run.caption(caption, &lists);
    }
    let tallies = [("cc", &run.processed), ("en", &run.rewritten), ("tu", &run.tuples)];
    for (what, tally) in tallies {
        println!("{what}: {} of {} equal", tally.equal, tally.total);
    }
    let per_caption = |time: Duration| time.as_secs_f64() * 1e6 / captions.len() as f64;
    println!("{:.1} microseconds a caption {:?}", per_caption(run.time), run.steps.map(per_caption));
    for (what, tally) in tallies {
        assert_eq!(tally.equal, tally.total, "{what}");
    }
}
