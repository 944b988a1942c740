//! Errors in the text of a tree pattern.

use thiserror::Error;

/// Error in a tree pattern, with its position.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{problem}, at byte {at} of the tree pattern {pattern:?}")]
pub struct PatternError {
    /// Text of the pattern.
    pub pattern: String,
    /// Byte offset of the problem.
    pub at: usize,
    /// Description of the problem.
    pub problem: String,
}
