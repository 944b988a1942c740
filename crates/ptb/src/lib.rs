//! The Penn Treebank tokenizer that published image-caption scores are computed on.
//!
//! It gives, token for token, what the Stanford tokenizer of CoreNLP 3.4.1 gives for a line
//! of text, and what the reference evaluation code makes of that.
//!
//! ```
//! use capeval_ptb::{tokenize, Options};
//!
//! let tokens = tokenize("A dog can't catch the \"frisbee\".", &Options::default());
//! assert_eq!(tokens, ["a", "dog", "ca", "n't", "catch", "the", "frisbee"]);
//! ```

mod automaton;
mod letters;
mod lexer;
mod lowercase;
mod normalise;
mod pattern;
mod release;
mod rules;
mod runs;
mod sentences;
mod symbols;
mod tokenizer;

pub use lowercase::lowercase;
pub use release::Release;
pub use sentences::sentences;
pub use tokenizer::{Options, Punctuation, Tokenizer, tokenize};
