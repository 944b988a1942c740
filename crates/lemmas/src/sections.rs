//! The lemma tables as sections of a table file.

use capeval_tables::{Contents, TableError, TableFile};

use crate::{Lemmatizer, NumberError, Tables};

const CLASSES: &str = "lemmas.classes";
const ROWS: &str = "lemmas.rows";
const TRANSITIONS: &str = "lemmas.transitions";
const ACCEPTED: &str = "lemmas.accepted";
const RULES: &str = "lemmas.rules";

/// Serialized lemma tables.
#[derive(Debug)]
pub struct Sections<'a> {
    tables: &'a Tables,
    rules: Vec<u8>,
}

/// Error of reading the lemma tables from a file.
#[derive(Debug, thiserror::Error)]
pub enum SectionsError {
    /// A section is missing.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The rules section is invalid.
    #[error("the section lemmas.rules must contain the lexer's rules as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A number in the tables is out of range.
    #[error(transparent)]
    Number(#[from] NumberError),
}

impl<'a> Sections<'a> {
    /// Serializes the tables.
    ///
    /// # Errors
    /// Returns an error if a number in the tables is out of range.
    pub fn new(tables: &'a Tables) -> Result<Self, SectionsError> {
        tables.check()?;
        Ok(Self { tables, rules: serde_json::to_vec(&tables.lexer)? })
    }

    /// Returns the sections to write.
    #[must_use]
    pub fn contents(&self) -> [Contents<'_>; 5] {
        [
            Contents::of(CLASSES, &self.tables.classes),
            Contents::of(ROWS, &self.tables.rows),
            Contents::of(TRANSITIONS, &self.tables.transitions),
            Contents::of(ACCEPTED, &self.tables.accepted),
            Contents::of(RULES, &self.rules),
        ]
    }
}

impl Lemmatizer {
    /// Reads the tables from a file and checks them.
    ///
    /// # Errors
    /// Returns a [`SectionsError`] if a section is missing or damaged.
    pub fn open<B: AsRef<[u8]>>(file: &TableFile<B>) -> Result<Self, SectionsError> {
        let tables = Tables {
            classes: file.numbers(file.section::<u8>(CLASSES)?)?.to_vec(),
            rows: file.numbers(file.section::<u32>(ROWS)?)?.to_vec(),
            transitions: file.numbers(file.section::<u16>(TRANSITIONS)?)?.to_vec(),
            accepted: file.numbers(file.section::<u16>(ACCEPTED)?)?.to_vec(),
            lexer: serde_json::from_slice(file.numbers(file.section::<u8>(RULES)?)?)?,
        };
        Ok(Self::new(tables)?)
    }
}
