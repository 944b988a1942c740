//! CoreNLP's "CC-processed" dependencies, the graph that SPICE reads, from basic dependencies.
//!
//! The relations include the names of prepositions and conjunctions (`nmod:in_front_of`, `conj:and`), and
//! conjuncts have the relations of the words they are joined to. The order in which the reference
//! implementation visits vertices, children and edges decides between several matches, so [`Graph`]
//! reproduces that order.

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

/// Builds the CC-processed graph of a sentence.
///
/// # Errors
/// Returns a [`GraphError`] if a dependency refers to a missing token, or if the numbers of tags and tokens
/// differ.
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
    cases::add_prepositions(&mut graph, sentence);
    coordination::name_conjunctions(&mut graph, sentence);
    propagation::share_relations(&mut graph, sentence);
    Ok(graph.rebuilt())
}
