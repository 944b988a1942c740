//! Propagation of relations to conjuncts.

use super::graph::{Edge, Graph, WordId};
use super::relation::Relation;
use super::sentence::Sentence;

const SUBJECTS: [Relation; 4] = [Relation::NSUBJ, Relation::NSUBJPASS, Relation::CSUBJ, Relation::CSUBJPASS];

/// The graph before propagation.
struct Before {
    /// The incoming edges of each word, sorted.
    incoming: Vec<Vec<Edge>>,
    /// The first subject of each word.
    subjects: Vec<Option<Edge>>,
    passive: Vec<WordId>,
    relative_clause_heads: Vec<WordId>,
}

impl Before {
    fn of(graph: &Graph) -> Self {
        let words = graph.vertices().map(|word| word.0 as usize + 1).max().unwrap_or(0);
        let mut before = Self {
            incoming: vec![Vec::new(); words],
            subjects: vec![None; words],
            passive: Vec::new(),
            relative_clause_heads: Vec::new(),
        };
        for edge in graph.edges() {
            before.incoming[edge.dependent.0 as usize].push(edge);
            let governor = edge.governor.0 as usize;
            if SUBJECTS.contains(&edge.relation) && before.subjects[governor].is_none() {
                before.subjects[governor] = Some(edge);
            }
            match edge.relation {
                Relation::AUXPASS => before.passive.push(edge.governor),
                Relation::RELCL => before.relative_clause_heads.push(edge.governor),
                _ => {}
            }
        }
        for edges in &mut before.incoming {
            edges.sort_by(|one, other| graph.compare_edges(one, other));
            edges.dedup();
        }
        before
    }

    fn subject(&self, word: WordId) -> Option<Edge> {
        self.subjects[word.0 as usize]
    }
}

/// Gives conjuncts the governors of the first conjunct, and its subject if they have none.
pub(super) fn share_relations(graph: &mut Graph, sentence: &Sentence<'_>) {
    if !graph.edges().any(|edge| graph.relations.is_named_conjunction(edge.relation)) {
        return;
    }
    let before = Before::of(graph);
    let snapshot = graph.snapshot();
    for edge in snapshot
        .edges()
        .filter(|edge| graph.relations.is_named_conjunction(edge.relation))
        .collect::<Vec<_>>()
    {
        share_governors(graph, &before, edge);
        share_subject(graph, sentence, &before, edge);
    }
}

fn share_governors(graph: &mut Graph, before: &Before, conjunction: Edge) {
    let (first, conjunct) = (conjunction.governor, conjunction.dependent);
    let heads = &before.relative_clause_heads;
    let both_have_clauses = heads.contains(&first) && heads.contains(&conjunct);
    for edge in &before.incoming[first.0 as usize] {
        let kept_apart = both_have_clauses && matches!(edge.relation, Relation::DOBJ | Relation::NSUBJ);
        if edge.governor != conjunct && edge.relation != Relation::CASE && !kept_apart {
            graph.add_edge(edge.governor, conjunct, edge.relation);
        }
    }
}

fn share_subject(graph: &mut Graph, sentence: &Sentence<'_>, before: &Before, conjunction: Edge) {
    let conjunct = conjunction.dependent;
    let tag = sentence.tag(graph, conjunct);
    let Some(subject) = before.subject(conjunction.governor) else { return };
    let can_have_subject = tag.starts_with("VB") || tag.starts_with("JJ");
    if !can_have_subject || before.subject(conjunct).is_some() {
        return;
    }
    let active = matches!(tag, "VB" | "VBZ" | "VBP") || tag.starts_with("JJ");
    let passive = before.passive.contains(&conjunct);
    let relation = match subject.relation {
        Relation::NSUBJPASS if active => Relation::NSUBJ,
        Relation::CSUBJPASS if active => Relation::CSUBJ,
        Relation::NSUBJ if passive => Relation::NSUBJPASS,
        Relation::CSUBJ if passive => Relation::CSUBJPASS,
        same => same,
    };
    graph.add_edge(conjunct, subject.dependent, relation);
}
