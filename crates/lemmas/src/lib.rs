//! Lemmas of English words by part-of-speech tag.
//!
//! The rules are Morpha's (Minnen, Carroll and Pearce) as shipped with Stanford CoreNLP: a generated lexer
//! that reads `word_TAG`. They are not part of this crate. [`Tables`] holds the lexer's tables and actions,
//! extracted from the user's copy, and [`Lemmatizer`] runs them.

mod lemmatizer;
mod scanner;
mod sections;
mod tables;

pub use lemmatizer::Lemmatizer;
pub use sections::{Sections, SectionsError};
pub use tables::{Action, LexerRules, NumberError, Rule, Tables, TokenEnd};

#[cfg(test)]
mod tests;
