//! Small captions with their own word lists and synonyms.

use crate::*;
use capeval_dependencies::processed::{BasicDependency, GraphError, Sentence, process};
use capeval_meteor::{Synonyms, compile_synonyms};
use proptest::prelude::*;

fn word_lists() -> WordLists {
    let list = |words: &str| words.split(' ').map(str::to_owned).collect();
    WordLists {
        two_word_prepositions: list("next_to"),
        two_word_prepositions_headed_by_first: list("next_to"),
        three_word_prepositions: list("in_front_of"),
        quantity_nouns: list("lot bunch"),
        plural_quantities: list("lots [0-9]+s"),
        partitives: list("some two [0-9]+"),
        singular_pronouns: list("he his it"),
        colors: list("red gray"),
        sizes: list("big"),
        numbers: list("two three"),
    }
}

fn lists() -> Lists {
    Lists::new(word_lists()).expect("good lists")
}

fn synonyms() -> Synonyms<Vec<u8>> {
    let synsets =
        "dog\n1 2\nhound\n2\nman\n3\nperson\n3 4\nhuman\n4\nride\n5\nstop_sign\n6\ngray\n7\ngrey\n7\n";
    let file =
        compile_synonyms(&mut synsets.as_bytes(), &mut "man\nmen\n".as_bytes()).expect("good synonyms");
    Synonyms::open(file).expect("a complete table")
}

/// Reads the tuples of a sentence, given as "word/TAG/lemma" and "relation governor dependent".
fn read(tokens: &str, dependencies: &str) -> Vec<Tuple> {
    let parts: Vec<Vec<&str>> = tokens.split(' ').map(|token| token.split('/').collect()).collect();
    let column = |place: usize| -> Vec<&str> { parts.iter().map(|token| token[place]).collect() };
    let (words, tags, lemmas) = (column(0), column(1), column(2));
    let basic: Vec<BasicDependency<'_>> = dependencies
        .split(", ")
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [governor, dependent] = [1, 2].map(|field| fields[field].parse().expect("a number"));
            BasicDependency { relation: fields[0], governor, dependent }
        })
        .collect();
    let sentence = Sentence { number: 0, words: &words, tags: &tags };
    read_tuples(&ParsedSentence { sentence, lemmas: &lemmas }, &basic, &lists()).expect("a good sentence")
}

fn tuple(text: &str) -> Tuple {
    Tuple::from_parts(&text.split(", ").collect::<Vec<_>>()).expect("one to three parts")
}

fn all(texts: &[&str]) -> Vec<Tuple> {
    texts.iter().map(|text| tuple(text)).collect()
}

#[test]
fn a_predicate_relates_subject_and_object() {
    let tuples = read(
        "Two/CD/two men/NNS/man ride/VBP/ride big/JJ/big dogs/NNS/dog",
        "nummod 2 1, nsubj 3 2, root 0 3, amod 5 4, dobj 3 5",
    );
    assert_eq!(tuples, all(&["man, dog, ride", "dog, big", "man, two", "dog", "man"]));
}

#[test]
fn prepositions_and_particles_belong_to_the_predicate() {
    let tuples = read(
        "man/NN/man standing/VBG/stand up/RP/up in/IN/in front/NN/front of/IN/of dog/NN/dog",
        "root 0 1, acl 1 2, compound:prt 2 3, case 5 4, nmod 2 5, case 7 6, nmod 5 7",
    );
    assert_eq!(tuples, all(&["man, dog, stand up in front of", "man", "dog", "front"]));
}

#[test]
fn copulas_give_attributes_or_relations() {
    let tall = read("man/NN/man is/VBZ/be tall/JJ/tall", "nsubj 3 1, cop 3 2, root 0 3");
    assert_eq!(tall, all(&["man, tall", "man, tall", "man"]));
    let inside =
        read("man/NN/man is/VBZ/be in/IN/in house/NN/house", "nsubj 4 1, cop 4 2, case 4 3, root 0 4");
    assert_eq!(inside, all(&["man, house, in", "house", "man"]));
}

#[test]
fn possessors_and_agents_are_subjects() {
    let has = read("man/NN/man 's/POS/'s dog/NN/dog", "nmod:poss 3 1, case 1 2, root 0 3");
    assert_eq!(has, all(&["man, dog, have", "dog", "man"]));
    let ridden = read(
        "dog/NN/dog is/VBZ/be ridden/VBN/ride by/IN/by man/NN/man",
        "nsubjpass 3 1, auxpass 3 2, root 0 3, case 5 4, nmod 3 5",
    );
    assert_eq!(ridden, all(&["man, dog, ride", "man", "dog"]));
}

