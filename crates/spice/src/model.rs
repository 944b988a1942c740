//! SPICE's model: one table file with grammar, rules, lemmas and synonyms.

use std::sync::Arc;

use capeval_dependencies::{Converter, RulesError as ConverterError};
use capeval_lemmas::{Lemmatizer, SectionsError};
use capeval_meteor::Synonyms;
use capeval_tables::{Contents, Kind, TableError, TableFile};

use crate::{ListError, Lists, Rules, RulesError};

/// The kind of table file that contains the model.
pub const KIND: Kind = Kind { name: "SPICE", version: 1 };

const SYNONYMS: &str = "spice.synonyms";

/// Error of opening a model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The file is incomplete or of another version.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The rules are invalid.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// A rule cannot be compiled.
    #[error(transparent)]
    Converter(#[from] ConverterError),
    /// A word list is invalid.
    #[error(transparent)]
    Lists(#[from] ListError),
    /// The lemma tables are invalid.
    #[error(transparent)]
    Lemmas(#[from] SectionsError),
}

/// The bytes of a file, shared by several parts of a model.
#[derive(Debug)]
pub struct Shared<B> {
    bytes: Arc<B>,
    start: usize,
    end: usize,
}

impl<B> Clone for Shared<B> {
    fn clone(&self) -> Self {
        Self { bytes: Arc::clone(&self.bytes), start: self.start, end: self.end }
    }
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Shared<B> {
    fn as_ref(&self) -> &[u8] {
        &(*self.bytes).as_ref()[self.start..self.end]
    }
}

/// The model that converts captions to tuples, and tuples to scene graphs.
#[derive(Debug)]
pub struct Model<B> {
    file: TableFile<Shared<B>>,
    pub(crate) grammar: capeval_parser::Model<Shared<B>>,
    pub(crate) converter: Converter,
    pub(crate) lemmatizer: Lemmatizer,
    pub(crate) lists: Lists,
    pub(crate) synonyms: Synonyms<Shared<B>>,
}

impl<B: AsRef<[u8]>> Model<B> {
    /// Opens a table file.
    ///
    /// # Errors
    /// Returns a [`ModelError`] if the bytes are not a complete model of this version.
    pub fn open(bytes: B) -> Result<Self, ModelError> {
        let end = bytes.as_ref().len();
        let shared = Shared { bytes: Arc::new(bytes), start: 0, end };
        let file = TableFile::open(shared.clone(), KIND)?;
        let rules = Rules::open(&file)?;
        let range = file.section::<u8>(SYNONYMS)?.bytes();
        let synonyms = Shared { start: range.start, end: range.end, ..shared.clone() };
        Ok(Self {
            grammar: capeval_parser::Model::open_in(shared, KIND)?,
            converter: Converter::new(&rules.dependencies)?,
            lemmatizer: Lemmatizer::open(&file)?,
            lists: Lists::new(rules.lists)?,
            synonyms: Synonyms::open(synonyms)?,
            file,
        })
    }

    /// Returns the section for the bytes created by `capeval_meteor::compile_synonyms`.
    #[must_use]
    pub fn synonyms_contents(synonyms: &[u8]) -> Contents<'_> {
        Contents::of(SYNONYMS, synonyms)
    }

    /// Reads the whole file and verifies its checksum.
    ///
    /// # Errors
    /// Returns a [`TableError`] if the content differs from the compiled tables.
    pub fn verify(&self) -> Result<(), TableError> {
        self.file.verify()
    }

    /// Returns the checksum that identifies this model.
    #[must_use]
    pub fn fingerprint(&self) -> u32 {
        self.file.fingerprint()
    }

    /// Returns the lists that define the categories of tuples.
    #[must_use]
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    /// Returns the synonyms used to merge and match tuples.
    #[must_use]
    pub fn synonyms(&self) -> &Synonyms<Shared<B>> {
        &self.synonyms
    }
}
