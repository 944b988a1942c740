//! SPICE: scene graphs of captions, and the comparison of their tuples.
//!
//! A [`Model`] converts captions to tuples through tokens, sentences, trees, dependencies and lemmas.
//! [`read_tuples`] reads objects, attributes and relations from the typed dependencies of a sentence.
//! [`SceneGraph`] merges the tuples of one or several captions by their synsets. [`compare`] counts the
//! tuples of a candidate that match its references.

mod analysis;
mod concept;
mod error;
mod images;
mod lists;
mod matching;
mod model;
mod packed;
mod pronouns;
mod quantifiers;
mod rewriting;
mod rules;
mod scene_graph;
#[cfg(test)]
mod tests;
mod tuples;

pub use analysis::{AnalysisError, NamedEdge, Stages};
pub use concept::{Concept, Concepts};
pub use error::ReadError;
pub use images::image_graphs;
pub use lists::{ListError, Lists, WordLists};
pub use matching::{Category, Comparison, Counts, GraphTuples, Scores, compare};
pub use model::{KIND, Model, ModelError, Shared};
pub use packed::PackedError;
pub use rewriting::rewrite;
pub use rules::{Rules, RulesError};
pub use scene_graph::{Object, Relation, SceneGraph, SceneTuple};
pub use tuples::{ParsedSentence, Tuple, read_tuples, tuples};
