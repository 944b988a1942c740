//! Word lists of the reference implementation, read from its files when SPICE's model is compiled.

use capeval_dependencies::processed::MultiwordPrepositions;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// The unmodified word lists of the reference implementation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordLists {
    /// Prepositions of two words, joined by `_`.
    pub two_word_prepositions: Vec<String>,
    /// Two-word prepositions whose first word can be the head of the phrase.
    pub two_word_prepositions_headed_by_first: Vec<String>,
    /// Prepositions of three words.
    pub three_word_prepositions: Vec<String>,
    /// "lot", "couple": nouns that are quantities between "a" and "of".
    pub quantity_nouns: Vec<String>,
    /// "lots", "dozens", `[0-9]+s`: quantities before "of".
    pub plural_quantities: Vec<String>,
    /// "some", "two", `[0-9]+`: quantities before "of the" or "of them".
    pub partitives: Vec<String>,
    /// Pronouns for one person or thing.
    pub singular_pronouns: Vec<String>,
    /// Color attributes.
    pub colors: Vec<String>,
    /// Size attributes.
    pub sizes: Vec<String>,
    /// Number attributes.
    pub numbers: Vec<String>,
}

/// Error of an invalid list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// The list is empty.
    #[error("the list {list} must have at least one word (got none)")]
    Empty {
        /// Name of the list.
        list: &'static str,
    },
    /// An entry is neither a word nor one of the two number patterns.
    #[error("the list {list}: expected words, '[0-9]+' or '[0-9]+s', got {entry:?}")]
    Entry {
        /// Name of the list.
        list: &'static str,
        /// The entry.
        entry: String,
    },
}

/// Word lists prepared for use.
#[derive(Clone, Debug)]
pub struct Lists {
    /// Prepositions of several words.
    pub prepositions: MultiwordPrepositions,
    pub(crate) quantity_nouns: Words,
    pub(crate) plural_quantities: Words,
    pub(crate) partitives: Words,
    pub(crate) singular_pronouns: FxHashSet<String>,
    pub(crate) colors: FxHashSet<String>,
    pub(crate) sizes: FxHashSet<String>,
    pub(crate) numbers: FxHashSet<String>,
}

impl Lists {
    /// Validates and prepares the lists.
    ///
    /// # Errors
    /// Returns a [`ListError`] if a list is empty or an entry has an unexpected form.
    pub fn new(lists: WordLists) -> Result<Self, ListError> {
        let filled = |list: &'static str, words: Vec<String>| {
            if words.is_empty() { Err(ListError::Empty { list }) } else { Ok(words) }
        };
        let set = |list, words| Ok::<_, ListError>(filled(list, words)?.into_iter().collect());
        Ok(Self {
            prepositions: MultiwordPrepositions::new(
                filled("two_word_prepositions", lists.two_word_prepositions)?,
                filled("two_word_prepositions_headed_by_first", lists.two_word_prepositions_headed_by_first)?,
                filled("three_word_prepositions", lists.three_word_prepositions)?,
            ),
            quantity_nouns: Words::new("quantity_nouns", filled("quantity_nouns", lists.quantity_nouns)?)?,
            plural_quantities: Words::new(
                "plural_quantities",
                filled("plural_quantities", lists.plural_quantities)?,
            )?,
            partitives: Words::new("partitives", filled("partitives", lists.partitives)?)?,
            singular_pronouns: set("singular_pronouns", lists.singular_pronouns)?,
            colors: set("colors", lists.colors)?,
            sizes: set("sizes", lists.sizes)?,
            numbers: set("numbers", lists.numbers)?,
        })
    }
}

/// Case-insensitive words, and number patterns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    words: FxHashSet<String>,
    numbers: bool,
    numbers_with_s: bool,
}

impl Words {
    fn new(list: &'static str, entries: Vec<String>) -> Result<Self, ListError> {
        let mut words = Self::default();
        for entry in entries {
            match entry.as_str() {
                "[0-9]+" => words.numbers = true,
                "[0-9]+s" => words.numbers_with_s = true,
                word if word.bytes().all(|byte| byte.is_ascii_lowercase()) && !word.is_empty() => {
                    words.words.insert(entry);
                }
                _ => return Err(ListError::Entry { list, entry }),
            }
        }
        Ok(words)
    }

    /// Returns whether the list contains a word.
    pub(crate) fn contain(&self, word: &str) -> bool {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let with_s = |text: &str| text.strip_suffix(['s', 'S']).is_some_and(is_number);
        (self.numbers && is_number(word))
            || (self.numbers_with_s && with_s(word))
            || self.words.contains(word)
            || (word.bytes().any(|byte| byte.is_ascii_uppercase())
                && self.words.contains(&word.to_ascii_lowercase()))
    }
}
