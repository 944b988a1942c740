//! Errors of rewriting rules and of rewriting.

use crate::pattern::PatternError;

/// No tree needs nearly as many changes by one pattern.
pub(super) const MOST_MATCHES: usize = 100_000;

/// Error in a rewriting rule, or in rewriting a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewritingError {
    /// A tree pattern of a rule.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// An operation of a rule.
    #[error("{problem} in the tree operation {operation:?}")]
    Operation {
        /// The operation as written.
        operation: String,
        /// Description of the problem.
        problem: String,
    },
    /// An operation can't be carried out on the nodes that matched.
    #[error("the tree pattern {pattern:?} matched, but its operations can't be carried out: {problem}")]
    Tree {
        /// The pattern as written.
        pattern: String,
        /// Reason.
        problem: &'static str,
    },
    /// A rule matches again and again.
    #[error("the tree pattern {pattern:?} still matches after {MOST_MATCHES} changes of one tree")]
    Endless {
        /// The pattern as written.
        pattern: String,
    },
}
