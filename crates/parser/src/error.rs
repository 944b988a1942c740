//! Errors of models and of parsing.

use capeval_tables::TableError;
use thiserror::Error;

/// Error of reading a models jar or its content.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The jar cannot be read.
    #[error("cannot read the models jar: {0}")]
    Io(#[from] std::io::Error),
    /// The file is not a valid jar.
    #[error("the models jar must be a zip file: {0}")]
    Jar(#[from] zip::result::ZipError),
    /// The bytes are not those of CoreNLP 3.6.0.
    #[error("{part} must be from CoreNLP 3.6.0 (expected SHA-256 {expected}, found {found})")]
    Checksum {
        /// Name of the checked file.
        part: &'static str,
        /// The expected SHA-256 in hexadecimal.
        expected: &'static str,
        /// The SHA-256 found.
        found: String,
    },
    /// The bytes are not a Java object stream.
    #[error("the model's object stream, byte {offset}: expected {expected}, found {found}")]
    Stream {
        /// Offset in the stream.
        offset: usize,
        /// Description of the expected data.
        expected: &'static str,
        /// Description of the data found.
        found: String,
    },
    /// The objects are not a parser model.
    #[error("the model, {place}: expected {expected}, found {found}")]
    Content {
        /// The object or list.
        place: String,
        /// Description of the expected value.
        expected: &'static str,
        /// Description of the value found.
        found: String,
    },
    /// The compiled table is damaged.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl ModelError {
    pub(crate) fn content(place: impl Into<String>, expected: &'static str, found: String) -> Self {
        Self::Content { place: place.into(), expected, found }
    }
}

/// Error of parsing a sentence.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseError {
    /// A sentence has no words.
    #[error("sentence {sentence}: expected at least one token, found none")]
    Empty {
        /// Index of the sentence in the batch.
        sentence: usize,
    },
    /// A sentence is too long. Time grows with the cube of the length, memory with its square.
    #[error("sentence {sentence}: expected at most {limit} tokens, found {found}")]
    TooLong {
        /// Index of the sentence in the batch.
        sentence: usize,
        /// The parser's limit.
        limit: usize,
        /// Length of the sentence.
        found: usize,
    },
    /// The compiled table is damaged.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The caller's progress callback requested a stop.
    #[error("the parser was asked to stop")]
    Stopped,
}
