//! Compares dependencies with CoreNLP 3.6.0.
//!
//! Run it with `cargo test -p capeval-dependencies -- --ignored`. CoreNLP's data is not in this repository,
//! so the paths come from the environment:
//!
//! - `CAPEVAL_SPICE_RULES`: relations and head rules as JSON, printed by Java reflection.
//! - `CAPEVAL_SPICE_MATCHES`: files separated by `:`, written by `tests/reference/DepsDump.java`. They
//!   contain the heads, all matches of all patterns in order, and the dependencies of rewritten trees.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::Arc;

use capeval_dependencies::{
    Converter, ConverterScratch, Edge, HeadRules, LabelTests, Labels, Matcher, NodeId, Pattern, RelationRule,
    Rules, Scratch, Tree,
};
use serde_json::Value;

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} must be set, as this file's first lines say"))
}

fn lines(path: &str) -> impl Iterator<Item = Value> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    BufReader::new(file).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn rules() -> Rules {
    let all: Value = serde_json::from_reader(File::open(setting("CAPEVAL_SPICE_RULES")).unwrap()).unwrap();
    let heads = &all["heads"];
    let lists = |lists: &Value| lists.as_array().unwrap().iter().map(strings).collect();
    let table = heads["rules"].as_object().unwrap();
    Rules {
        // The trees are already rewritten.
        rewriting: Vec::new(),
        relations: all["relations"].as_array().unwrap().iter().map(relation).collect(),
        heads: HeadRules {
            table: table.iter().map(|(category, rules)| (category.clone(), lists(rules))).collect(),
            punctuation_tags: strings(&heads["defaultLeftRule"]).split_off(1),
            auxiliaries: strings(&heads["verbalAuxiliaries"]),
            copulas: strings(&heads["copulars"]),
            passive_auxiliaries: strings(&heads["passiveAuxiliaries"]),
            verb_tags: strings(&heads["verbalTags"]),
            auxiliary_tags: strings(&heads["unambiguousAuxiliaryTags"]),
            conjunction_phrases: strings(&heads["headOfConjpTregex"]),
            copular_questions: strings(&heads["headOfCopulaTregex"]),
            temporal_verb_phrase: text(&heads["noVerbOverTempTregex"]).unwrap(),
        },
        verbs_without_object: text(&all["english_patterns"]["NP_V_S_INF_VERBS_REGEX"]).unwrap(),
    }
}

fn relation(rule: &Value) -> RelationRule {
    RelationRule {
        name: text(&rule["short"]).unwrap(),
        parent: text(&rule["parent"]),
        source: text(&rule["source"]),
        patterns: strings(&rule["patterns"]),
    }
}

/// Lists edges in the form of the goldens.
fn listed(edges: &[Edge], converter: &Converter) -> Vec<(String, u64, u64)> {
    let name = |edge: &Edge| converter.relations().name(edge.relation).to_owned();
    edges.iter().map(|edge| (name(edge), u64::from(edge.governor), u64::from(edge.dependent))).collect()
}

fn expected(edges: &Value) -> Vec<(String, u64, u64)> {
    let edge = |e: &Value| (text(&e[0]).unwrap(), e[1].as_u64().unwrap(), e[2].as_u64().unwrap());
    edges.as_array().unwrap().iter().map(edge).collect()
}

/// Reads a tree whose leaves may have moved. Tokens are numbered by the order of `leaves`.
fn read(record: &Value, labels: &mut Labels) -> Tree {
    let mut tree = Tree::read(record["tree"].as_str().unwrap(), labels).unwrap();
    let leaves: Vec<NodeId> = tree.preorder().filter(|&node| tree.is_leaf(node)).collect();
    for (leaf, token) in leaves.into_iter().zip(record["leaves"].as_array().unwrap()) {
        tree.number(leaf, token.as_u64().unwrap() as u32);
    }
    tree
}

struct Comparison {
    converter: Converter,
    labels: Labels,
    patterns: BTreeMap<(usize, usize), Pattern>,
    pattern_labels: Labels,
}

impl Comparison {
    fn new(rules: &Rules) -> Self {
        let mut tests = LabelTests::default();
        let patterns = (rules.relations.iter().enumerate())
            .flat_map(|(at, rule)| {
                rule.patterns.iter().enumerate().map(move |(place, text)| ((at, place), text))
            })
            .map(|(key, text)| (key, Pattern::compile(text, &mut tests).unwrap()))
            .collect();
        let converter = Converter::new(rules).unwrap();
        let labels = converter.labels();
        Comparison { converter, labels, patterns, pattern_labels: Labels::new(Arc::new(tests)) }
    }

