//! Parses.

use std::fmt::Write;

/// A node of a [`Parse`], in pre-order: its children follow it, each with all of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The number of the label in [`crate::Model::labels`].
    pub label: u16,
    /// The nodes of the tree below this one, itself included. Words are no nodes: a node of size 1
    /// is the tag of the next word.
    pub size: u32,
}

/// The best tree of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Parse {
    /// The natural logarithm of the tree's probability; not a number if the sentence has no parse.
    pub score: f64,
    /// The nodes in pre-order. Tags are nodes without children, one a word.
    pub nodes: Vec<Node>,
    /// The tag of each word, as the number of its label.
    pub tags: Vec<u16>,
}

impl Parse {
    /// The tree in brackets, as CoreNLP prints it. `labels` are those of the model.
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
