//! Errors of the tables, their sources, and the caller's input.

use std::fmt::Display;

use capeval_tables::TableError;

use crate::search::{MAX_DISTANCE, MAX_MATCHES};

/// A text source of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `synonym/english.synsets`: alternating lines of a lemma and its synset numbers.
    Synsets,
    /// `synonym/english.exceptions`: alternating lines of a base form and its irregular forms.
    Exceptions,
    /// `function/english.words`: one function word per line.
    FunctionWords,
    /// `nonbreaking/english.prefixes`: words that keep a final period.
    Prefixes,
    /// `paraphrase-en.gz`: probability, phrase and paraphrase on three lines.
    Paraphrases,
}

impl Source {
    /// Returns the name of the file in the METEOR 1.5 distribution.
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

/// Error of compiling the sources.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// A source cannot be read or decompressed.
    #[error("{origin}, line {line}: cannot read the file: {error}")]
    Read {
        /// The source.
        origin: Source,
        /// The line at which reading stopped, from 1.
        line: u64,
        /// The error of the reader.
        error: std::io::Error,
    },
    /// A line of a source is invalid.
    #[error("{origin}, line {line}: expected {expected}, found {found:?}")]
    Line {
        /// The source.
        origin: Source,
        /// The line, from 1.
        line: u64,
        /// Description of the expected line.
        expected: &'static str,
        /// The line, or its invalid part.
        found: String,
    },
    /// A source has no entries.
    #[error("{0}: expected at least one entry, found none")]
    Empty(Source),
    /// The sources have more entries than the format supports.
    #[error("too many {0}: the table format numbers them with 31 bits")]
    TooLarge(&'static str),
    /// The progress callback stopped the compilation.
    #[error("stopped before the tables were complete")]
    Stopped,
}

/// Error of scoring.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeteorError {
    /// The tables are damaged.
    #[error(transparent)]
    Table(#[from] TableError),
    /// An option is out of range.
    #[error("option {name:?} must be {expected} (got {found})")]
    Option {
        /// Name of the option.
        name: &'static str,
        /// Description of the allowed values.
        expected: &'static str,
        /// Value of the option.
        found: String,
    },
    /// An image has no references.
    #[error("image {image}: expected at least one reference, found none")]
    NoReferences {
        /// Index of the image.
        image: usize,
    },
    /// A candidate's image is not among the prepared references.
    #[error("candidate {candidate}: expected an image from 0 to {images} (exclusive), found {image}")]
    UnknownImage {
        /// Index of the candidate.
        candidate: usize,
        /// Image of the candidate.
        image: usize,
        /// Number of prepared images.
        images: usize,
    },
    /// The references were prepared with other tables.
    #[error("the references were prepared with table {prepared:08x}, but scoring uses table {given:08x}")]
    OtherTables {
        /// Checksum of the tables used to prepare the references.
        prepared: u32,
        /// Checksum of the given tables.
        given: u32,
    },
    /// Two long captions with few distinct words have too many possible matches.
    #[error("candidate {candidate}, reference {reference} of its image: {}", match_limits())]
    TooManyMatches {
        /// Index of the candidate.
        candidate: usize,
        /// Index of the reference in its image, from 0.
        reference: usize,
    },
    /// The captions have more words or phrases than 32-bit indices can count.
    #[error("the captions have more than {limit} {what} in total")]
    TooLarge {
        /// Name of the counted items.
        what: &'static str,
        /// The limit.
        limit: u32,
    },
}

/// Describes METEOR's limits on captions, for error messages.
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
