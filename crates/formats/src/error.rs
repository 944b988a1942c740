//! File errors with the entry, the field and the position in the file.

use std::error::Error;
use std::fmt;

macro_rules! kinds {
    ($($(#[$comment:meta])* $name:ident,)*) => {
        /// Kind of an error in a file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ReadErrorKind {
            $($(#[$comment])* $name,)*
        }

        impl ReadErrorKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the name of the kind.
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
    /// The file is empty or has only white space.
    EmptyFile,
    /// UTF-16 or UTF-32 instead of UTF-8.
    Utf16,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// A gzip or zip file instead of its content.
    Compressed,
    /// Not JSON.
    NotJson,
    /// `NaN`, `Infinity` or `-Infinity` in a field that is read.
    ///
    /// Python writes and reads them, but they are not JSON.
    NotANumber,
    /// The file, or a line of a JSON Lines file, ends before its JSON does.
    Truncated,
    /// More than 127 nested lists and objects.
    TooDeep,
    /// An image id beyond 64 bits, or another number beyond the range of floats.
    NumberTooLarge,
    /// An escape from `\ud800` to `\udfff` without its other half, which encodes no character.
    LoneSurrogate,
    /// A value of the wrong type.
    WrongType,
    /// A required field is missing.
    MissingField,
    /// A key is repeated in an object, or an entry has captions under two keys.
    DuplicateKey,
    /// An image is repeated in a file that may have it only once.
    DuplicateImage,
    /// Some image ids are integers and some are strings.
    MixedIds,
    /// An image without references.
    NoReferences,
    /// Several captions for an image that may have only one.
    SeveralCaptions,
    /// An annotation of an image that `images` does not list.
    UnknownImage,
    /// The file has no captions.
    NoCaptions,
}

/// The entry and field that an error refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The entry, such as `annotations[17]`, `entries[17]` (in a top-level list), `line 3` (in JSON Lines) or
    /// `"391895"[2]` (in a mapping).
    ///
    /// Indices start at 0, lines at 1.
    pub entry: String,
    /// The field of the entry, such as `caption`.
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

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Character in the line, from 1.
    pub column: usize,
    /// Byte in the file, from 0.
    pub byte: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// Error of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Kind of the error.
    pub kind: ReadErrorKind,
    /// The invalid entry, if any.
    pub place: Option<Place>,
    /// Position of invalid text. `None` if the text is valid but a value in it is not.
    pub position: Option<Position>,
    /// One-line message with the expected value, the actual value and the place.
    pub message: String,
}

impl ReadError {
    /// Creates an error of the whole file.
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
