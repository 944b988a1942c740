//! Words as numbers.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;

/// How many bytes a key can have all of.
const WHOLE: usize = 12;

/// Distinct words, numbered from 0 in the order they were first interned.
#[derive(Clone, Default)]
pub struct Vocabulary {
    text: String,
    ends: Vec<usize>,
    index: HashTable<(Key, u32)>,
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
        let key = Key::of(word);
        let same = |&(of_id, id): &(Key, u32)| of_id == key && (key.is_whole() || self.word(id) == word);
        self.index.find(key.hash(), same).map(|&(_, id)| id)
    }

    /// The number of `word`, which becomes known if it was not.
    pub fn intern(&mut self, word: &str) -> u32 {
        let Self { text, ends, index } = self;
        let key = Key::of(word);
        let same =
            |&(of_id, id): &(Key, u32)| of_id == key && (key.is_whole() || word_in(text, ends, id) == word);
        match index.entry(key.hash(), same, |(key, _)| key.hash()) {
            Entry::Occupied(known) => known.get().1,
            Entry::Vacant(free) => {
                let id = ends.len() as u32;
                free.insert((key, id));
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

/// What words are looked up by: the words themselves where they are short, as most are, which spares looking at
/// the words in the index; of long ones a hash, their end and their length.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    first: u32,
    last: u32,
    middle: u32,
    bytes: u32,
}

impl Key {
    fn of(word: &str) -> Self {
        let word = word.as_bytes();
        let four = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| word[at + byte]));
        let (first, middle, last) = match word.len() {
            0 => (0, 0, 0),
            // Every byte is in one of the three at least.
            bytes @ 1..4 => (u32::from(word[0]), u32::from(word[bytes / 2]), u32::from(word[bytes - 1])),
            bytes @ 4..=WHOLE => (four(0), four((bytes - 4) / 2), four(bytes - 4)),
            bytes => {
                let hash = FxBuildHasher.hash_one(word);
                (hash as u32, (hash >> 32) as u32, four(bytes - 4))
            }
        };
        Self { first, middle, last, bytes: word.len() as u32 }
    }

    /// Whether the key has all bytes of its word.
    fn is_whole(self) -> bool {
        self.bytes as usize <= WHOLE
    }

    fn hash(self) -> u64 {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let product = u128::from(pair(self.first, self.last) ^ 0x243f_6a88_85a3_08d3)
            * u128::from(pair(self.middle, self.bytes) ^ 0x9e37_79b9_7f4a_7c15);
        (product as u64) ^ (product >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_anywhere_are_different() {
        let mut words = Vec::new();
        for length in 0..=20 {
            words.push("x".repeat(length));
            words.extend((0..length).map(|at| format!("{}y{}", "x".repeat(at), "x".repeat(length - at - 1))));
        }
        let mut vocabulary = Vocabulary::default();
        for round in 0..2 {
            for (number, word) in words.iter().enumerate() {
                assert_eq!(vocabulary.id(word), (round == 1).then_some(number as u32), "{word}");
                assert_eq!(vocabulary.intern(word), number as u32, "{word}");
                assert_eq!(vocabulary.word(number as u32), word);
            }
        }
    }

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
