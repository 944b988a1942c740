//! Caption metrics over interned tokens.
//!
//! Captions are tokenized and interned once ([`capeval_tokens`]); every metric then works on the
//! same `u32` words and returns, for each candidate, a fixed row of numbers whose sum over images is
//! all that a corpus score needs. No I/O and no Python here.

pub mod bleu;
pub mod cider;
mod counting;
mod distinct;
pub mod frequencies;
mod levels;
mod ngrams;
mod norms;
pub mod partial;
pub mod rouge;
mod rows;

/// The longest n-grams that any metric counts (the papers use one to four words).
pub const MAX_ORDER: usize = 4;

/// The stem of a word by the Snowball stemmer for English.
pub fn stem(word: &str) -> String {
    rust_stemmers::Stemmer::create(rust_stemmers::Algorithm::English).stem(word).into_owned()
}
