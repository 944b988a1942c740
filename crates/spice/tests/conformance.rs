//! Compares every stage after the basic dependencies with dumps of the reference implementation.
//!
//! Not part of the default `cargo test`, because it needs files that are not in the repository:
//!
//! ```sh
//! CAPEVAL_SPICE_DUMPS=dev.jsonl.gz:more.jsonl CAPEVAL_SPICE_LISTS=lists.json \
//!     cargo test --release -p capeval-spice --test conformance -- --ignored --nocapture
//! ```
//!
//! A dump has one caption per line with its sentences `s` (tokens `t`, tags `p`, lemmas `l`, basic
//! dependencies `b`, CC-processed dependencies `cc`, and `en` if rewriting changes them) and
//! tuples `tu`. `CAPEVAL_SPICE_LISTS` is a JSON object with the fields of `WordLists`.

use capeval_dependencies::processed::{BasicDependency, Graph, Sentence, process};
use capeval_meteor::{Synonyms, compile_synonyms};
use capeval_spice::{
    Category, Comparison, Concepts, GraphTuples, Lists, ParsedSentence, SceneGraph, SceneTuple, Tuple,
    WordLists, compare, rewrite, tuples,
};
use flate2::read::MultiGzDecoder;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::time::Instant;

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

/// Formats the edges of a graph as in the dumps.
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
    /// Time of processing, rewriting and reading tuples for each sentence, in microseconds.
    times: [Vec<f64>; 3],
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
            let after_processing = start.elapsed();
            let processed = dumped(&graph);
            let start_of_rest = Instant::now();
            rewrite(&mut graph, &dumped_sentence, lists);
            let after_rewriting = start_of_rest.elapsed();
            let found = tuples(&graph, &ParsedSentence { sentence: dumped_sentence, lemmas: &lemmas });
            let end = start_of_rest.elapsed();
            let steps = [after_processing, after_rewriting, end - after_rewriting];
            for (times, step) in self.times.iter_mut().zip(steps) {
                times.push(step.as_secs_f64() * 1e6);
            }
            self.processed.add("cc", caption, &sentence["cc"], &processed);
            let expected = if sentence["en"].is_null() { &sentence["cc"] } else { &sentence["en"] };
            self.rewritten.add("en", caption, expected, &dumped(&graph));
            all_tuples.extend(found.iter().map(|tuple| Value::from(tuple.parts())));
        }
        self.tuples.add("tu", caption, &caption["tu"], &Value::from(all_tuples));
    }
}

