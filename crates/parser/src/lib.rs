//! An exact and fast parser with CoreNLP 3.6.0's English grammar, without Java.
//!
//! [`Source::from_jar`] reads the grammar from the models jar of its authors, [`compile()`] converts it to a
//! table file once, [`Model::open`] opens that file, and a [`Parser`] parses tokenized sentences into trees
//! with tags. Trees and scores are identical to those of CoreNLP's `englishPCFG` parser, to the last bit of
//! the score.

mod batch;
mod budget;
mod cells;
mod compile;
mod error;
mod extract;
mod grammar;
mod java;
mod lanes;
mod layout;
mod lexicon;
mod model;
mod names;
mod order;
mod parser;
mod sentence;
mod sentence_rules;
mod signature;
mod source;
mod spelling;
mod tree;
mod unaries;

pub use compile::{Compiled, KIND, compile};
pub use error::{ModelError, ParseError};
pub use model::Model;
pub use parser::{DEFAULT_LIMIT, Parser, Progress};
pub use source::{BinaryRule, Count, MODEL_ENTRY, MODEL_ENTRY_SHA256, Source, UnaryRule};
pub use tree::{Node, Parse};
