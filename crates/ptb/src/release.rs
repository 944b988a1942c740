//! Releases of the reference tokenizer.

/// A release of CoreNLP whose tokenizer is reproduced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// The release used to compute caption scores. Every caption is a line.
    #[default]
    V3_4_1,
    /// The release used by SPICE to parse captions. Every caption is a separate text.
    V3_6_0,
}
