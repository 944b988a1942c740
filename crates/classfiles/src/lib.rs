//! Reads lists and rules out of Java class files, without Java.
//!
//! SPICE's reference keeps its rules in code: patterns, word lists and tables are arguments of
//! constructors and fields of classes. They are no part of this project. [`Reference::read`] takes
//! them from the user's own jars, which are pinned by SHA-256: it parses the class files and
//! evaluates their static initializers as far as they make lists and strings. It is no Java
//! machine: code that it does not know is an error.

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
