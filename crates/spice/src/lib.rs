//! SPICE: scene graphs of captions and what they have in common.
//!
//! [`Tuples`] reads objects, attributes and relations from the typed dependencies of a sentence,
//! [`SceneGraph`] merges those of one or several captions by their synsets, and [`compare`]
//! counts which tuples of a candidate the references have.

//mod categories;
//mod concept;
mod lists;
//mod matching;
mod pronouns;
mod quantifiers;
mod rewriting;
//mod scene_graph;
//mod synonyms;
mod tuples;

//pub use categories::{Categories, Category};
//pub use concept::Concept;
pub use lists::{ListError, Lists, WordLists};
//pub use matching::{Comparison, CountsRow, compare};
pub use rewriting::rewrite;
//pub use scene_graph::{Attribute, Object, Relation, SceneGraph, SceneTuple};
//pub use synonyms::Synonyms;
pub use tuples::{ParsedSentence, Tuple, tuples};
