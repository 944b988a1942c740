//! Errors of files, with their place.

use std::error::Error;
use std::fmt;

macro_rules! kinds {
    ($($(#[$comment:meta])* $name:ident,)*) => {
        /// What is wrong with a file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ReadErrorKind {
            $($(#[$comment])* $name,)*
        }

        impl ReadErrorKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name of the kind.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

kinds! {
    /// Nothing but white space.
    EmptyFile,
    /// UTF-16 or UTF-32 instead of UTF-8.
    Utf16,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// A gzip or zip file instead of what is in it.
    Compressed,
    /// Not JSON.
    NotJson,
    /// `NaN`, `Infinity` or `-Infinity`, which Python writes and reads but JSON does not have, where something
    /// is read.
    NotANumber,
    /// The file, or a line of JSON lines, ends before the JSON does.
    Truncated,
    /// More than 127 lists and objects inside each other.
    TooDeep,
    /// An image id that does not fit in 64 bits, or a number elsewhere beyond the range of floats.
    NumberTooLarge,
    /// A `\ud800` to `\udfff` escape without its other half: no character.
    LoneSurrogate,
    /// A value of another type than expected.
    WrongType,
    /// A field that must be there is not.
    MissingField,
    /// A key stands twice in an object, or captions stand under two keys of one entry.
    DuplicateKey,
    /// An image stands twice where it may stand once.
    DuplicateImage,
    /// Some image ids are integers and some are strings.
    MixedIds,
    /// An image without references.
    NoReferences,
    /// An image with several captions where it may have one.
    SeveralCaptions,
    /// An annotation of an image that `images` does not list.
    UnknownImage,
    /// No caption in the whole file.
    NoCaptions,
}

/// The entry that is wrong, and the field of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The entry, such as `annotations[17]`, `entries[17]` (of a list at the top level),
    /// `line 3` (of JSON lines) or `"391895"[2]` (of a mapping). Indices count from 0, lines from 1.
    pub entry: String,
    /// The field in the entry, such as `caption`.
    pub field: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.entry)?;
        let Some(field) = &self.field else {
            return Ok(());
        };
        let joint = if self.entry.starts_with("line ") { ": " } else { "." };
        write!(f, "{joint}{field}")
    }
}

/// A position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The byte in the file, from 0.
    pub byte: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// What is wrong.
    pub kind: ReadErrorKind,
    /// The entry that is wrong, when one is.
    pub place: Option<Place>,
    /// The position, when it is the text of the file that is wrong rather than a value in it.
    pub position: Option<Position>,
    /// One line saying what was expected, what was found and where.
    pub message: String,
}

impl ReadError {
    /// An error of the file as a whole.
    pub(crate) fn of_file(kind: ReadErrorKind, message: impl Into<String>) -> ReadError {
        ReadError { kind, place: None, position: None, message: message.into() }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ReadError {}
