//! From basic dependencies to the graph that SPICE reads, CoreNLP's "CC-processed" dependencies.
//!
//! The graph keeps the names of prepositions and conjunctions in its relations
//! (`nmod:in_front_of`, `conj:and`) and gives conjuncts the relations of what they are joined to.
//! The order in which the reference visits vertices, children and edges decides which of several
//! matches is used, so [`Graph`] keeps that order.

mod cases;
mod coordination;
mod error;
mod graph;
mod order;
pub mod pattern;
mod prepositions;
mod propagation;
mod relation;
mod sentence;
mod subjects;
#[cfg(test)]
mod tests;

pub use error::GraphError;
pub use graph::{BasicDependency, Edge, EdgeId, Graph, WordId};
pub use order::HashOrder;
pub use prepositions::MultiwordPrepositions;
pub use relation::{Relation, RelationNames};
pub use sentence::Sentence;

/// The CC-processed graph of a sentence.
///
/// # Errors
/// A [`GraphError`] if a dependency names a token that the sentence doesn't have, or if there
/// isn't one tag a token.
pub fn process(
    sentence: &Sentence<'_>,
    basic: &[BasicDependency<'_>],
    prepositions: &MultiwordPrepositions,
) -> Result<Graph, GraphError> {
    if sentence.words.len() != sentence.tags.len() {
        let (words, tags) = (sentence.words.len(), sentence.tags.len());
        return Err(GraphError::Tags { words, tags });
    }
    let mut graph = Graph::from_basic(sentence.number, sentence.words.len(), basic)?;
    subjects::make_passive(&mut graph);
    graph.remove_repeated_edges();
    prepositions::join_words(&mut graph, sentence, prepositions);
    coordination::split_prepositional_phrases(&mut graph, sentence);
    coordination::split_prepositions(&mut graph, sentence);
    cases::name_cases(&mut graph, sentence);
    coordination::name_conjunctions(&mut graph, sentence);
    propagation::share_relations(&mut graph, sentence);
    Ok(graph.rebuilt())
}
