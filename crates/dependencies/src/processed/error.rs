//! What can be wrong with the dependencies that a graph is made from.

/// Why no graph can be made from the input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// A dependency names a token that isn't there.
    #[error("dependency {position}: expected tokens from 1 to {words}, got {token}")]
    Token {
        /// Place of the dependency in the list, from 0.
        position: usize,
        /// Number of tokens in the sentence.
        words: usize,
        /// The token that was named.
        token: usize,
    },
    /// Not one tag for each token.
    #[error("expected one tag for each of the {words} tokens, got {tags} tags")]
    Tags {
        /// Number of tokens.
        words: usize,
        /// Number of tags.
        tags: usize,
    },
}
