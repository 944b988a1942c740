//! Releases of the reference's tokenizer.

/// A release of CoreNLP whose tokenizer can be repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// The release that scores of captions are computed with. Every caption is a line.
    #[default]
    V3_4_1,
    /// The release that SPICE parses captions with. Every caption is a text of its own.
    V3_6_0,
}
