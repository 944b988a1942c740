//! Errors in the text of a tree pattern.

use thiserror::Error;

/// Error in a tree pattern, with its position.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{problem}, at byte {at} of the tree pattern {pattern:?}")]
pub struct PatternError {
    /// The pattern as written.
    pub pattern: String,
    /// Position of the problem, in bytes.
    pub at: usize,
    /// Description of the problem.
    pub problem: String,
}
