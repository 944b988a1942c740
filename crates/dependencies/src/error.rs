//! Errors of rules and of conversions.

use thiserror::Error;

use crate::pattern::PatternError;
use crate::rewriting::RewritingError;

/// Error of a set of rules.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum RulesError {
    /// A tree pattern of a relation or of the head rules is invalid.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A tree-rewriting rule is invalid.
    #[error(transparent)]
    Rewriting(#[from] RewritingError),
    /// A pattern of a relation has no node named `target`.
    #[error("a tree pattern of relation {relation:?} has no node named \"target\": {pattern:?}")]
    NoTarget {
        /// Name of the relation.
        relation: String,
        /// Text of the pattern.
        pattern: String,
    },
    /// The parent of a relation is unknown.
    #[error("relation {relation:?} has the parent {parent:?}, which is not in the list of relations")]
    UnknownParent {
        /// Name of the relation.
        relation: String,
        /// Name of the parent.
        parent: String,
    },
    /// A relation required by the algorithm is missing, or there are too many relations.
    #[error("the list of relations must have {expected}")]
    Relations {
        /// Description of the expected relations.
        expected: String,
    },
    /// A head rule has an invalid search direction.
    #[error(
        "the head rule of {category:?} begins with {found:?}; expected left, leftdis, leftexcept, right, rightdis or rightexcept"
    )]
    Direction {
        /// Category of the rule.
        category: String,
        /// The text in place of the direction.
        found: String,
    },
    /// A regular expression outside of a pattern is invalid.
    #[error("{0}")]
    Expression(String),
}

/// Error of converting a tree to dependencies.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ConversionError {
    /// The tree could not be rewritten.
    #[error(transparent)]
    Rewriting(#[from] RewritingError),
    /// A category has no head rule.
    #[error("no head rule for the category {category:?}")]
    NoHeadRule {
        /// The category.
        category: String,
    },
}
