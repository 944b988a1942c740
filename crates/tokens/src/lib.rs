//! Tokenized captions as rows of word ids.
//!
//! Captions are tokenized and their words numbered once. All metrics then work on the same `u32` word ids.
//! This crate has no I/O and no Python code.

mod captions;
mod rows;
mod tokenization;
mod vocabulary;

pub use capeval_ptb::is_python_space;
pub use captions::{Candidates, References, Replaced};
pub use rows::TokenRows;
pub use tokenization::{Tokenization, tokenize_all, tokenize_lines};
pub use vocabulary::Vocabulary;
