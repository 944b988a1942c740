//! METEOR 1.5 for English without Java, with the same results as the Java program.
//!
//! A candidate is aligned word by word with each reference, by identical words, stems, synonyms and
//! paraphrases. The score is the weighted harmonic mean of the precision and recall of matched words, reduced
//! by a penalty for matches in many chunks. The score of an image is that of its best reference. The score of
//! a corpus is computed from the summed [`Statistics`].
//!
//! The words come from [`Tables`], compiled once by [`compile()`] from METEOR's own sources:
//!
//! ```
//! use capeval_meteor::{Language, Options, PreparedReferences, Sources, Stage, Tables, WeightedStage, compile};
//! use capeval_tokens::{Candidates, References, Tokenization};
//!
//! let file = compile(
//!     Sources {
//!         synsets: &mut "bike\n1\nbicycle\n1\n".as_bytes(),
//!         exceptions: &mut "ride\nrode ridden\n".as_bytes(),
//!         function_words: &mut "a\nthe\n".as_bytes(),
//!         prefixes: &mut "Mr\n".as_bytes(),
//!         paraphrases: &mut "0.5\non top of\nupon\n".as_bytes(),
//!     },
//!     &mut |_pairs| std::ops::ControlFlow::Continue(()),
//! )?;
//! let tables = Tables::open(file)?;
//! let options = Options {
//!     language: Language::English,
//!     stages: Stage::ALL.map(|stage| WeightedStage { stage, weight: 1.0 }).into(),
//!     alpha: 0.85,
//!     beta: 0.2,
//!     gamma: 0.6,
//!     delta: 0.75,
//!     beam_size: 40,
//!     normalize: true,
//!     penalize_perfect: false,
//! };
//! let references = References::new(&["a man upon a bicycle"], vec![0, 1], Tokenization::None);
//! let candidates = Candidates::new(&references, &["a man on top of a bike"], vec![0], Tokenization::None);
//! let prepared = PreparedReferences::new(&tables, &options, &references)?;
//! assert!(prepared.score(&tables, &candidates)?[0].score > 0.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: M. Denkowski and A. Lavie, "Meteor Universal", WMT 2014, and the behavior of
//! `java -jar meteor-1.5.jar - - -stdio -l en -norm` as pycocoevalcap 1.2 runs it.

mod alignment;
mod captions;
mod compile;
mod error;
mod index;
mod language;
mod morphology;
mod normalize;
mod options;
mod prepared;
mod score;
mod scorer;
mod search;
mod tables;
mod words;

pub use alignment::{AlignedMatch, Alignment, align};
pub use compile::{Progress, Sources, compile, compile_synonyms};
pub use error::{CompileError, MeteorError, Source, match_limits};
pub use language::Language;
pub use options::{Options, Stage, WeightedStage};
pub use prepared::PreparedReferences;
pub use score::{Parts, Statistics, parts, score};
pub use scorer::Segment;
pub use tables::{Synonyms, Tables};

#[cfg(test)]
mod tests;