#[test]
fn words_of_compounds_are_not_objects() {
    let tuples = read("police/NN/police dog/NN/dog", "compound 2 1, root 0 2");
    assert_eq!(tuples, all(&["dog, police"]));
}

#[test]
fn counted_nouns_replace_quantities() {
    let tuples = read("a/DT/a LOT/NN/lot of/IN/of dogs/NNS/dog", "det 2 1, root 0 2, case 4 3, nmod 2 4");
    assert_eq!(tuples, all(&["dog, a", "dog", "lot"]));
    let some = read("some/DT/some of/IN/of the/DT/the dogs/NNS/dog", "root 0 1, case 4 2, det 4 3, nmod 1 4");
    assert_eq!(some, all(&["dog, some", "dog"]));
}

#[test]
fn nouns_replace_pronouns() {
    let tuples =
        read("man/NN/man with/IN/with his/PRP$/he dog/NN/dog", "root 0 1, case 4 2, nmod:poss 4 3, nmod 1 4");
    assert!(tuples.contains(&tuple("man, dog, with")), "{tuples:?}");
    assert!(tuples.contains(&tuple("man, dog, have")), "{tuples:?}");
}

#[test]
fn a_cycle_without_nouns_ends_the_search_for_a_noun() {
    // The reference implementation does not terminate here: "runs" and "falls" govern each other.
    let tuples = read(
        "she/PRP/she runs/VBZ/run and/CC/and falls/VBZ/fall it/PRP/it",
        "nsubj 2 1, root 0 2, acl 2 4, cc 4 3, dobj 4 5, conj 4 2",
    );
    assert!(tuples.iter().all(|tuple| !matches!(tuple, Tuple::Object(_))), "{tuples:?}");
}

#[test]
fn of_equally_similar_objects_the_first_one_merges() {
    // "person" shares one of two synsets both with "man" and with "human".
    let graph = graph(&["human", "man", "person"]);
    let expected: [&[&str]; 2] = [&["human", "person"], &["man"]];
    assert_eq!(object_words(&graph), expected);
}

#[test]
fn inconsistent_input_is_an_error() {
    let sentence = Sentence { number: 0, words: &["dog"], tags: &["NN"] };
    let error = read_tuples(&ParsedSentence { sentence, lemmas: &[] }, &[], &lists()).unwrap_err();
    assert_eq!(error, ReadError::Lemmas { words: 1, lemmas: 0 });
    let basic = [BasicDependency { relation: "det", governor: 1, dependent: 2 }];
    let error = read_tuples(&ParsedSentence { sentence, lemmas: &["dog"] }, &basic, &lists()).unwrap_err();
    assert_eq!(error, GraphError::Token { position: 0, words: 1, token: 2 }.into());
}

#[test]
fn lists_must_be_words() {
    let empty = WordLists { sizes: Vec::new(), ..word_lists() };
    let message = Lists::new(empty).unwrap_err().to_string();
    assert_eq!(message, "the list sizes must have at least one word (got none)");
    let pattern = WordLists { partitives: vec!["a|b".into()], ..word_lists() };
    let error = Lists::new(pattern).unwrap_err();
    assert_eq!(error, ListError::Entry { list: "partitives", entry: "a|b".into() });
}

#[test]
fn numbers_stand_for_quantities() {
    let lists = lists();
    let plural = ["lots", "LOTS", "10s", "10S"].map(|word| lists.plural_quantities.contain(word));
    assert_eq!(plural, [true; 4]);
    let others = ["10", "s", "lot", "1os"].map(|word| lists.plural_quantities.contain(word));
    assert_eq!(others, [false; 4]);
    assert!(lists.partitives.contain("12") && !lists.partitives.contain("12s"));
}

fn graph(texts: &[&str]) -> SceneGraph {
    let synonyms = synonyms();
    SceneGraph::new(&all(texts), &mut Concepts::new(&synonyms)).expect("a complete table")
}

fn object_words(graph: &SceneGraph) -> Vec<Vec<String>> {
    graph.objects().iter().map(|object| object.concept.words().to_vec()).collect()
}

#[test]
fn synonyms_are_one_object() {
    let graph = graph(&["dog", "man", "hound", "men", "stop sign", "Dog"]);
    let expected: [&[&str]; 3] = [&["dog", "hound", "Dog"], &["man", "men"], &["stop sign"]];
    assert_eq!(object_words(&graph), expected);
}

