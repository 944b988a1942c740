//! SPICE's model: one table file with the grammar, the rules, the lemmas and the synonyms.

use std::sync::Arc;

use capeval_dependencies::{Converter, RulesError as ConverterError};
use capeval_lemmas::{Lemmatizer, SectionsError};
use capeval_meteor::Synonyms;
use capeval_tables::{Contents, Kind, TableError, TableFile};

use crate::{ListError, Lists, Rules, RulesError};

/// The kind of a table file that holds the model.
pub const KIND: Kind = Kind { name: "SPICE", version: 1 };

const SYNONYMS: &str = "spice.synonyms";

/// Why a model can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The file is not whole, or not of this version.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The rules are not as they must be.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// A rule can't be compiled.
    #[error(transparent)]
    Converter(#[from] ConverterError),
    /// A word list is not as it must be.
    #[error(transparent)]
    Lists(#[from] ListError),
    /// The tables of the lemmas are not as they must be.
    #[error(transparent)]
    Lemmas(#[from] SectionsError),
}

/// The bytes of a file that several parts of a model read.
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

/// Everything that turns captions into tuples, and tuples into scene graphs.
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
    /// Open a table file.
    ///
    /// # Errors
    /// A [`ModelError`] if the bytes are not a whole model of this version.
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

    /// The section for the bytes that `capeval_meteor::compile_synonyms` makes.
    #[must_use]
    pub fn synonyms_contents(synonyms: &[u8]) -> Contents<'_> {
        Contents::of(SYNONYMS, synonyms)
    }

    /// Read the whole file and compare its checksum.
    ///
    /// # Errors
    /// A [`TableError`] if a byte differs from what was compiled.
    pub fn verify(&self) -> Result<(), TableError> {
        self.file.verify()
    }

    /// The checksum that tells this model from others.
    #[must_use]
    pub fn fingerprint(&self) -> u32 {
        self.file.fingerprint()
    }

    /// The lists that put tuples into categories.
    #[must_use]
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    /// The synonyms that tuples are merged and matched by.
    #[must_use]
    pub fn synonyms(&self) -> &Synonyms<Shared<B>> {
        &self.synonyms
    }
}
