//! Captions as rows of words that are numbers.
//!
//! Captions are tokenized and their words numbered once; every metric then works on the same `u32`
//! words. No I/O and no Python here.

mod captions;
mod rows;
mod tokenization;
mod vocabulary;

pub use capeval_ptb::is_python_space;
pub use captions::{Candidates, References, Replaced};
pub use rows::TokenRows;
pub use tokenization::{Tokenization, tokenize_all, tokenize_lines};
pub use vocabulary::Vocabulary;
