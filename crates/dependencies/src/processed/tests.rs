//! Small sentences, and properties of graphs of random ones.

use super::pattern::{Class, Clause, Pattern, Relations, Search, neighbor};
use super::*;
use proptest::prelude::*;

fn prepositions() -> MultiwordPrepositions {
    MultiwordPrepositions::new(vec!["next_to", "close_to"], vec!["next_to", "close_to"], vec!["in_front_of"])
}

/// Processes words with tags and dependencies, given as "relation governor dependent".
fn processed(tagged: &str, dependencies: &str) -> Graph {
    let pairs: Vec<(&str, &str)> =
        tagged.split(' ').map(|token| token.rsplit_once('/').expect("word/TAG")).collect();
    let (words, tags): (Vec<&str>, Vec<&str>) = pairs.into_iter().unzip();
    let basic: Vec<BasicDependency<'_>> = dependencies
        .split(", ")
        .map(|line| {
            let parts: Vec<&str> = line.split(' ').collect();
            let [governor, dependent] = [1, 2].map(|part| parts[part].parse().expect("a number"));
            BasicDependency { relation: parts[0], governor, dependent }
        })
        .collect();
    let sentence = Sentence { number: 0, words: &words, tags: &tags };
    process(&sentence, &basic, &prepositions()).expect("a good sentence")
}

