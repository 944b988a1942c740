//! Coordination: copies of governors for joined phrases, and conjunctions in the names of relations.

use super::cases;
use super::graph::{Graph, WordId};
use super::pattern::{Class, Clause, Pattern, Relations, Search, neighbor};
use super::relation::Relation;
use super::sentence::Sentence;

const HEAD: usize = 1;
const COORDINATOR: usize = 2;
const CONJUNCT: usize = 3;

const HAS_CASE: Clause = Clause::Has(neighbor(Relations::Is(Relation::CASE), Class::ANY));
const HAS_COORDINATOR: Clause =
    Clause::Has(neighbor(Relations::Is(Relation::CC), Class::ANY).slot(COORDINATOR));
const HAS_CONJUNCT: Clause = Clause::Has(neighbor(Relations::Is(Relation::CONJ), Class::ANY).slot(CONJUNCT));

/// "to France and from Serbia".
const JOINED_PHRASES: Pattern = Pattern {
    class: Class::ANY,
    clauses: &[Clause::Has(
        neighbor(Relations::OneOf(&[Relation::NMOD, Relation::ACL, Relation::ADVCL]), Class::ANY)
            .slot(HEAD)
            .with(&[
                HAS_CASE,
                HAS_COORDINATOR,
                Clause::Has(
                    neighbor(Relations::Is(Relation::CONJ), Class::ANY).slot(CONJUNCT).with(&[HAS_CASE]),
                ),
            ]),
    )],
};

/// "to and from Serbia".
const JOINED_PREPOSITIONS: Pattern = Pattern {
    class: Class::ANY,
    clauses: &[Clause::Has(
        neighbor(Relations::Is(Relation::CASE), Class::ANY).slot(HEAD).with(&[HAS_COORDINATOR, HAS_CONJUNCT]),
    )],
};

/// "a cat and a dog". Slot 0 is the head.
const JOINED_WORDS: Pattern = Pattern { class: Class::ANY, clauses: &[HAS_COORDINATOR, HAS_CONJUNCT] };

/// A head with its consecutive conjuncts that share one coordinator.
struct Coordination {
    head: WordId,
    coordinator: WordId,
    conjuncts: Vec<WordId>,
}

fn find(graph: &Graph, pattern: &Pattern, head_slot: usize) -> Vec<Coordination> {
    let has = |wanted: Relation| graph.edges().any(|edge| edge.relation == wanted);
    let mut found: Vec<Coordination> = Vec::new();
    if !graph.has_roots() || !has(Relation::CC) || !has(Relation::CONJ) {
        return found;
    }
    let snapshot = graph.snapshot();
    let order = snapshot.search_order();
    for one in (Search { graph: &snapshot, classes: &[], order: &order }).all(pattern) {
        let (head, coordinator, conjunct) = (one.word(head_slot), one.word(COORDINATOR), one.word(CONJUNCT));
        match found.last_mut() {
            Some(last) if (last.head, last.coordinator) == (head, coordinator) => {
                last.conjuncts.push(conjunct)
            }
            _ => found.push(Coordination { head, coordinator, conjuncts: vec![conjunct] }),
        }
    }
    found
}

/// In "flies to France and from Serbia", attaches the second phrase to a copy of "flies".
pub(super) fn split_prepositional_phrases(graph: &mut Graph, sentence: &Sentence<'_>) {
    for found in find(graph, &JOINED_PHRASES, HEAD) {
        let Some(governor) = graph.parent(found.head) else { continue };
        let Some(relation) = graph.first_edge(governor, found.head).map(|edge| graph.edge(edge).relation)
        else {
            continue;
        };
        let original = graph.original(governor);
        let mut copies = Vec::new();
        for conjunct in found.conjuncts {
            let copy = graph.copy_governor(governor, found.head);
            if let Some(edge) = graph.first_edge(found.head, conjunct) {
                graph.remove_edge(graph.edge(edge));
                graph.add_edge(copy, conjunct, relation);
            }
            graph.add_edge(original, copy, Relation::CONJ);
            copies.push(copy);
        }
        if let Some(edge) = graph.first_edge(found.head, found.coordinator) {
            graph.remove_edge(graph.edge(edge));
            graph.add_edge(original, found.coordinator, Relation::CC);
        }
        name_conjuncts(graph, sentence, original, &copies, found.coordinator);
    }
}

/// In "flies to and from Serbia", attaches "Serbia" to a copy of "flies" with the relation of "from".
pub(super) fn split_prepositions(graph: &mut Graph, sentence: &Sentence<'_>) {
    for found in find(graph, &JOINED_PREPOSITIONS, HEAD) {
        let Some(noun) = graph.parent(found.head) else { continue };
        let Some(governor) = graph.parent(noun) else { continue };
        let Some(relation) = graph.first_edge(governor, noun).map(|edge| graph.edge(edge).relation) else {
            continue;
        };
        let original = graph.original(governor);
        let mut copies = Vec::new();
        for preposition in found.conjuncts {
            let copy = graph.copy_governor(governor, noun);
            graph.add_edge(original, copy, Relation::CONJ);
            copies.push(copy);
            graph.add_edge(copy, noun, relation);
            cases::extend(graph, sentence, copy, noun, &[preposition]);
        }
        name_conjuncts(graph, sentence, original, &copies, found.coordinator);
    }
}

/// Adds the conjunction to `conj`.
pub(super) fn name_conjunctions(graph: &mut Graph, sentence: &Sentence<'_>) {
    for found in find(graph, &JOINED_WORDS, 0) {
        name_conjuncts(graph, sentence, found.head, &found.conjuncts, found.coordinator);
    }
}

fn name_conjuncts(
    graph: &mut Graph,
    sentence: &Sentence<'_>,
    head: WordId,
    conjuncts: &[WordId],
    coordinator: WordId,
) {
    for &conjunct in conjuncts {
        let Some(edge) = graph.first_edge(head, conjunct) else { continue };
        let unnamed = graph.edge(edge).relation == Relation::CONJ;
        if unnamed || graph.index(conjunct) > graph.index(coordinator) {
            let name = conjunction(graph, sentence, coordinator);
            let relation = graph.relations.conjunction(&name);
            graph.set_relation(edge, relation);
        }
    }
}

/// Returns the conjunction of conjuncts.
///
/// Some multiword conjunctions become "and" or "negcc". At the end of a sentence, the word is unchanged.
fn conjunction(graph: &Graph, sentence: &Sentence<'_>, coordinator: WordId) -> String {
    let word = sentence.lowercase(graph, coordinator);
    let index = graph.index(coordinator);
    let at = |index: usize| graph.vertex_at(index).map(|word| sentence.lowercase(graph, word));
    if word == "not" && at(index - 1).as_deref() == Some("but") {
        return "negcc".to_owned();
    }
    let Some(second) = at(index + 1) else {
        return sentence.word(graph, coordinator).to_owned();
    };
    match (word.as_str(), second.as_str()) {
        ("but", "rather") | ("if", "not") | ("instead", "of") | ("rather", "than") => "negcc".to_owned(),
        ("but", "also") | ("as", "well") => "and".to_owned(),
        ("not", "to") if at(index + 2).as_deref() == Some("mention") => "and".to_owned(),
        _ => word,
    }
}
