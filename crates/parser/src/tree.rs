//! Parse trees.

use std::fmt::Write;

/// A node of a [`Parse`] in pre-order: it is followed by its children, each with its own descendants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Index of the label in [`crate::Model::labels`].
    pub label: u16,
    /// Number of nodes in the subtree, including this one.
    ///
    /// Words are not nodes: a node of size 1 is the tag of the next word.
    pub size: u32,
}

/// The best tree of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Parse {
    /// The natural logarithm of the tree's probability, or NaN if the sentence has no parse.
    pub score: f64,
    /// Nodes in pre-order. Tags are nodes without children, one per word.
    pub nodes: Vec<Node>,
    /// Tag of each word, as the index of its label.
    pub tags: Vec<u16>,
}

impl Parse {
    /// Formats the tree in brackets, as CoreNLP does. `labels` are the labels of the model.
    #[must_use]
    pub fn to_brackets<T: AsRef<str>>(&self, labels: &[String], words: &[T]) -> String {
        let mut text = String::new();
        let mut words = words.iter();
        let mut open_ends: Vec<usize> = Vec::new();
        for (place, node) in self.nodes.iter().enumerate() {
            if place > 0 {
                text.push(' ');
            }
            let label = labels.get(usize::from(node.label)).map_or("", String::as_str);
            let _ = write!(text, "({label}");
            open_ends.push(place + node.size as usize);
            if node.size == 1 {
                let _ = write!(text, " {}", words.next().map_or("", AsRef::as_ref));
            }
            while open_ends.last() == Some(&(place + 1)) {
                open_ends.pop();
                text.push(')');
            }
        }
        text
    }
}
