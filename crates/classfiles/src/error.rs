//! Errors of jars and classes.

/// Error of reading a jar.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file's checksum differs from the pinned one.
    #[error("{jar} must have the SHA-256 {expected}, but has {found}")]
    WrongFile {
        /// Name of the expected jar.
        jar: String,
        /// The pinned SHA-256.
        expected: String,
        /// SHA-256 of the file.
        found: String,
    },
    /// The file is not a readable zip archive.
    #[error("a jar must be a zip archive: {0}")]
    Archive(String),
    /// A required class is missing from all jars.
    #[error("class {0} is in none of the jars")]
    MissingClass(String),
    /// A class file is truncated.
    #[error("a class file is truncated at byte {position}")]
    Cut {
        /// Position of the missing bytes.
        position: usize,
    },
    /// A class file is invalid.
    #[error("cannot read the class file {class}: {problem}")]
    Format {
        /// Name of the class.
        class: String,
        /// Description of the problem.
        problem: String,
    },
    /// The code uses a feature that the evaluator does not support.
    #[error("{class}.{method} at byte {position}: {problem}")]
    Unknown {
        /// Name of the class.
        class: String,
        /// Name of the method.
        method: String,
        /// Byte offset of the instruction in the method's code.
        position: usize,
        /// Description of the unsupported feature.
        problem: String,
    },
    /// A value has an unexpected form.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// Class and field of the value.
        what: String,
        /// The expected form.
        expected: &'static str,
        /// The form found.
        found: String,
    },
}
