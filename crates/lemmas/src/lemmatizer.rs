//! Lemmas of words with part-of-speech tags.

use crate::scanner::Scanner;
use crate::{NumberError, Tables};

/// Characters that end a word in the lexer, with temporary replacements.
const MASKS: [(char, char); 3] = [('_', '\u{1CF0}'), (' ', '\u{1CF1}'), ('\n', '\u{1CF2}')];

/// A lemmatizer of tagged English words.
#[derive(Debug)]
pub struct Lemmatizer {
    tables: Tables,
}

impl Lemmatizer {
    /// Creates a lemmatizer after checking the tables.
    ///
    /// # Errors
    /// Returns an error if a number in the tables is out of range.
    pub fn new(tables: Tables) -> Result<Self, NumberError> {
        tables.check()?;
        Ok(Self { tables })
    }

    /// Returns the lemma of a word with its part-of-speech tag.
    ///
    /// The lemma of a verb and a particle joined by an underscore keeps the particle.
    #[must_use]
    pub fn lemma(&self, word: &str, tag: &str) -> String {
        if let Some((verb, particle)) = self.phrasal_verb(word, tag) {
            return format!("{}_{particle}", self.scan(verb, tag));
        }
        self.scan(word, tag)
    }

    fn phrasal_verb<'a>(&self, word: &'a str, tag: &str) -> Option<(&'a str, &'a str)> {
        if !tag.starts_with("VB") {
            return None;
        }
        let (verb, particle) = word.trim_end_matches('_').split_once('_')?;
        let is_known =
            self.tables.lexer.particles.binary_search_by(|known| known.as_str().cmp(particle)).is_ok();
        is_known.then_some((verb, particle))
    }

    fn scan(&self, word: &str, tag: &str) -> String {
        let is_masked = word.contains(MASKS.map(|(character, _)| character));
        let mut text: Vec<u16> = Vec::with_capacity(word.len() + tag.len() + 1);
        let mask =
            |character: char| MASKS.iter().find(|mask| mask.0 == character).map_or(character, |mask| mask.1);
        let mut buffer = [0; 2];
        for character in word.chars() {
            text.extend_from_slice(mask(character).encode_utf16(&mut buffer));
        }
        text.push(u16::from(b'_'));
        text.extend(tag.encode_utf16());
        let lemma = Scanner::new(&self.tables, &text).next().unwrap_or_default();
        let lemma = String::from_utf16_lossy(&lemma);
        if !is_masked {
            return lemma;
        }
        let unmask =
            |character: char| MASKS.iter().find(|mask| mask.1 == character).map_or(character, |mask| mask.0);
        lemma.chars().map(unmask).collect()
    }
}
