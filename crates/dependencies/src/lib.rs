//! From the tree of a sentence to its typed dependencies, as CoreNLP 3.6.0 makes them.

pub mod processed;
