//! Errors: of the tables, their sources, or the caller's input.

use std::fmt::Display;

use capeval_tables::TableError;

use crate::search::{MAX_DISTANCE, MAX_MATCHES};

/// A text source the tables are compiled from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `synonym/english.synsets`: a lemma and the numbers of its synsets on alternate lines.
    Synsets,
    /// `synonym/english.exceptions`: a base form and its irregular forms on alternate lines.
    Exceptions,
    /// `function/english.words`: one function word a line.
    FunctionWords,
    /// `nonbreaking/english.prefixes`: words that keep a final dot.
    Prefixes,
    /// `paraphrase-en.gz`: probability, phrase and paraphrase on three lines.
    Paraphrases,
}

impl Source {
    /// The name of the file in the METEOR 1.5 distribution.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Synsets => "english.synsets",
            Self::Exceptions => "english.exceptions",
            Self::FunctionWords => "english.words",
            Self::Prefixes => "english.prefixes",
            Self::Paraphrases => "paraphrase-en.gz",
        }
    }
}

impl Display for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.file_name())
    }
}

/// The sources could not be compiled into a table.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// A source could not be read or decompressed.
    #[error("{origin}, line {line}: cannot be read: {error}")]
    Read {
        /// The source.
        origin: Source,
        /// The line at which reading stopped, from 1.
        line: u64,
        /// The reader's error.
        error: std::io::Error,
    },
    /// A line of a source is not what it must be.
    #[error("{origin}, line {line}: expected {expected}, found {found:?}")]
    Line {
        /// The source.
        origin: Source,
        /// The line, from 1.
        line: u64,
        /// What the line must be.
        expected: &'static str,
        /// The line, or the part of it that is wrong.
        found: String,
    },
    /// A source holds no entry at all.
    #[error("{0}: expected at least one entry, found none")]
    Empty(Source),
    /// The sources hold more entries than the format can number.
    #[error("too many {0}: the table format numbers them with 31 bits")]
    TooLarge(&'static str),
    /// The caller's progress function stopped the work.
    #[error("stopped before the tables were complete")]
    Stopped,
}

/// Scoring failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeteorError {
    /// The tables are damaged.
    #[error(transparent)]
    Table(#[from] TableError),
    /// An option is out of range.
    #[error("option {name:?} must be {expected} (got {found})")]
    Option {
        /// The option.
        name: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// An image without references.
    #[error("image {image}: expected at least one reference, found none")]
    NoReferences {
        /// The position of the image.
        image: usize,
    },
    /// An image that is not in the prepared references.
    #[error("candidate {candidate}: expected an image from 0 to {images} (exclusive), found {image}")]
    UnknownImage {
        /// The position of the candidate.
        candidate: usize,
        /// The image it names.
        image: usize,
        /// Number of prepared images.
        images: usize,
    },
    /// The references were prepared with other tables.
    #[error("references were prepared with table {prepared:08x}, asked to score with table {given:08x}")]
    OtherTables {
        /// Checksum of the tables of the references.
        prepared: u32,
        /// Checksum of the tables given now.
        given: u32,
    },
    /// Long captions of few different words.
    #[error("candidate at position {candidate}, reference {reference} of its image: {}", match_limits())]
    TooManyMatches {
        /// The position of the candidate.
        candidate: usize,
        /// Which reference of the image, from 0.
        reference: usize,
    },
    /// More words than 32-bit positions can count.
    #[error("captions hold more than {limit} {what} in all")]
    TooLarge {
        /// What was counted.
        what: &'static str,
        /// The limit.
        limit: u32,
    },
}

/// What METEOR's captions must be like, and what was found instead.
#[must_use]
pub fn match_limits() -> String {
    format!(
        "METEOR compares captions of at most {MAX_MATCHES} possible matches of words, whose distances sum to \
         at most {MAX_DISTANCE} (got more: few different words repeat in two long captions)"
    )
}

impl MeteorError {
    pub(crate) fn option(name: &'static str, expected: &'static str, found: impl Display) -> Self {
        Self::Option { name, expected, found: found.to_string() }
    }
}
