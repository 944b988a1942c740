//! The rules that a model brings: relations with their tree patterns, and head rules, as plain data.

use serde::{Deserialize, Serialize};

use crate::rewriting::RewritingRule;

/// All that the conversion needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The steps that rewrite a tree before relations are read from it.
    pub rewriting: Vec<RewritingRule>,
    /// The relations, in the order in which they are tried.
    pub relations: Vec<RelationRule>,
    /// How heads are found.
    pub heads: HeadRules,
    /// A regular expression for the lemmas of verbs that take an infinitive but no object.
    pub verbs_without_object: String,
}

/// A grammatical relation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelationRule {
    /// Its name, such as `nmod:poss`.
    pub name: String,
    /// The more general relation above it.
    pub parent: Option<String>,
    /// A regular expression for the whole label of nodes to try the patterns at.
    pub source: Option<String>,
    /// Tree patterns, each with a node named `target`.
    pub patterns: Vec<String>,
}

/// How the head of a node is found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadRules {
    /// For each category lists that begin with a search direction (`left`, `leftdis`, `leftexcept`,
    /// `right`, ...) and go on with categories; the first list that finds a child decides. If
    /// none does, the first child without a punctuation tag, from the side that the last list starts at.
    pub table: Vec<(String, Vec<Vec<String>>)>,
    /// Tags of punctuation: never heads where there is anything else.
    pub punctuation_tags: Vec<String>,
    /// Auxiliary verbs.
    pub auxiliaries: Vec<String>,
    /// Copulas.
    pub copulas: Vec<String>,
    /// Verbs that make a passive or a progressive.
    pub passive_auxiliaries: Vec<String>,
    /// Tags of verbs.
    pub verb_tags: Vec<String>,
    /// Tags that make any word an auxiliary.
    pub auxiliary_tags: Vec<String>,
    /// Patterns at a `CONJP` whose node `head` is the head.
    pub conjunction_phrases: Vec<String>,
    /// Patterns at an `SBARQ` or `SINV` whose node `head` is the head.
    pub copular_questions: Vec<String>,
    /// A pattern for verb phrases that are no more than a time.
    pub temporal_verb_phrase: String,
}
