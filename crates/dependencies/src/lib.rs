//! Grammatical relations between the words of a sentence, from its constituent tree.
//!
//! The rules themselves (tree patterns of the relations, head tables, word lists) are data: see [`Rules`].
//! This crate implements trees that can be rewritten ([`Tree`]), tree patterns ([`Pattern`]), rewriting
//! ([`Rewriter`]), heads ([`HeadFinder`]) and the whole pipeline ([`Converter`]). [`processed`] has the
//! subsequent processing of relations.

mod basic;
mod error;
mod heads;
mod label_tests;
mod labels;
mod pattern;
pub mod processed;
mod relations;
mod rewriting;
mod rules;
mod tree;

pub use basic::{Converter, ConverterScratch, Edge};
pub use error::{ConversionError, RulesError};
pub use heads::{HeadFinder, Heads};
pub use label_tests::{LabelTests, TestId};
pub use labels::{Label, Labels, basic_category};
pub use pattern::{Match, Matcher, Name, Pattern, PatternError, Scratch};
pub use relations::{Relation, Relations};
pub use rewriting::{Rewriter, RewritingError, RewritingRule, RewritingScratch};
pub use rules::{HeadRules, RelationRule, Rules};
pub use tree::{NodeId, Tree, TreeError};
