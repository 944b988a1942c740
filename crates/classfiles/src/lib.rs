//! Reads lists and rules from Java class files, without Java.
//!
//! SPICE's reference implementation keeps its rules in code: patterns, word lists and tables are constructor
//! arguments and class fields. They are not part of this project. [`Reference::read`] extracts them from the
//! user's own jars, which are pinned by SHA-256. It parses the class files and evaluates their static
//! initializers as far as these create lists and strings. It is not a Java virtual machine: unsupported code
//! is an error.

mod bytes;
mod class;
mod error;
mod evaluate;
mod frame;
mod instruction;
mod jar;
mod library;
mod model;
mod morphology;
mod reference;
mod value;

pub use error::Error;
pub use jar::Jar;
pub use model::{ModelCompileError, compile_model};
pub use reference::{Jars, Reference};
