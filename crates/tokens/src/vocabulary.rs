//! Words as numbers.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Distinct words, numbered from 0 in the order they were first interned.
#[derive(Clone, Default)]
pub struct Vocabulary {
    text: String,
    ends: Vec<usize>,
    index: HashTable<u32>,
}

impl Vocabulary {
    /// How many words there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no word yet.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The word numbered `id`; `id` must come from this vocabulary.
    pub fn word(&self, id: u32) -> &str {
        word_in(&self.text, &self.ends, id)
    }

    /// All words, in the order of their numbers.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|id| self.word(id))
    }

    /// The number of `word`, if it is known.
    pub fn id(&self, word: &str) -> Option<u32> {
        let same = |&id: &u32| self.word(id) == word;
        self.index.find(hash(word), same).copied()
    }

    /// The number of `word`, which becomes known if it was not.
    pub fn intern(&mut self, word: &str) -> u32 {
        let Self { text, ends, index } = self;
        let entry = index.entry(
            hash(word),
            |&id| word_in(text, ends, id) == word,
            |&id| hash(word_in(text, ends, id)),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(known) => *known.get(),
            hashbrown::hash_table::Entry::Vacant(free) => {
                let id = ends.len() as u32;
                free.insert(id);
                text.push_str(word);
                ends.push(text.len());
                id
            }
        }
    }
}

fn word_in<'a>(text: &'a str, ends: &[usize], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &text[start..ends[id]]
}

fn hash(word: &str) -> u64 {
    FxBuildHasher.hash_one(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_numbers() {
        let mut vocabulary = Vocabulary::default();
        let ids: Vec<u32> = ["a", "dog", "a", "", "dog"].iter().map(|w| vocabulary.intern(w)).collect();
        assert_eq!(ids, [0, 1, 0, 2, 1]);
        assert_eq!(vocabulary.words().collect::<Vec<_>>(), ["a", "dog", ""]);
        assert_eq!(vocabulary.id("cat"), None);
        assert_eq!(vocabulary.id("dog"), Some(1));
    }
}
