//! Errors of the dependencies used to build a graph.

/// Error of building a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// A dependency refers to a missing token.
    #[error("dependency {position}: expected tokens from 1 to {words}, got {token}")]
    Token {
        /// Index of the dependency in the list.
        position: usize,
        /// Number of tokens in the sentence.
        words: usize,
        /// The token in the dependency.
        token: usize,
    },
    /// The numbers of tags and tokens differ.
    #[error("expected one tag for each of the {words} tokens, got {tags} tags")]
    Tags {
        /// Number of tokens.
        words: usize,
        /// Number of tags.
        tags: usize,
    },
}
