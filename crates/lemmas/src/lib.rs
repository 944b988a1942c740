//! Lemmas of English words by their part-of-speech tags.
//!
//! The rules are those of Morpha (Minnen, Carroll and Pearce) as Stanford CoreNLP ships them: a
//! generated lexer that reads `word_TAG`. They are no part of this crate: [`Tables`] holds the
//! lexer's tables and actions, read elsewhere from the user's copy, and [`Lemmatizer`] runs them.

mod lemmatizer;
mod scanner;
mod sections;
mod tables;

pub use lemmatizer::Lemmatizer;
pub use sections::{Sections, SectionsError};
pub use tables::{Action, LexerRules, NumberError, Rule, Tables, TokenEnd};

#[cfg(test)]
mod tests;
