//! Rewriting of constituent trees before relations are read from them.
//!
//! Most steps are rules of the model: a tree pattern, and operations on the nodes it names ([`operations`]).
//! Three steps are implemented here: removal of annotations from labels ([`cleaning`]), grouping of flat
//! coordinations in noun phrases ([`coordination`]), and flattening of dates ([`dates`]).

mod cleaning;
mod coordination;
mod dates;
mod error;
mod operations;

use error::MOST_MATCHES;
pub use error::RewritingError;
use operations::Operations;
use serde::{Deserialize, Serialize};

use crate::label_tests::{LabelTests, TestId};
use crate::labels::Labels;
use crate::pattern::{Matcher, Pattern, Scratch};
use crate::tree::{NodeId, Tree};

/// One step of the rewriting, as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RewritingRule {
    /// Applies the operations for as long as a pattern matches, one pattern after another.
    Operations {
        /// Tree patterns.
        patterns: Vec<String>,
        /// Operations on the nodes that the patterns name.
        operations: String,
    },
    /// Replaces the children of the node `root` by the named tags, for as long as the pattern matches.
    Date {
        /// A tree pattern.
        pattern: String,
    },
    /// Groups coordinations in noun phrases.
    Coordination,
}

#[derive(Debug)]
enum Change {
    Operations(Operations),
    Date { root: usize },
}

#[derive(Debug)]
struct Rule {
    text: String,
    pattern: Pattern,
    change: Change,
}

#[derive(Debug)]
enum Step {
    Rule(Rule),
    /// Groups coordinations. The test identifies the label of conjunctions.
    Coordination(TestId),
}

/// Compiled rewriting rules.
#[derive(Debug)]
pub struct Rewriter {
    steps: Vec<Step>,
}

/// Reusable working memory.
#[derive(Debug, Default)]
pub struct RewritingScratch {
    matching: Scratch,
    in_tree: Vec<u64>,
}

impl Rewriter {
    /// Compiles rules and adds the label tests of their patterns to `tests`.
    ///
    /// # Errors
    /// Returns an error if a pattern or an operation is invalid, or if an operation refers to no node of its
    /// pattern.
    pub fn new(rules: &[RewritingRule], tests: &mut LabelTests) -> Result<Self, RewritingError> {
        let mut steps = Vec::new();
        for rule in rules {
            match rule {
                RewritingRule::Coordination => {
                    let conjunction = tests.described("/^CC/", false).map_err(|problem| {
                        RewritingError::Operation { operation: "coordination".to_owned(), problem }
                    })?;
                    steps.push(Step::Coordination(conjunction));
                }
                RewritingRule::Date { pattern: text } => {
                    let pattern = Pattern::compile(text, tests)?;
                    let root = pattern.names().position(|name| name == "root");
                    let root = root.ok_or_else(|| RewritingError::Tree {
                        pattern: text.clone(),
                        problem: "the pattern of a date must name a node \"root\"",
                    })?;
                    steps.push(Step::Rule(Rule {
                        text: text.clone(),
                        pattern,
                        change: Change::Date { root },
                    }));
                }
                RewritingRule::Operations { patterns, operations } => {
                    for text in patterns {
                        let pattern = Pattern::compile(text, tests)?;
                        let names: Vec<&str> = pattern.names().collect();
                        let change = Change::Operations(Operations::compile(operations, &names)?);
                        steps.push(Step::Rule(Rule { text: text.clone(), pattern, change }));
                    }
                }
            }
        }
        Ok(Rewriter { steps })
    }

    /// Rewrites a tree in place.
    ///
    /// # Errors
    /// Returns an error if an operation is not applicable to the matched nodes.
    pub fn rewrite(
        &self,
        tree: &mut Tree,
        labels: &mut Labels,
        scratch: &mut RewritingScratch,
    ) -> Result<(), RewritingError> {
        cleaning::clean(tree, labels);
        collect_tests(tree, labels, &mut scratch.in_tree);
        for step in &self.steps {
            let is_changed = match step {
                Step::Rule(rule) => rule.apply(tree, labels, scratch)?,
                Step::Coordination(conjunction) => {
                    has_test(&scratch.in_tree, *conjunction)
                        && coordination::group(tree, labels, *conjunction)
                }
            };
            if is_changed {
                collect_tests(tree, labels, &mut scratch.in_tree);
            }
        }
        Ok(())
    }
}

/// Collects the label tests that any node of the tree passes.
fn collect_tests(tree: &Tree, labels: &Labels, row: &mut Vec<u64>) {
    row.clear();
    row.resize(labels.tests().words(), 0);
    for node in tree.preorder() {
        row.iter_mut().zip(labels.row(tree.label(node))).for_each(|(all, one)| *all |= one);
    }
}

fn has_test(row: &[u64], test: TestId) -> bool {
    row[test.word()] & test.bit() != 0
}

impl Rule {
    /// Changes the tree for as long as the pattern matches. Returns whether it did.
    fn apply(
        &self,
        tree: &mut Tree,
        labels: &mut Labels,
        scratch: &mut RewritingScratch,
    ) -> Result<bool, RewritingError> {
        let is_possible = self.pattern.needed_tests().iter().all(|&test| has_test(&scratch.in_tree, test));
        if !is_possible {
            return Ok(false);
        }
        let mut changes = 0;
        while let Some(named) = self.first_match(tree, labels, &mut scratch.matching) {
            changes += 1;
            if changes > MOST_MATCHES {
                return Err(RewritingError::Endless { pattern: self.text.clone() });
            }
            match &self.change {
                Change::Date { root } => dates::flatten(tree, *root, &named),
                Change::Operations(operations) => operations
                    .apply(tree, labels, &named)
                    .map_err(|problem| RewritingError::Tree { pattern: self.text.clone(), problem })?,
            }
        }
        Ok(changes > 0)
    }

    /// Returns the named nodes of the first match, at the first node in pre-order that has one.
    fn first_match(
        &self,
        tree: &Tree,
        labels: &Labels,
        scratch: &mut Scratch,
    ) -> Option<Vec<Option<NodeId>>> {
        let matcher = Matcher::new(tree, labels, &[]);
        let start = self.pattern.start_test();
        tree.preorder()
            .filter(|&node| start.is_none_or(|test| labels.passes(tree.label(node), test)))
            .find_map(|node| matcher.first(&self.pattern, node, scratch))
    }
}

#[cfg(test)]
mod tests;
