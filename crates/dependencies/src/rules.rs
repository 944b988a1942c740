//! The rules of a model as plain data: relations with their tree patterns, and head rules.

use serde::{Deserialize, Serialize};

use crate::rewriting::RewritingRule;

/// All rules for the conversion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Steps that rewrite a tree before relations are read from it.
    pub rewriting: Vec<RewritingRule>,
    /// Relations, in the order in which they are tried.
    pub relations: Vec<RelationRule>,
    /// Head rules.
    pub heads: HeadRules,
    /// A regular expression for the lemmas of verbs that take an infinitive but no object.
    pub verbs_without_object: String,
}

/// A grammatical relation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelationRule {
    /// Name of the relation, such as `nmod:poss`.
    pub name: String,
    /// The more general relation above it.
    pub parent: Option<String>,
    /// A regular expression for the whole label of nodes where the patterns are tried.
    pub source: Option<String>,
    /// Tree patterns, each with a node named `target`.
    pub patterns: Vec<String>,
}

/// Rules for the head child of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadRules {
    /// Lists by category.
    ///
    /// A list starts with a search direction (`left`, `leftdis`, `leftexcept`, `right`, ...), followed by
    /// categories. The first list that finds a child decides. If none does, the head is the first child
    /// without a punctuation tag, starting from the side of the last list.
    pub table: Vec<(String, Vec<Vec<String>>)>,
    /// Punctuation tags, which are heads only if there are no other children.
    pub punctuation_tags: Vec<String>,
    /// Auxiliary verbs.
    pub auxiliaries: Vec<String>,
    /// Copulas.
    pub copulas: Vec<String>,
    /// Auxiliaries of the passive or the progressive.
    pub passive_auxiliaries: Vec<String>,
    /// Verb tags.
    pub verb_tags: Vec<String>,
    /// Tags that make any word an auxiliary.
    pub auxiliary_tags: Vec<String>,
    /// Patterns at a `CONJP` whose node `head` is the head.
    pub conjunction_phrases: Vec<String>,
    /// Patterns at an `SBARQ` or `SINV` whose node `head` is the head.
    pub copular_questions: Vec<String>,
    /// A pattern for verb phrases that only express a time.
    pub temporal_verb_phrase: String,
}
