//! Vocabularies: word ids.

use std::hash::BuildHasher;

use capeval_ptb::{Short, Token};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;

/// Bit that marks the keys of long words. The highest byte of a short word's key is its length, at most 15.
const LONG: u64 = 1 << 63;

/// Distinct words, numbered from 0 in the order they were first interned.
#[derive(Clone, Default)]
pub struct Vocabulary {
    text: String,
    ends: Vec<usize>,
    index: HashTable<(Key, u32)>,
}

impl Vocabulary {
    /// Returns the number of words.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the word with an id of this vocabulary.
    pub fn word(&self, id: u32) -> &str {
        word_in(&self.text, &self.ends, id)
    }

    /// Iterates over all words in the order of their ids.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|id| self.word(id))
    }

    /// Returns the id of `word`, if it is known.
    pub fn id(&self, word: &str) -> Option<u32> {
        self.id_of(Token::Text(word))
    }

    /// Returns the id of a token, if it is known.
    pub(crate) fn id_of(&self, token: Token<'_>) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let key = Key::of(token);
        let same = |&(of_id, id): &(Key, u32)| of_id == key && (key.is_whole() || token.is(self.word(id)));
        self.index.find(key.hash(), same).map(|&(_, id)| id)
    }

    /// Returns the id of `word`, adding it if it is new.
    pub fn intern(&mut self, word: &str) -> u32 {
        self.intern_token(Token::Text(word))
    }

    /// Returns the id of a token, adding it if it is new.
    pub(crate) fn intern_token(&mut self, token: Token<'_>) -> u32 {
        let Self { text, ends, index } = self;
        let key = Key::of(token);
        let same =
            |&(of_id, id): &(Key, u32)| of_id == key && (key.is_whole() || token.is(word_in(text, ends, id)));
        match index.entry(key.hash(), same, |(key, _)| key.hash()) {
            Entry::Occupied(known) => known.get().1,
            Entry::Vacant(free) => {
                let id = ends.len() as u32;
                free.insert((key, id));
                token.with_str(|word| text.push_str(word));
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

/// Lookup key of a word.
///
/// The key of a short word contains the whole word, which avoids reading the stored text. The key of a long
/// word is its hash and length.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    low: u64,
    high: u64,
}

impl Key {
    #[inline]
    fn of(token: Token<'_>) -> Self {
        let short = match token {
            Token::Latin(word) => Ok(word),
            Token::Text(text) => Short::of(text).ok_or(text),
        };
        match short {
            Ok(short) => Self { low: short.number() as u64, high: (short.number() >> 64) as u64 },
            Err(long) => {
                Self { low: FxBuildHasher.hash_one(long.as_bytes()), high: (long.len() as u64) | LONG }
            }
        }
    }

    /// Returns whether the key contains the whole word.
    fn is_whole(self) -> bool {
        self.high < LONG
    }

    fn hash(self) -> u64 {
        let product =
            u128::from(self.low ^ 0x243f_6a88_85a3_08d3) * u128::from(self.high ^ 0x9e37_79b9_7f4a_7c15);
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
