//! What can be wrong with a parsed sentence.

use capeval_dependencies::processed::GraphError;

/// Why no tuples can be read from a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is not one lemma for each token.
    #[error("expected one lemma for each of the {words} tokens, got {lemmas} lemmas")]
    Lemmas {
        /// Number of tokens.
        words: usize,
        /// Number of lemmas.
        lemmas: usize,
    },
    /// The dependencies don't fit the sentence.
    #[error(transparent)]
    Graph(#[from] GraphError),
}
