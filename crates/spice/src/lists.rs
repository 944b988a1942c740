//! Word lists of the reference, which are read from its files when SPICE's model is made.

use capeval_dependencies::processed::MultiwordPrepositions;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// The reference's word lists as they stand there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordLists {
    /// Prepositions of two words, joined by `_`.
    pub two_word_prepositions: Vec<String>,
    /// Those whose first word can be the head of the phrase.
    pub two_word_prepositions_headed_by_first: Vec<String>,
    /// Prepositions of three words.
    pub three_word_prepositions: Vec<String>,
    /// "lot", "couple": nouns that are quantities between "a" and "of".
    pub quantity_nouns: Vec<String>,
    /// "lots", "dozens", `[0-9]+s`: quantities before "of".
    pub plural_quantities: Vec<String>,
    /// "some", "two", `[0-9]+`: quantities before "of the" or "of them".
    pub partitives: Vec<String>,
    /// Pronouns that stand for one person or thing.
    pub singular_pronouns: Vec<String>,
    /// Attributes that are colours.
    pub colors: Vec<String>,
    /// Attributes that are sizes.
    pub sizes: Vec<String>,
    /// Attributes that are numbers.
    pub numbers: Vec<String>,
}

/// A list that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// There is nothing in it.
    #[error("expected words in the list {list}, got none")]
    Empty {
        /// Name of the list.
        list: &'static str,
    },
    /// An entry is neither a word nor one of the two forms of numbers.
    #[error("the list {list}: expected words, '[0-9]+' or '[0-9]+s', got {entry:?}")]
    Entry {
        /// Name of the list.
        list: &'static str,
        /// The entry.
        entry: String,
    },
}

/// Word lists ready for use.
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
    /// Check the lists and make them ready.
    ///
    /// # Errors
    /// A [`ListError`] if a list is empty or an entry isn't of the expected form.
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

/// Words in any case, and numbers.
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

    /// Whether a word as written is in the list.
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
