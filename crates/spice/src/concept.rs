//! Words with their synsets, which merge where they mean the same.

use capeval_meteor::Synonyms;
use capeval_tables::TableError;
use rustc_hash::FxHashMap;

/// Words and phrases that were merged, and all of their synsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concept {
    words: Vec<String>,
    /// Sorted.
    synsets: Vec<u32>,
}

impl Concept {
    /// The words in the order in which they were merged.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The only word, `None` if several were merged.
    #[must_use]
    pub fn only_word(&self) -> Option<&str> {
        match self.words.as_slice() {
            [word] => Some(word),
            _ => None,
        }
    }

    /// Whether the sets of words and of synsets are equal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.words.len() == other.words.len()
            && self.synsets == other.synsets
            && self.words.iter().all(|word| other.words.contains(word))
    }

    fn shares_word(&self, other: &Self) -> bool {
        self.words.iter().any(|word| other.words.contains(word))
    }

    /// Whether the two share a synset or a word.
    #[must_use]
    pub fn is_similar(&self, other: &Self) -> bool {
        common(&self.synsets, &other.synsets).next().is_some() || self.shares_word(other)
    }

    /// 1 if the two share a word, otherwise the share of common synsets; 0 without synsets.
    pub(crate) fn similarity(&self, other: &Self) -> f32 {
        if self.shares_word(other) {
            return 1.0;
        }
        let shared = common(&self.synsets, &other.synsets).count();
        let all = self.synsets.len() + other.synsets.len() - shared;
        if all == 0 { 0.0 } else { shared as f32 / all as f32 }
    }

    /// Take over the words and synsets of another concept.
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

/// The numbers that two sorted lists have in common.
fn common<'a>(one: &'a [u32], other: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    let mut rest = other;
    one.iter().copied().filter(move |number| {
        while rest.first().is_some_and(|first| first < number) {
            rest = &rest[1..];
        }
        rest.first() == Some(number)
    })
}

/// Makes concepts of words, and keeps the synsets of words that it has looked up.
#[derive(Debug)]
pub struct Concepts<'s, B> {
    synonyms: &'s Synonyms<B>,
    known: FxHashMap<String, Vec<u32>>,
}

impl<'s, B: AsRef<[u8]>> Concepts<'s, B> {
    /// Concepts with the synsets of a table.
    #[must_use]
    pub fn new(synonyms: &'s Synonyms<B>) -> Self {
        Self { synonyms, known: FxHashMap::default() }
    }

    /// The concept of a word or phrase.
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
