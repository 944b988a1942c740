//! Errors of rules and of conversions.

use thiserror::Error;

use crate::pattern::PatternError;
use crate::rewriting::RewritingError;

/// Why a set of rules can't be used.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum RulesError {
    /// A tree pattern of a relation or of the head rules.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A rule that rewrites trees.
    #[error(transparent)]
    Rewriting(#[from] RewritingError),
    /// A pattern of a relation names no node `target`.
    #[error("a tree pattern of relation {relation:?} has no node named \"target\": {pattern:?}")]
    NoTarget {
        /// The relation's name.
        relation: String,
        /// The pattern as written.
        pattern: String,
    },
    /// A relation names a parent that is not in the list.
    #[error("relation {relation:?} has the parent {parent:?}, which is not in the list of relations")]
    UnknownParent {
        /// The relation's name.
        relation: String,
        /// The parent's name.
        parent: String,
    },
    /// A relation that the algorithm itself speaks of is missing, or there are more than it can number.
    #[error("the list of relations must have {expected}")]
    Relations {
        /// What it must have.
        expected: String,
    },
    /// The search direction of a head rule.
    #[error(
        "a head rule of {category:?} begins with {found:?}; expected left, leftdis, leftexcept, right, rightdis or rightexcept"
    )]
    Direction {
        /// The category that the rule is for.
        category: String,
        /// What stands in place of a direction.
        found: String,
    },
    /// A regular expression that stands alone.
    #[error("{0}")]
    Expression(String),
}

/// Why a tree has no dependencies.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ConversionError {
    /// The tree was not rewritten.
    #[error(transparent)]
    Rewriting(#[from] RewritingError),
    /// A category has no head rule.
    #[error("no head rule is known for the category {category:?}")]
    NoHeadRule {
        /// The category.
        category: String,
    },
}
