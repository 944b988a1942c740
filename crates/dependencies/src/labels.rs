//! Interned node labels, with the label tests that each one passes.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::label_tests::{LabelTests, TestId};

/// An interned label: a category, a tag or a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(u32);

impl Label {
    /// Returns the label's index.
    ///
    /// Labels named in rules have small indices, and indices increase in the order of interning.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone)]
struct Entry {
    text: Arc<str>,
    category: Label,
}

/// All labels seen so far.
///
/// Each label is tested once, when it is interned. Patterns then read one bit. Cloning copies the labels, and
/// each thread uses its own clone.
#[derive(Debug, Clone)]
pub struct Labels {
    tests: Arc<LabelTests>,
    known: FxHashMap<Arc<str>, Label>,
    entries: Vec<Entry>,
    rows: Vec<u64>,
    words: usize,
    fixed: usize,
}

impl Labels {
    /// Creates an empty set of labels. `tests` are the tests of all patterns to be matched.
    pub fn new(tests: Arc<LabelTests>) -> Self {
        let words = tests.words();
        Labels { tests, known: FxHashMap::default(), entries: Vec::new(), rows: Vec::new(), words, fixed: 0 }
    }

    /// Returns the label for `text`, adding it if it is new.
    pub fn intern(&mut self, text: &str) -> Label {
        if let Some(&label) = self.known.get(text) {
            return label;
        }
        let label = Label(u32::try_from(self.entries.len()).expect("fewer than 2^32 labels"));
        let text: Arc<str> = text.into();
        let category = basic_category(&text);
        let from = self.rows.len();
        self.rows.resize(from + self.words, 0);
        self.tests.evaluate(&text, category, &mut self.rows[from..]);
        self.known.insert(text.clone(), label);
        self.entries.push(Entry { text: text.clone(), category: label });
        if category.len() < text.len() {
            let category = self.intern(category);
            self.entries[label.index()].category = category;
        }
        label
    }

    /// Returns the text of a label.
    pub fn text(&self, label: Label) -> &str {
        &self.entries[label.index()].text
    }

    /// Returns the label without its annotations: `NP` for `NP-TMP`.
    #[inline]
    pub fn category(&self, label: Label) -> Label {
        self.entries[label.index()].category
    }

    /// Returns whether a label passes a test.
    #[inline]
    pub fn passes(&self, label: Label, test: TestId) -> bool {
        self.rows[label.index() * self.words + test.word()] & test.bit() != 0
    }

    /// Returns the test results of a label, one bit per test.
    #[inline]
    pub(crate) fn row(&self, label: Label) -> &[u64] {
        &self.rows[label.index() * self.words..][..self.words]
    }

    pub(crate) fn tests(&self) -> &LabelTests {
        &self.tests
    }

    /// Returns the number of labels.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Makes [`Labels::forget`] keep all labels interned so far.
    pub fn keep(&mut self) {
        self.fixed = self.entries.len();
    }

    /// Removes the labels interned since [`Labels::keep`], so that memory stays bounded over many sentences.
    ///
    /// Trees with removed labels must not be used afterwards.
    pub fn forget(&mut self) {
        for entry in self.entries.drain(self.fixed..) {
            self.known.remove(&entry.text);
        }
        self.rows.truncate(self.fixed * self.words);
    }
}

/// Returns the text before the first annotation mark.
///
/// A mark at the start belongs to the category and protects the text up to the same mark, so `-LRB-` stays
/// whole.
pub fn basic_category(label: &str) -> &str {
    let mut first = None;
    for (at, mark) in label.char_indices() {
        if !matches!(mark, '-' | '=' | '|' | '#' | '^' | '~' | '_' | '[') {
            continue;
        }
        if at == 0 {
            first = Some(mark);
        } else if at > 1 && first == Some(mark) {
            first = None;
        } else {
            return &label[..at];
        }
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_end_at_the_first_mark() {
        let pairs = [("NP-TMP", "NP"), ("NP", "NP"), ("-LRB-", "-LRB-"), ("-LRB-x-y", "-LRB-x"), ("--", "-")];
        for (label, category) in pairs {
            assert_eq!(basic_category(label), category);
        }
        assert_eq!(basic_category("NP=2"), "NP");
        assert_eq!(basic_category(""), "");
        assert_eq!(basic_category("-"), "-");
    }

    #[test]
    fn labels_are_interned_once_and_removed_together() {
        let mut labels = Labels::new(Arc::new(LabelTests::default()));
        let np = labels.intern("NP");
        labels.keep();
        let dog = labels.intern("dog");
        assert_eq!(labels.intern("dog"), dog);
        assert_ne!(np, dog);
        assert_eq!(labels.text(dog), "dog");
        labels.forget();
        assert_eq!(labels.len(), 1);
        assert_eq!(labels.intern("cat"), dog);
        assert_eq!(labels.intern("NP"), np);
    }
}
