//! From the constituent tree of a sentence to the grammatical relations between its words.
//!
//! The rules themselves (tree patterns of the relations, head tables, lists of words) are data: see
//! [`Rules`]. This crate has what they run on: trees that can be rewritten ([`Tree`]), tree patterns
//! ([`Pattern`]), rewriting ([`Rewriter`]), heads ([`HeadFinder`]) and all of it in a row ([`Converter`]).
//! What becomes of the relations afterwards is in [`processed`].

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
