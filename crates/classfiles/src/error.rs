//! What can be wrong with a jar or its classes.

/// Why a jar could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is not the pinned one.
    #[error("{jar} must have the SHA-256 {expected}, but has {found}")]
    WrongFile {
        /// Which jar was expected.
        jar: String,
        /// The pinned sum.
        expected: String,
        /// The sum of the file.
        found: String,
    },
    /// The file is not a readable zip archive.
    #[error("a jar must be a zip archive: {0}")]
    Archive(String),
    /// A class that is needed is in none of the jars.
    #[error("class {0} is in none of the jars")]
    MissingClass(String),
    /// A class file ends too early.
    #[error("a class file ends too early, at byte {position}")]
    Cut {
        /// Where more bytes were expected.
        position: usize,
    },
    /// A class file breaks the format.
    #[error("{class} is not a class file that can be read: {problem}")]
    Format {
        /// Which class.
        class: String,
        /// What is wrong.
        problem: String,
    },
    /// The code does something that the evaluator does not know.
    #[error("{class}.{method} at byte {position}: {problem}")]
    Unknown {
        /// Which class.
        class: String,
        /// Which method.
        method: String,
        /// The byte of the instruction in the method's code.
        position: usize,
        /// What the evaluator met.
        problem: String,
    },
    /// A value has another form than expected.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// Which value, by class and field.
        what: String,
        /// The form that was expected.
        expected: &'static str,
        /// The form that was found.
        found: String,
    },
}
