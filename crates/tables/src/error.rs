//! Errors of table files.

/// Error of using a table file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The bytes do not start with the magic bytes of a table file.
    #[error("expected a file of {kind} tables, but the file has another format")]
    NotATable {
        /// The requested kind.
        kind: &'static str,
    },
    /// The table file is of another kind.
    #[error("expected a file of {expected} tables, found {found:?} tables")]
    OtherKind {
        /// The requested kind.
        expected: &'static str,
        /// The kind of the file.
        found: String,
    },
    /// The version of the format or of the kind is not supported.
    #[error("expected version {expected} of the {part}, found version {found}")]
    Version {
        /// The table file format, or the kind of tables.
        part: String,
        /// The supported version.
        expected: u32,
        /// The version of the file.
        found: u32,
    },
    /// The file is shorter or longer than its header says.
    #[error("expected {kind} tables of {expected} bytes, found {found} bytes")]
    Length {
        /// The kind of tables.
        kind: &'static str,
        /// Length in the header, in bytes.
        expected: u64,
        /// Actual length in bytes.
        found: u64,
    },
    /// A checksum is wrong.
    #[error(
        "the {part} of the {kind} tables is damaged: expected checksum {expected:08x}, found {found:08x}"
    )]
    Checksum {
        /// The kind of tables.
        kind: &'static str,
        /// Header or body.
        part: &'static str,
        /// The checksum in the file.
        expected: u32,
        /// The checksum of the bytes.
        found: u32,
    },
    /// The bytes are not aligned for reading numbers.
    #[error("the bytes of the {kind} tables must start at a multiple of 8 in memory")]
    Misaligned {
        /// The kind of tables.
        kind: &'static str,
    },
    /// A section is missing.
    #[error("expected a section {section:?} in the {kind} tables, found none")]
    NoSection {
        /// The kind of tables.
        kind: &'static str,
        /// The requested section.
        section: &'static str,
    },
    /// A section contains numbers of another type.
    #[error("expected {expected} numbers in section {section:?} of the {kind} tables, found {found}")]
    ElementType {
        /// The kind of tables.
        kind: &'static str,
        /// The requested section.
        section: &'static str,
        /// The requested type.
        expected: &'static str,
        /// The type in the file.
        found: &'static str,
    },
    /// A section extends beyond the end of the file.
    #[error("section {section:?} of the {kind} tables lies outside of the file")]
    OutsideFile {
        /// The kind of tables.
        kind: &'static str,
        /// Name of the section in the file.
        section: String,
    },
    /// A number in the tables is out of range for its section, or a section has an invalid length.
    #[error("the {kind} tables are damaged in section {section:?}: entry {entry} is out of bounds")]
    OutOfBounds {
        /// The kind of tables.
        kind: &'static str,
        /// The section that was read.
        section: &'static str,
        /// The requested entry.
        entry: usize,
    },
}
