//! Prepositions in the names of relations: `nmod` becomes `nmod:on`.

use super::graph::{Graph, WordId};
use super::pattern::{Class, Clause, Match, Neighbor, Pattern, Relations, Search, neighbor};
use super::relation::Relation;
use super::sentence::Sentence;

const MODIFIER: usize = 1;
const FIRST: usize = 2;
const SECOND: usize = 3;
const THIRD: usize = 4;

const BY: Class = Class(1);

const MODIFIERS: Relations = Relations::OneOf(&[Relation::NMOD, Relation::ADVCL, Relation::ACL]);

/// "by a dog" under a passive verb.
const PASSIVE_AGENT: Pattern = Pattern {
    class: Class::ANY,
    clauses: &[
        Clause::Has(
            neighbor(Relations::Is(Relation::NMOD), Class::ANY)
                .slot(MODIFIER)
                .with(&[Clause::Has(neighbor(Relations::Is(Relation::CASE), BY))]),
        ),
        Clause::Has(neighbor(Relations::Is(Relation::AUXPASS), Class::ANY)),
    ],
};

const fn joined(slot: usize) -> Neighbor {
    neighbor(Relations::Is(Relation::MWE), Class::ANY).slot(slot)
}

const fn case() -> Neighbor {
    neighbor(Relations::Is(Relation::CASE), Class::ANY).slot(FIRST)
}

const fn modifier() -> Neighbor {
    neighbor(MODIFIERS, Class::ANY).slot(MODIFIER)
}

/// Longer prepositions come first, so that the first word of a longer one does not name a relation.
const BY_LENGTH: [(Pattern, &[usize]); 3] = [
    (
        Pattern {
            class: Class::ANY,
            clauses: &[Clause::Has(modifier().with(&[Clause::Has(case().with(&[
                Clause::Has(joined(SECOND)),
                Clause::Has(joined(THIRD).with(&[Clause::IsNot(SECOND)])),
            ]))]))],
        },
        &[FIRST, SECOND, THIRD],
    ),
    (
        Pattern {
            class: Class::ANY,
            clauses: &[Clause::Has(
                modifier().with(&[Clause::Has(case().with(&[Clause::Has(joined(SECOND))]))]),
            )],
        },
        &[FIRST, SECOND],
    ),
    (
        Pattern { class: Class::ANY, clauses: &[Clause::Has(modifier().with(&[Clause::Has(case())]))] },
        &[FIRST],
    ),
];

/// Adds prepositions to the relations of modifiers.
pub(super) fn add_prepositions(graph: &mut Graph, sentence: &Sentence<'_>) {
    if !graph.has_roots() || !graph.edges().any(|edge| edge.relation == Relation::CASE) {
        return;
    }
    name_agents(graph, sentence);
    let joined_words = graph.edges().any(|edge| edge.relation == Relation::MWE);
    let mut last = Vec::new();
    for (pattern, slots) in BY_LENGTH.into_iter().filter(|(_, slots)| joined_words || slots.len() == 1) {
        let snapshot = graph.snapshot();
        let order = snapshot.search_order();
        let matches = Search { graph: &snapshot, classes: &[], order: &order }.all(&pattern);
        for found in matches {
            let markers = sorted_markers(graph, &found, slots);
            // The reference implementation skips a match with the same markers as the previous match.
            if markers != last {
                extend(graph, sentence, found.word(0), found.word(MODIFIER), &markers);
                last = markers;
            }
        }
    }
}

fn name_agents(graph: &mut Graph, sentence: &Sentence<'_>) {
    if !graph.edges().any(|edge| edge.relation == Relation::AUXPASS) {
        return;
    }
    let is_by = |word: &&str| word.eq_ignore_ascii_case("by");
    let classes: Vec<Class> = sentence.words.iter().map(|word| Class(u16::from(is_by(word)))).collect();
    let snapshot = graph.snapshot();
    let order = snapshot.search_order();
    let matches = Search { graph: &snapshot, classes: &classes, order: &order }.all(&PASSIVE_AGENT);
    let agent = graph.relations.relation("nmod:agent");
    for found in matches {
        if let Some(edge) = graph.first_edge(found.word(0), found.word(MODIFIER)) {
            graph.set_relation(edge, agent);
        }
    }
}

fn sorted_markers(graph: &Graph, found: &Match, slots: &[usize]) -> Vec<WordId> {
    let mut markers: Vec<WordId> = slots.iter().map(|&slot| found.word(slot)).collect();
    markers.sort_by(|&one, &other| graph.compare(one, other));
    markers
}

/// Adds the words of a preposition to the relation of an edge.
///
/// Non-adjacent words form separate parts and, as in the reference implementation, the last part names the
/// edge.
pub(super) fn extend(
    graph: &mut Graph,
    sentence: &Sentence<'_>,
    governor: WordId,
    modifier: WordId,
    markers: &[WordId],
) {
    let Some(edge) = graph.first_edge(governor, modifier) else { return };
    let relation = graph.edge(edge).relation;
    let (mut case, mut last_index, mut begins) = (String::new(), 0, true);
    for &marker in markers {
        let index = graph.index(marker);
        if last_index == 0 || index == last_index + 1 {
            case.push_str(if begins { "" } else { "_" });
            case.push_str(sentence.word(graph, marker));
            begins = false;
        } else {
            let part = graph.relations.with_case(relation, &capeval_ptb::lowercase(&case));
            graph.add_edge(governor, modifier, part);
            case = sentence.word(graph, marker).to_owned();
            begins = true;
        }
        last_index = index;
    }
    let named = graph.relations.with_case(relation, &capeval_ptb::lowercase(&case));
    graph.set_relation(edge, named);
}
