//! Words as small numbers.

use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// Distinct words, numbered in order of appearance, their text in one block.
#[derive(Default)]
pub(super) struct Words {
    text: String,
    ends: Vec<usize>,
    table: HashTable<u32>,
}

fn hash(word: &str) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(word)
}

impl Words {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text of a word number.
    pub(super) fn text(&self, word: u32) -> &str {
        text_of(&self.text, &self.ends, word)
    }

    /// The number of a word, if it is known.
    pub(super) fn get(&self, word: &str) -> Option<u32> {
        self.table.find(hash(word), |&known| self.text(known) == word).copied()
    }

    /// The number of a word, a new one if it is not known.
    pub(super) fn intern(&mut self, word: &str) -> u32 {
        let Self { text, ends, table } = self;
        let same = |&known: &u32| text_of(text, ends, known) == word;
        let rehash = |&known: &u32| hash(text_of(text, ends, known));
        match table.entry(hash(word), same, rehash) {
            hashbrown::hash_table::Entry::Occupied(entry) => *entry.get(),
            hashbrown::hash_table::Entry::Vacant(entry) => {
                let number = ends.len() as u32;
                entry.insert(number);
                text.push_str(word);
                ends.push(text.len());
                number
            }
        }
    }
}

fn text_of<'a>(text: &'a str, ends: &[usize], word: u32) -> &'a str {
    let word = word as usize;
    let start = if word == 0 { 0 } else { ends[word - 1] };
    &text[start..ends[word]]
}
