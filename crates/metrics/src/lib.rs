//! Caption metrics over word ids.
//!
//! Captions are tokenized and their words numbered once ([`capeval_tokens`]). Each metric works on these
//! `u32` ids and returns one fixed-size row of statistics per candidate. A corpus score needs only the sum of
//! the rows over images. This crate has no I/O and no Python code.

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

/// Maximum n-gram order of all metrics (the papers use one to four words).
pub const MAX_ORDER: usize = 4;

/// Returns the stem of a word by the English Snowball stemmer.
pub fn stem(word: &str) -> String {
    rust_stemmers::Stemmer::create(rust_stemmers::Algorithm::English).stem(word).into_owned()
}