#[test]
fn concepts_grow() {
    // A human is a person, and a person is a man. In this order, all three become one.
    assert_eq!(graph(&["man", "person", "human"]).objects().len(), 1);
    assert_eq!(graph(&["man", "human", "person"]).objects().len(), 2);
}

#[test]
fn attributes_and_relations_merge() {
    let graph = graph(&["dog, gray", "dog, grey", "dog, gray", "man, dog, be on", "man, dog, on"]);
    let attributes: Vec<&[String]> = graph.objects()[0].attributes.iter().map(Concept::words).collect();
    assert_eq!(attributes, [["gray", "grey"]]);
    assert_eq!(graph.relations().len(), 1);
    assert_eq!(graph.relations()[0].concept.words(), ["on"]);
}

fn compared(candidate: &[&str], references: &[&str]) -> Comparison {
    let lists = lists();
    compare(&GraphTuples::new(graph(candidate), &lists), &GraphTuples::new(graph(references), &lists))
}

fn counts(comparison: &Comparison, category: Category) -> (u32, u32, u32) {
    let place = Category::LIST.iter().position(|&listed| listed == category).expect("a category");
    let Counts { candidate, references, matched } = comparison.counts[place];
    (candidate, references, matched)
}

#[test]
fn tuples_match_part_by_part() {
    let comparison = compared(
        &["hound, red", "person, hound, ride", "cat"],
        &["dog, red", "man, dog, ride", "man, big", "dog, two"],
    );
    assert_eq!(counts(&comparison, Category::All), (5, 6, 4));
    assert_eq!(counts(&comparison, Category::Object), (3, 2, 2));
    assert_eq!(counts(&comparison, Category::Attribute), (1, 3, 1));
    assert_eq!(counts(&comparison, Category::Relation), (1, 1, 1));
    assert_eq!(counts(&comparison, Category::Color), (1, 1, 1));
    assert_eq!(counts(&comparison, Category::Size), (0, 1, 0));
    assert_eq!(counts(&comparison, Category::Cardinality), (0, 1, 0));
    assert_eq!(comparison.candidate_matches.iter().filter(|found| found.is_none()).count(), 1);
    assert_eq!(comparison.reference_matched.iter().filter(|&&matched| matched).count(), 4);
}

#[test]
fn a_row_has_counts_and_scores_per_category() {
    let row = compared(&["dog, red"], &["hound, red", "man"]).row();
    assert_eq!(row[..7], [2.0, 3.0, 2.0, 0.8, 1.0, 2.0 / 3.0, 1.0]);
    assert_eq!(row[7..10], [1.0, 2.0, 1.0]);
    assert_eq!(row[28..35], [1.0; 7]);
    // Neither has a size, so there is no size score.
    assert_eq!(row[35..42], [0.0; 7]);
}

