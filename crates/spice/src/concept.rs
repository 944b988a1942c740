//! Words with their synsets, merged if they have the same meaning.

use capeval_meteor::Synonyms;
use capeval_tables::TableError;
use rustc_hash::FxHashMap;

/// Words and phrases that were merged, and all their synsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concept {
    words: Vec<String>,
    /// Sorted synset numbers.
    synsets: Vec<u32>,
}

impl Concept {
    /// Returns the words in the order of merging.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the only word, or `None` if several were merged.
    #[must_use]
    pub fn only_word(&self) -> Option<&str> {
        match self.words.as_slice() {
            [word] => Some(word),
            _ => None,
        }
    }

    /// Returns whether the sets of words and of synsets are equal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.words.len() == other.words.len()
            && self.synsets == other.synsets
            && self.words.iter().all(|word| other.words.contains(word))
    }

    fn shares_word(&self, other: &Self) -> bool {
        self.words.iter().any(|word| other.words.contains(word))
    }

    /// Returns whether the concepts share a synset or a word.
    #[must_use]
    pub fn is_similar(&self, other: &Self) -> bool {
        common(&self.synsets, &other.synsets).next().is_some() || self.shares_word(other)
    }

    /// Returns 1 if the concepts share a word, otherwise the proportion of common synsets (0 without
    /// synsets).
    pub(crate) fn similarity(&self, other: &Self) -> f32 {
        if self.shares_word(other) {
            return 1.0;
        }
        let shared = common(&self.synsets, &other.synsets).count();
        let all = self.synsets.len() + other.synsets.len() - shared;
        if all == 0 { 0.0 } else { shared as f32 / all as f32 }
    }

    /// Adds the words and synsets of another concept.
    pub(crate) fn merge(&mut self, other: Self) {
        for word in other.words {
            if !self.words.contains(&word) {
                self.words.push(word);
            }
        }
        self.synsets.extend(other.synsets);
        self.synsets.sort_unstable();
        self.synsets.dedup();
    }
}

/// Iterates over the numbers that two sorted lists have in common.
fn common<'a>(one: &'a [u32], other: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    let mut rest = other;
    one.iter().copied().filter(move |number| {
        while rest.first().is_some_and(|first| first < number) {
            rest = &rest[1..];
        }
        rest.first() == Some(number)
    })
}

/// Creates concepts from words, and caches the synsets of the words.
#[derive(Debug)]
pub struct Concepts<'s, B> {
    synonyms: &'s Synonyms<B>,
    known: FxHashMap<String, Vec<u32>>,
}

impl<'s, B: AsRef<[u8]>> Concepts<'s, B> {
    /// Creates concepts with the synsets of a table.
    #[must_use]
    pub fn new(synonyms: &'s Synonyms<B>) -> Self {
        Self { synonyms, known: FxHashMap::default() }
    }

    /// Returns the concept of a word or phrase.
    pub(crate) fn concept(&mut self, word: &str) -> Result<Concept, TableError> {
        let synsets = match self.known.get(word) {
            Some(synsets) => synsets.clone(),
            None => {
                let key = capeval_ptb::lowercase(word.trim_matches(|character| character <= ' '));
                let synsets = self.synonyms.synsets(&key.replace(' ', "_"))?;
                self.known.insert(word.to_owned(), synsets.clone());
                synsets
            }
        };
        Ok(Concept { words: vec![word.to_owned()], synsets })
    }
}
