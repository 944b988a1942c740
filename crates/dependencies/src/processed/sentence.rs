//! Sentences with part-of-speech tags.

use super::graph::{Graph, WordId};

/// The words of one sentence, and its index in the caption.
#[derive(Clone, Copy, Debug)]
pub struct Sentence<'a> {
    /// Index of the sentence in its caption.
    ///
    /// It affects the order of vertices in the reference implementation.
    pub number: usize,
    /// The original tokens.
    pub words: &'a [&'a str],
    /// Part-of-speech tags, one per token.
    pub tags: &'a [&'a str],
}

impl Sentence<'_> {
    pub(super) fn word(&self, graph: &Graph, word: WordId) -> &str {
        self.words[graph.index(word) - 1]
    }

    pub(super) fn tag(&self, graph: &Graph, word: WordId) -> &str {
        self.tags[graph.index(word) - 1]
    }

    pub(super) fn lowercase(&self, graph: &Graph, word: WordId) -> String {
        capeval_ptb::lowercase(self.word(graph, word))
    }
}
