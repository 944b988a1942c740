//! Subjects of passive verbs.

use super::graph::Graph;
use super::pattern::{Class, Clause, Pattern, Relations, Search, neighbor};
use super::relation::Relation;

const SUBJECT: usize = 1;

const ACTIVE_SUBJECT_OF_PASSIVE: Pattern = Pattern {
    class: Class::ANY,
    clauses: &[
        Clause::Has(neighbor(Relations::Is(Relation::AUXPASS), Class::ANY)),
        Clause::Has(
            neighbor(Relations::OneOf(&[Relation::NSUBJ, Relation::CSUBJ]), Class::ANY).slot(SUBJECT),
        ),
    ],
};

/// Converts the subjects of verbs with a passive auxiliary to passive subjects.
pub(super) fn make_passive(graph: &mut Graph) {
    if !graph.has_roots() || !graph.edges().any(|edge| edge.relation == Relation::AUXPASS) {
        return;
    }
    let snapshot = graph.snapshot();
    let order = snapshot.search_order();
    let matches = Search { graph: &snapshot, classes: &[], order: &order }.all(&ACTIVE_SUBJECT_OF_PASSIVE);
    for found in matches {
        let (verb, subject) = (found.word(0), found.word(SUBJECT));
        let Some(edge) = graph.first_edge(verb, subject).map(|edge| graph.edge(edge)) else {
            continue;
        };
        let passive = match edge.relation {
            Relation::NSUBJ => Relation::NSUBJPASS,
            Relation::CSUBJ => Relation::CSUBJPASS,
            _ => continue,
        };
        graph.remove_edge(edge);
        graph.add_edge(verb, subject, passive);
    }
}