#[test]
fn without_tuples_of_the_references_the_score_is_0_and_counts() {
    let row = compared(&["dog, red"], &[]).row();
    assert_eq!(row[..7], [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(row[28..35], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn captions_of_an_image_are_one_graph() {
    let captions = [all(&["dog"]), all(&["hound", "man"]), all(&["man"])];
    let graphs = image_graphs(&captions, &[0, 2, 2, 3], &synonyms(), &lists()).expect("a complete table");
    let words: Vec<_> = graphs.iter().map(|tuples| object_words(tuples.graph())).collect();
    let expected: [&[&[&str]]; 3] = [&[&["dog", "hound"], &["man"]], &[], &[&["man"]]];
    assert_eq!(words, expected);
}

#[test]
fn merged_attributes_are_not_colors() {
    let comparison = compared(&["dog, gray"], &["dog, gray", "dog, grey"]);
    assert_eq!(counts(&comparison, Category::Attribute), (1, 1, 1));
    assert_eq!(counts(&comparison, Category::Color), (1, 0, 0));
}

#[test]
fn scores_follow_from_the_counts() {
    let scores = Counts { candidate: 4, references: 10, matched: 2 }.scores(Category::All);
    assert_eq!((scores.precision, scores.recall), (0.5, 0.2));
    assert!((scores.f - 2.0 / 7.0).abs() < 1e-15);
    let none = Counts { candidate: 4, references: 0, matched: 0 };
    assert_eq!(none.scores(Category::All), Scores { precision: 0.0, recall: 0.0, f: 0.0 });
    assert!(none.scores(Category::Size).f.is_nan());
    let empty = Counts { candidate: 0, references: 3, matched: 0 }.scores(Category::Size);
    assert_eq!(empty, Scores { precision: 0.0, recall: 0.0, f: 0.0 });
}

const NAMES: [&str; 16] = [
    "nsubj",
    "nsubjpass",
    "auxpass",
    "dobj",
    "nmod",
    "nmod:poss",
    "acl",
    "case",
    "cc",
    "conj",
    "mwe",
    "cop",
    "amod",
    "det",
    "nummod",
    "compound",
];
const WORDS: [&str; 12] = ["a", "lot", "lots", "some", "of", "the", "dogs", "his", "it", "and", "red", "two"];
const TAGS: [&str; 8] = ["NN", "NNS", "VBZ", "JJ", "IN", "PRP", "PRP$", "DT"];
const CONCEPTS: [&str; 10] = ["dog", "hound", "man", "person", "human", "red", "gray", "grey", "two", "ride"];

fn tuples_of_concepts() -> impl Strategy<Value = Vec<Tuple>> {
    let parts = prop::collection::vec(prop::sample::select(&CONCEPTS[..]), 1..=3);
    let tuple = parts.prop_map(|parts| Tuple::from_parts(&parts).expect("one to three parts"));
    prop::collection::vec(tuple, 0..12)
}

proptest! {
    #[test]
    fn any_dependencies_can_be_read(
        tokens in prop::collection::vec(
            (0..WORDS.len(), 0..TAGS.len(), 0..NAMES.len(), any::<prop::sample::Index>()), 1..20),
        root in any::<prop::sample::Index>(),
    ) {
        let words: Vec<&str> = tokens.iter().map(|token| WORDS[token.0]).collect();
        let tags: Vec<&str> = tokens.iter().map(|token| TAGS[token.1]).collect();
        let root = root.index(tokens.len());
        let basic: Vec<BasicDependency<'_>> = tokens.iter().enumerate().map(|(place, token)| {
            let (relation, governor) =
                if place == root { ("root", 0) } else { (NAMES[token.2], token.3.index(tokens.len()) + 1) };
            BasicDependency { relation, governor, dependent: place + 1 }
        }).collect();
        let sentence = Sentence { number: 0, words: &words, tags: &tags };
        let lists = lists();
        let tuples = read_tuples(&ParsedSentence { sentence, lemmas: &words }, &basic, &lists).unwrap();
        let graph = process(&sentence, &basic, &lists.prepositions).unwrap();
        let nouns = tags.iter().filter(|tag| tag.starts_with("NN")).count();
        let objects = tuples.iter().filter(|tuple| matches!(tuple, Tuple::Object(_))).count();
        let copies = graph.vertices().filter(|&word| graph.copy(word) > 0).count();
        prop_assert!(objects <= nouns + copies);
    }

    /// The reference implementation filters both lists by category before matching. Here it is one pass.
    #[test]
    fn categories_are_counted_as_if_each_were_matched_alone(
        candidate in tuples_of_concepts(), references in tuples_of_concepts(),
    ) {
        let (synonyms, lists) = (synonyms(), lists());
        let mut concepts = Concepts::new(&synonyms);
        let [candidate, references] = [candidate, references]
            .map(|tuples| GraphTuples::new(SceneGraph::new(&tuples, &mut concepts).unwrap(), &lists));
        let comparison = compare(&candidate, &references);
        for (category, found) in Category::LIST.into_iter().zip(comparison.counts) {
            let own = |side: &GraphTuples| -> Vec<SceneTuple> {
                let numbers = (0..side.tuples().len()).filter(|&number| side.is_in(number, category));
                numbers.map(|number| side.tuples()[number]).collect()
            };
            let similar = |one: SceneTuple, other: SceneTuple| {
                let (one, other) = (candidate.graph().concepts(one), references.graph().concepts(other));
                one.iter().flatten().count() == other.iter().flatten().count()
                    && one.iter().flatten().zip(other.iter().flatten()).all(|(one, other)| one.is_similar(other))
            };
            let (candidates, others) = (own(&candidate), own(&references));
            let matched = candidates.iter().filter(|&&one| others.iter().any(|&other| similar(one, other))).count();
            let expected = [candidates.len(), others.len(), matched].map(|count| count as u32);
            prop_assert_eq!([found.candidate, found.references, found.matched], expected);
        }
    }

    #[test]
    fn a_graph_matches_itself(tuples in tuples_of_concepts()) {
        let (synonyms, lists) = (synonyms(), lists());
        let graph = SceneGraph::new(&tuples, &mut Concepts::new(&synonyms)).unwrap();
        let graph = GraphTuples::new(graph, &lists);
        for counts in compare(&graph, &graph).counts {
            prop_assert_eq!(counts.matched, counts.candidate);
        }
    }
}
