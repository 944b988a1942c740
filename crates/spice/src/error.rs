//! Errors of parsed sentences.

use capeval_dependencies::processed::GraphError;

/// Error of reading tuples from a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The numbers of lemmas and tokens differ.
    #[error("expected one lemma for each of the {words} tokens, got {lemmas} lemmas")]
    Lemmas {
        /// Number of tokens.
        words: usize,
        /// Number of lemmas.
        lemmas: usize,
    },
    /// The dependencies do not match the sentence.
    #[error(transparent)]
    Graph(#[from] GraphError),
}
