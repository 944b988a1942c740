//! Errors of rewriting rules and of rewriting.

use crate::pattern::PatternError;

/// Limit on changes by one pattern. No tree needs nearly as many.
pub(super) const MOST_MATCHES: usize = 100_000;

/// Error in a rewriting rule, or in rewriting a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewritingError {
    /// A tree pattern of a rule is invalid.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// An operation of a rule is invalid.
    #[error("{problem} in the tree operation {operation:?}")]
    Operation {
        /// Text of the operation.
        operation: String,
        /// Description of the problem.
        problem: String,
    },
    /// An operation is not applicable to the matched nodes.
    #[error("the tree pattern {pattern:?} matched, but its operations are not applicable: {problem}")]
    Tree {
        /// Text of the pattern.
        pattern: String,
        /// Description of the problem.
        problem: &'static str,
    },
    /// A rule matches endlessly.
    #[error("the tree pattern {pattern:?} still matches after {MOST_MATCHES} changes of one tree")]
    Endless {
        /// Text of the pattern.
        pattern: String,
    },
}
