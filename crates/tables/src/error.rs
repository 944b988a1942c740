//! Errors of table files.

/// A table file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The bytes do not start with the mark of a table file.
    #[error("expected a file of {kind} tables, found bytes that do not start with the mark of a table file")]
    NotATable {
        /// The kind that was asked for.
        kind: &'static str,
    },
    /// A table file of another kind.
    #[error("expected a file of {expected} tables, found {found:?} tables")]
    OtherKind {
        /// The kind that was asked for.
        expected: &'static str,
        /// The kind that the file names.
        found: String,
    },
    /// Another version of the format or of the kind.
    #[error("expected version {expected} of the {part}, found version {found}")]
    Version {
        /// The table file format, or the kind of tables.
        part: String,
        /// The version this build reads.
        expected: u32,
        /// The version in the file.
        found: u32,
    },
    /// The file is shorter or longer than its header says.
    #[error("expected {kind} tables of {expected} bytes, found {found} bytes")]
    Length {
        /// The kind of tables.
        kind: &'static str,
        /// Bytes according to the header.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// A checksum differs.
    #[error(
        "the {part} of the {kind} tables is damaged: expected checksum {expected:08x}, found {found:08x}"
    )]
    Checksum {
        /// The kind of tables.
        kind: &'static str,
        /// Header or body.
        part: &'static str,
        /// Checksum in the file.
        expected: u32,
        /// Checksum of the bytes.
        found: u32,
    },
    /// The bytes do not start at an address that numbers can be read from.
    #[error("the bytes of the {kind} tables must start at a multiple of 8 in memory")]
    Misaligned {
        /// The kind of tables.
        kind: &'static str,
    },
    /// A section is not there.
    #[error("expected a section {section:?} in the {kind} tables, found none")]
    NoSection {
        /// The kind of tables.
        kind: &'static str,
        /// The section that was asked for.
        section: &'static str,
    },
    /// A section holds numbers of another type.
    #[error("expected {expected} numbers in section {section:?} of the {kind} tables, found {found}")]
    ElementType {
        /// The kind of tables.
        kind: &'static str,
        /// The section that was asked for.
        section: &'static str,
        /// The type that was asked for.
        expected: &'static str,
        /// The type in the file.
        found: &'static str,
    },
    /// An entry of the section directory points outside of the file.
    #[error("section {section:?} of the {kind} tables lies outside of the file")]
    OutsideFile {
        /// The kind of tables.
        kind: &'static str,
        /// The name of the section in the file.
        section: String,
    },
    /// A number in the tables points outside of a section, or a section has an impossible length.
    #[error("the {kind} tables are damaged in section {section:?}: entry {entry} is out of bounds")]
    OutOfBounds {
        /// The kind of tables.
        kind: &'static str,
        /// The section that was read.
        section: &'static str,
        /// The entry that was asked for.
        entry: usize,
    },
}
