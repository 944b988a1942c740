//! What can be wrong with a model or with what is to be parsed.

use capeval_tables::TableError;
use thiserror::Error;

/// A models jar, or what is in it, is not as expected.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The jar cannot be read.
    #[error("the models jar cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// The file is not a jar, or a damaged one.
    #[error("the models jar must be a zip file: {0}")]
    Jar(#[from] zip::result::ZipError),
    /// The bytes are not those of CoreNLP 3.6.0.
    #[error("{part} must be that of CoreNLP 3.6.0 (SHA-256 {expected}), found {found}")]
    Checksum {
        /// What was read.
        part: &'static str,
        /// The SHA-256 of what was to be read, in hexadecimal.
        expected: &'static str,
        /// The SHA-256 of what was read.
        found: String,
    },
    /// The bytes are not a stream of Java objects.
    #[error("the model's object stream, byte {offset}: expected {expected}, found {found}")]
    Stream {
        /// Where the reader stood.
        offset: usize,
        /// What had to stand there.
        expected: &'static str,
        /// What stood there.
        found: String,
    },
    /// The objects are not those of a parser's model.
    #[error("the model, {place}: expected {expected}, found {found}")]
    Content {
        /// The object or list.
        place: String,
        /// What it had to be.
        expected: &'static str,
        /// What it was.
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

/// A sentence that is not parsed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseError {
    /// A sentence needs a word.
    #[error("sentence {sentence}: expected at least one token, found none")]
    Empty {
        /// The sentence's place in the batch, from 0.
        sentence: usize,
    },
    /// Time grows with the cube of the length, memory with its square.
    #[error("sentence {sentence}: expected at most {limit} tokens, found {found}")]
    TooLong {
        /// The sentence's place in the batch, from 0.
        sentence: usize,
        /// The largest length that the parser was told to accept.
        limit: usize,
        /// The sentence's length.
        found: usize,
    },
    /// The compiled table is damaged.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The caller's progress callback asked to stop.
    #[error("the parser was asked to stop")]
    Stopped,
}