/// Lists edges as "relation governor dependent" in the order of dependents, with copies as "2.1".
fn edges(graph: &Graph) -> String {
    let node = |word| match graph.copy(word) {
        0 => graph.index(word).to_string(),
        copy => format!("{}.{copy}", graph.index(word)),
    };
    let mut edges: Vec<Edge> = graph.edges().collect();
    edges.sort_by(|one, other| {
        let dependents = graph.compare(one.dependent, other.dependent);
        dependents.then_with(|| graph.compare_edges(one, other))
    });
    let roots = graph.roots().map(|root| format!("root 0 {}", node(root)));
    let edges = edges.into_iter().map(|edge| {
        format!("{} {} {}", graph.name(edge.relation), node(edge.governor), node(edge.dependent))
    });
    roots.chain(edges).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_preposition_names_its_relation() {
    let graph = processed("cat/NN On/IN table/NN", "root 0 1, case 3 2, nmod 1 3");
    assert_eq!(edges(&graph), "root 0 1, case 3 2, nmod:on 1 3");
}

#[test]
fn three_words_become_one_preposition() {
    let graph =
        processed("cat/NN in/IN front/NN of/IN house/NN", "root 0 1, case 3 2, nmod 1 3, case 5 4, nmod 3 5");
    assert_eq!(edges(&graph), "root 0 1, case 5 2, mwe 2 3, mwe 2 4, nmod:in_front_of 1 5");
}

#[test]
fn two_words_become_one_preposition() {
    let graph = processed("cat/NN next/JJ to/TO dog/NN", "root 0 1, case 4 2, case 4 3, nmod 1 4");
    assert_eq!(edges(&graph), "root 0 1, case 4 2, mwe 2 3, nmod:next_to 1 4");
    let headed = processed("cat/NN close/RB to/TO dog/NN", "root 0 1, advmod 1 2, case 4 3, nmod 2 4");
    assert_eq!(edges(&headed), "root 0 1, case 4 2, mwe 2 3, nmod:close_to 1 4");
}

#[test]
fn subjects_of_passive_verbs_are_passive() {
    let graph = processed(
        "dog/NN is/VBZ fed/VBN by/IN man/NN",
        "nsubj 3 1, auxpass 3 2, root 0 3, case 5 4, nmod 3 5",
    );
    assert_eq!(edges(&graph), "root 0 3, nsubjpass 3 1, auxpass 3 2, case 5 4, nmod:agent 3 5");
}

#[test]
fn conjuncts_share_governors_and_subjects() {
    let nouns = processed("eats/VBZ apples/NNS and/CC pears/NNS", "root 0 1, dobj 1 2, cc 2 3, conj 2 4");
    assert_eq!(edges(&nouns), "root 0 1, dobj 1 2, cc 2 3, dobj 1 4, conj:and 2 4");
    let verbs = processed("man/NN sits/VBZ And/CC eats/VBZ", "nsubj 2 1, root 0 2, cc 2 3, conj 2 4");
    assert_eq!(edges(&verbs), "root 0 2, nsubj 2 1, nsubj 4 1, cc 2 3, conj:and 2 4");
}

#[test]
fn conjunctions_of_several_words_have_one_name() {
    let graph =
        processed("cat/NN as/RB well/RB as/IN dog/NN", "root 0 1, cc 1 2, mwe 2 3, mwe 2 4, conj 1 5");
    assert!(edges(&graph).ends_with("conj:and 1 5"), "{}", edges(&graph));
}

#[test]
fn each_joined_phrase_has_a_governor() {
    let graph = processed(
        "flies/VBZ to/TO France/NNP and/CC from/IN Serbia/NNP",
        "root 0 1, case 3 2, nmod 1 3, cc 3 4, case 6 5, conj 3 6",
    );
    let expected = "root 0 1, conj:and 1 1.1, case 3 2, nmod:to 1 3, cc 1 4, case 6 5, nmod:from 1.1 6";
    assert_eq!(edges(&graph), expected);
}

#[test]
fn missing_tokens_are_errors() {
    let sentence = Sentence { number: 0, words: &["cat"], tags: &["NN"] };
    for (relation, governor, dependent, token) in [("det", 1, 2, 2), ("det", 0, 1, 0), ("root", 0, 0, 0)] {
        let basic = [BasicDependency { relation, governor, dependent }];
        let error = process(&sentence, &basic, &prepositions()).unwrap_err();
        assert_eq!(error, GraphError::Token { position: 0, words: 1, token });
    }
    let untagged = Sentence { tags: &[], ..sentence };
    let error = process(&untagged, &[], &prepositions()).unwrap_err();
    assert_eq!(error.to_string(), "expected one tag for each of the 1 tokens, got 0 tags");
}

#[test]
fn children_are_in_the_order_of_buckets() {
    let mut graph = Graph::new(0, 20);
    for dependent in [17, 1, 16, 2] {
        graph.add_edge(WordId(4), WordId(dependent - 1), Relation::DEP);
    }
    let children: Vec<usize> = graph.children(WordId(4)).map(|word| graph.index(word)).collect();
    assert_eq!(children, [16, 17, 1, 2]);
}

#[test]
fn a_cycle_is_searched_in_the_order_of_vertices() {
    let mut graph = Graph::new(0, 3);
    graph.add_edge(WordId(2), WordId(0), Relation::DEP);
    graph.add_edge(WordId(2), WordId(1), Relation::DEP);
    assert_eq!(graph.search_order(), [WordId(2), WordId(1), WordId(0)]);
    graph.add_edge(WordId(0), WordId(2), Relation::DEP);
    assert_eq!(graph.search_order(), [WordId(0), WordId(1), WordId(2)]);
}

#[test]
fn the_parent_is_the_first_governor_that_leads_to_a_root() {
    let mut graph = Graph::new(0, 4);
    graph.add_root(WordId(3));
    graph.add_edge(WordId(0), WordId(1), Relation::DEP);
    graph.add_edge(WordId(1), WordId(0), Relation::DEP);
    assert_eq!(graph.parent(WordId(1)), None);
    graph.add_edge(WordId(3), WordId(1), Relation::DEP);
    assert_eq!(graph.parent(WordId(1)), Some(WordId(3)));
    assert_eq!(graph.parent(WordId(0)), Some(WordId(1)));
    assert_eq!(graph.parent(WordId(3)), None);
}

const A: usize = 1;
const B: usize = 2;
const NOUN: Class = Class(1);

fn found(clauses: &'static [Clause]) -> Vec<(usize, Option<usize>, Option<usize>)> {
    // 1 -dobj-> 2, 1 -dobj-> 3, 1 -cop-> 4, 2 -amod-> 4. 2 and 3 are nouns, and 1 is the root.
    let mut graph = Graph::new(0, 4);
    graph.add_root(WordId(0));
    graph.add_edge(WordId(0), WordId(1), Relation::DOBJ);
    graph.add_edge(WordId(0), WordId(2), Relation::DOBJ);
    graph.add_edge(WordId(0), WordId(3), Relation::COP);
    graph.add_edge(WordId(1), WordId(3), Relation::AMOD);
    let classes = [Class::ANY, NOUN, NOUN, Class::ANY];
    let order = graph.search_order();
    let search = Search { graph: &graph, classes: &classes, order: &order };
    let matches = search.all(&Pattern { class: Class::ANY, clauses });
    let index = |word| graph.index(word);
    matches
        .iter()
        .map(|one| (index(one.word(0)), one.optional(A).map(index), one.optional(B).map(index)))
        .collect()
}

const DOBJ: Relations = Relations::Is(Relation::DOBJ);

#[test]
fn the_last_clause_varies_fastest() {
    let matches = found(
        const { &[Clause::Has(neighbor(DOBJ, NOUN).slot(A)), Clause::Has(neighbor(DOBJ, NOUN).slot(B))] },
    );
    let pairs = [(2, 2), (2, 3), (3, 2), (3, 3)];
    assert_eq!(matches, pairs.map(|(a, b)| (1, Some(a), Some(b))));
}

#[test]
fn clauses_hold_or_fail() {
    let governed = |matches: &[(usize, Option<usize>, Option<usize>)]| -> Vec<usize> {
        matches.iter().map(|&(word, ..)| word).collect()
    };
    let under = found(
        const { &[Clause::Under(neighbor(DOBJ, Class::ANY)), Clause::Lacks(neighbor(Relations::Any, Class::ANY))] },
    );
    assert_eq!(governed(&under), [3]);
    assert_eq!(governed(&found(const { &[Clause::Root] })), [1]);
    let mut inner =
        governed(&found(const { &[Clause::NotRoot, Clause::NotUnder(neighbor(DOBJ, Class::ANY))] }));
    inner.sort_unstable();
    assert_eq!(inner, [4]);
    let other = found(
        const {
            &[
                Clause::Has(neighbor(DOBJ, Class::ANY).slot(A)),
                Clause::Has(neighbor(DOBJ, Class::ANY).slot(B).with(&[Clause::IsNot(A)])),
            ]
        },
    );
    assert_eq!(other, [(1, Some(2), Some(3)), (1, Some(3), Some(2))]);
    let same = found(
        const {
            &[
                Clause::Has(neighbor(DOBJ, Class::ANY).slot(A)),
                Clause::Has(neighbor(DOBJ, Class::ANY).slot(B).with(&[Clause::IsIn(A)])),
            ]
        },
    );
    assert_eq!(same, [(1, Some(2), Some(2)), (1, Some(3), Some(3))]);
}

#[test]
fn branches_are_searched_in_order() {
    const COP: Relations = Relations::Named(|name| name == "cop");
    let matches = found(
        const {
            &[Clause::AnyOf(&[
                &[Clause::Has(neighbor(COP, Class::ANY).slot(A))],
                &[Clause::Has(neighbor(DOBJ, Class::ANY).slot(A)), Clause::Before(A)],
            ])]
        },
    );
    assert_eq!(matches, [(1, Some(4), None), (1, Some(2), None)]);
}

#[test]
fn the_next_sibling_has_the_same_governor() {
    assert_eq!(found(const { &[Clause::NextSibling(A)] }), [(3, Some(4), None), (2, Some(3), None)]);
}

/// A hash table like Java's, for the order of its keys.
struct Buckets(Vec<Vec<u32>>);

impl Buckets {
    fn insert(&mut self, key: u32) {
        if self.0.iter().flatten().any(|&known| known == key) {
            return;
        }
        let place = key as usize % self.0.len();
        self.0[place].push(key);
        let long = self.0[place].len() > 8 && self.0.len() < 64;
        let mut growths = usize::from(long);
        growths += usize::from(self.0.iter().flatten().count() * 4 > 3 * (self.0.len() << growths));
        for _ in 0..growths {
            let keys: Vec<u32> = self.0.iter().flatten().copied().collect();
            self.0 = vec![Vec::new(); 2 * self.0.len()];
            for key in keys {
                let place = key as usize % self.0.len();
                self.0[place].push(key);
            }
        }
    }
}

const NAMES: [&str; 18] = [
    "nsubj",
    "csubj",
    "auxpass",
    "dobj",
    "nmod",
    "acl",
    "acl:relcl",
    "advcl",
    "case",
    "mark",
    "cc",
    "conj",
    "mwe",
    "advmod",
    "cop",
    "amod",
    "det",
    "nmod:tmod",
];
const WORDS: [&str; 12] =
    ["next", "to", "close", "in", "front", "of", "and", "but", "not", "rather", "by", "Dog"];
const TAGS: [&str; 6] = ["NN", "VBZ", "VBN", "JJ", "IN", "CC"];

/// Generates a sentence of random words, each with a governor that may be a later word or part of a cycle.
fn sentences() -> impl Strategy<Value = Vec<(usize, usize, usize, usize)>> {
    let word = (0..WORDS.len(), 0..TAGS.len(), 0..NAMES.len(), any::<prop::sample::Index>());
    prop::collection::vec(word, 1..24).prop_map(|words| {
        let count = words.len();
        words
            .into_iter()
            .map(|(word, tag, name, governor)| (word, tag, name, governor.index(count)))
            .collect()
    })
}

proptest! {
    #[test]
    fn keys_are_in_the_order_of_java(keys in prop::collection::vec((0_u32..200, any::<bool>()), 0..60)) {
        let mut order = HashOrder::default();
        let mut buckets = Buckets(vec![Vec::new(); 16]);
        for (key, again) in keys {
            order.insert(key, key as i32, false);
            if again {
                order.insert(key, key as i32, true);
            }
            buckets.insert(key);
            let expected: Vec<u32> = buckets.0.iter().flatten().copied().collect();
            prop_assert_eq!(order.keys().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn any_dependencies_give_a_graph_with_all_tokens(words in sentences(), root in any::<prop::sample::Index>()) {
        let tokens: Vec<&str> = words.iter().map(|word| WORDS[word.0]).collect();
        let tags: Vec<&str> = words.iter().map(|word| TAGS[word.1]).collect();
        let root = root.index(words.len());
        let basic: Vec<BasicDependency<'_>> = words.iter().enumerate().map(|(place, word)| {
            let (relation, governor) = if place == root { ("root", 0) } else { (NAMES[word.2], word.3 + 1) };
            BasicDependency { relation, governor, dependent: place + 1 }
        }).collect();
        let sentence = Sentence { number: 0, words: &tokens, tags: &tags };
        let graph = process(&sentence, &basic, &prepositions()).unwrap();
        prop_assert_eq!(graph.roots().count(), 1);
        let without_edges = words.iter().enumerate().filter(|&(place, _)| graph.vertex_at(place + 1).is_none());
        prop_assert_eq!(without_edges.count(), 0);
        for edge in graph.edges() {
            prop_assert!(graph.incoming(edge.dependent).any(|incoming| incoming == edge));
        }
        let rebuilt = graph.rebuilt();
        prop_assert_eq!(rebuilt.edges().collect::<Vec<_>>().len(), graph.edges().count());
    }
}
