//! The Penn Treebank tokenizer used for published image-captioning scores.
//!
//! It produces the tokens of the Stanford tokenizer in CoreNLP 3.4.1 for a line of text, without the tokens
//! that the reference evaluation code drops. [`Release::V3_6_0`] produces those of CoreNLP 3.6.0.
//!
//! ```
//! use capeval_ptb::{tokenize, Options};
//!
//! let tokens = tokenize("A dog can't catch the \"frisbee\".", &Options::default());
//! assert_eq!(tokens, ["a", "dog", "ca", "n't", "catch", "the", "frisbee"]);
//! ```

mod automaton;
mod file;
mod letters;
mod lexer;
mod lowercase;
mod normalize;
mod pattern;
mod release;
mod rules;
mod runs;
mod sentences;
mod symbols;
mod token;
mod tokenizer;

pub use lowercase::lowercase;
pub use release::Release;
pub use sentences::sentences;
pub use token::{Short, Token};
pub use tokenizer::{Options, Punctuation, Tokenizer, is_python_space, tokenize};