#[test]
#[ignore = "needs dumps of the reference"]
fn graphs_and_tuples_match_the_reference() {
    let (captions, lists) = (captions(), lists());
    let mut run = Run::default();
    for caption in &captions {
        run.caption(caption, &lists);
    }
    let tallies = [("cc", &run.processed), ("en", &run.rewritten), ("tu", &run.tuples)];
    for (what, tally) in tallies {
        println!("{what}: {} of {} equal", tally.equal, tally.total);
    }
    let medians = run.times.each_mut().map(|times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    println!("median microseconds a sentence: {medians:.1?}");
    for (what, tally) in tallies {
        assert_eq!(tally.equal, tally.total, "{what}");
    }
}

/// Compiles a table of synonyms from METEOR's own files in a folder.
fn synonyms() -> Synonyms<Vec<u8>> {
    let folder = setting("CAPEVAL_SPICE_SYNONYMS");
    let open = |name: &str| {
        let path = format!("{folder}/{name}");
        BufReader::new(File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}")))
    };
    let file = compile_synonyms(&mut open("english.synsets"), &mut open("english.exceptions")).unwrap();
    Synonyms::open(file).unwrap()
}

fn caption_tuples(captions: &[Value]) -> HashMap<&str, Vec<Tuple>> {
    let of = |caption: &Value| -> Vec<Tuple> {
        let tuples = caption["tu"].as_array().unwrap().iter();
        tuples.map(|tuple| Tuple::from_parts(&strings(tuple)).unwrap()).collect()
    };
    captions.iter().map(|caption| (caption["c"].as_str().unwrap(), of(caption))).collect()
}

/// The words of each part of each tuple, sorted, with a flag for matched tuples.
type Described = Vec<(Vec<Vec<String>>, bool)>;

fn described(tuples: &GraphTuples, matched: &[bool]) -> Described {
    let words = |tuple: SceneTuple| {
        let concepts = tuples.graph().concepts(tuple).into_iter().flatten();
        let sorted = concepts.map(|concept| {
            let mut words: Vec<String> =
                concept.words().iter().flat_map(|word| word.split('/')).map(str::to_owned).collect();
            words.sort();
            words
        });
        sorted.collect()
    };
    let mut all: Vec<_> =
        tuples.tuples().iter().zip(matched).map(|(&tuple, &flag)| (words(tuple), flag)).collect();
    all.sort();
    all
}

fn described_dump(tuples: &Value) -> Described {
    let one = |tuple: &Value| {
        let parts = tuple.as_array().unwrap();
        let (flag, parts) = parts.split_last().unwrap();
        let words = |part: &Value| {
            let mut words: Vec<String> = part.as_str().unwrap().split('/').map(str::to_owned).collect();
            words.sort();
            words
        };
        (parts.iter().map(words).collect(), flag.as_bool().unwrap())
    };
    let mut all: Vec<_> = tuples.as_array().unwrap().iter().map(one).collect();
    all.sort();
    all
}

fn dumped_counts(comparison: &Comparison) -> Value {
    let categories = Category::LIST.iter().zip(&comparison.counts).map(|(&category, counts)| {
        let missed = i64::from(counts.references) - i64::from(counts.matched);
        let scores = counts.scores(category);
        let row = [
            Value::from(counts.matched),
            Value::from(counts.candidate - counts.matched),
            Value::from(missed),
            Value::from(scores.precision),
            Value::from(scores.recall),
            Value::from(scores.f),
        ];
        (format!("{category:?}"), Value::from(row.to_vec()))
    });
    Value::Object(categories.collect())
}

#[derive(Default)]
struct ScoredRun {
    counts: Tally,
    candidates: Tally,
    references: Tally,
    times: Vec<f64>,
}

impl ScoredRun {
    fn image(
        &mut self,
        image: &Value,
        tuples: &HashMap<&str, Vec<Tuple>>,
        concepts: &mut Concepts<'_, Vec<u8>>,
        lists: &Lists,
    ) {
        let start = Instant::now();
        let mut graph = |captions: &[&str]| {
            let tuples = captions.iter().flat_map(|caption| &tuples[caption]);
            GraphTuples::new(SceneGraph::new(tuples, concepts).unwrap(), lists)
        };
        let candidate = graph(&[image["test"].as_str().unwrap()]);
        let references = graph(&strings(&image["refs"]));
        let comparison = compare(&candidate, &references);
        self.times.push(start.elapsed().as_secs_f64() * 1e6);
        let name = serde_json::json!({"c": image["id"]});
        self.counts.add("counts", &name, &image["s"], &dumped_counts(&comparison));
        let matched: Vec<bool> = comparison.candidate_matches.iter().map(Option::is_some).collect();
        let (expected, own) = (described_dump(&image["tt"]), described(&candidate, &matched));
        let json = |tuples| serde_json::to_value(tuples).unwrap();
        self.candidates.add("candidate's tuples", &name, &json(expected), &json(own));
        // The reference implementation flags one of several matched tuples, capeval all of them.
        let words = |tuples: Described| Value::from_iter(tuples.into_iter().map(|(words, _)| words));
        let own = words(described(&references, &comparison.reference_matched));
        self.references.add("references' tuples", &name, &words(described_dump(&image["rt"])), &own);
    }
}

/// `CAPEVAL_SPICE_SCORES` is a JSON file of scored images (`human` and `machine`, each with `images`), and
/// `CAPEVAL_SPICE_SYNONYMS` is the folder of METEOR's `english.synsets` and `.exceptions`.
#[test]
#[ignore = "needs scores of the reference"]
fn counts_and_scores_match_the_reference() {
    let (captions, lists, synonyms) = (captions(), lists(), synonyms());
    let tuples = caption_tuples(&captions);
    let scores: Value = serde_json::from_str(&read(&setting("CAPEVAL_SPICE_SCORES"))).unwrap();
    let (mut concepts, mut run) = (Concepts::new(&synonyms), ScoredRun::default());
    for kind in ["human", "machine"] {
        for image in scores[kind]["images"].as_array().unwrap() {
            run.image(image, &tuples, &mut concepts, &lists);
        }
    }
    assert!(!run.times.is_empty(), "nothing to test: no images");
    run.times.sort_by(f64::total_cmp);
    println!("median microseconds an image: {:.1}", run.times[run.times.len() / 2]);
    let tallies = [
        ("counts", run.counts),
        ("candidates' tuples", run.candidates),
        ("references' tuples", run.references),
    ];
    for (what, tally) in &tallies {
        println!("{what}: {} of {} images equal", tally.equal, tally.total);
    }
    for (what, tally) in tallies {
        assert_eq!(tally.equal, tally.total, "{what}");
    }
}