    /// Returns whether heads, matches and edges are equal to those of a record.
    fn compare(&mut self, record: &Value) -> [bool; 3] {
        let mut tree = read(record, &mut self.labels);
        let mut scratch = ConverterScratch::default();
        let lemma = |word: &str, _: &str| word.to_owned();
        let edges = self.converter.convert(&mut tree, &mut self.labels, 0, &lemma, &mut scratch).unwrap();
        // The same tree with labels for the patterns. Its nodes have the same numbers.
        let tree = read(record, &mut self.pattern_labels);
        let order: Vec<NodeId> = tree.preorder().collect();
        [
            heads_agree(&tree, &order, &scratch, record),
            matches_agree(&tree, &order, &self.pattern_labels, &scratch, &self.patterns, record),
            sorted(listed(&edges, &self.converter)) == sorted(expected(&record["deps"])),
        ]
    }
}

#[test]
#[ignore = "needs the reference's rules and its matches"]
fn heads_matches_and_edges_of_rewritten_trees() {
    let files = setting("CAPEVAL_SPICE_MATCHES");
    let mut comparison = Comparison::new(&rules());
    let (mut trees, mut matches, mut wrong) = (0, 0, [0; 3]);
    for (number, record) in files.split(':').flat_map(lines).enumerate() {
        if record["error"].is_string() {
            println!("{number}: the reference failed: {}", record["error"]);
            continue;
        }
        trees += 1;
        matches += record["m"].as_array().unwrap().len();
        let same = comparison.compare(&record);
        for (wrong, same) in wrong.iter_mut().zip(same) {
            *wrong += usize::from(!same);
        }
        if same != [true; 3] && wrong.iter().sum::<usize>() < 20 {
            println!("{number}: heads, matches, edges equal: {same:?}: {}", record["tree"]);
        }
    }
    let [heads, patterns, edges] = wrong;
    println!(
        "{trees} trees, {matches} nodes where a pattern matches; trees that differ in heads: {heads}, in matches: {patterns}, in edges: {edges}"
    );
    assert!(trees > 0);
    assert_eq!(wrong, [0; 3]);
}

fn sorted(mut edges: Vec<(String, u64, u64)>) -> Vec<(String, u64, u64)> {
    edges.sort_by(|a, b| (a.2, a.1, &a.0).cmp(&(b.2, b.1, &b.0)));
    edges
}

fn heads_agree(tree: &Tree, order: &[NodeId], scratch: &ConverterScratch, record: &Value) -> bool {
    let place = |node: Option<NodeId>| node.and_then(|node| order.iter().position(|&other| other == node));
    let inner = order.iter().filter(|&&node| !tree.is_leaf(node));
    inner.zip(record["heads"].as_array().unwrap()).all(|(&node, heads)| {
        let found = [scratch.heads().child(node), Some(scratch.heads().for_patterns()[node.index()])];
        found.map(place) == [0, 1].map(|at| heads[at].as_u64().map(|at| at as usize))
    })
}

/// Compares the matches of each pattern at each node, as positions in pre-order, in order.
fn matches_agree(
    tree: &Tree,
    order: &[NodeId],
    labels: &Labels,
    scratch: &ConverterScratch,
    patterns: &BTreeMap<(usize, usize), Pattern>,
    record: &Value,
) -> bool {
    let place: BTreeMap<NodeId, u64> = order.iter().zip(0..).map(|(&node, at)| (node, at)).collect();
    let matcher = Matcher::new(tree, labels, scratch.heads().for_patterns());
    let mut room = Scratch::default();
    record["m"].as_array().unwrap().iter().all(|expected| {
        let key = (expected[0].as_u64().unwrap() as usize, expected[1].as_u64().unwrap() as usize);
        let pattern = &patterns[&key];
        let target = pattern.name("target").unwrap();
        let mut found = Vec::new();
        matcher.each(pattern, order[expected[2].as_u64().unwrap() as usize], &mut room, &mut |matched| {
            found.push(place[&matched.node(target).unwrap()]);
            false
        });
        let expected: Vec<u64> = expected[3].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        found == expected
    }) && count(tree, order, &matcher, patterns, record)
}

/// If a record has the matches of all patterns at all nodes, there must be no others.
fn count(
    tree: &Tree,
    order: &[NodeId],
    matcher: &Matcher<'_>,
    patterns: &BTreeMap<(usize, usize), Pattern>,
    record: &Value,
) -> bool {
    if record["all"] != true {
        return true;
    }
    let mut room = Scratch::default();
    let nodes = order.iter().filter(|&&node| tree.parent(node).is_some() || node == tree.root());
    let found: usize = nodes
        .map(|&node| patterns.values().filter(|pattern| matcher.matches(pattern, node, &mut room)).count())
        .sum();
    found == record["m"].as_array().unwrap().len()
}
