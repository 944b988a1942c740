//! Alignments as data, for display and analysis.

use capeval_tokens::{Candidates, References, Tokenization};

use crate::error::MeteorError;
use crate::options::{Options, Stage};
use crate::prepared::PreparedReferences;
use crate::score::{Parts, Statistics, parts};
use crate::scorer::statistics;
use crate::search::count_chunks;
use crate::tables::Tables;

/// Words of the candidate matched with words of the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlignedMatch {
    /// First matched word of the candidate.
    pub candidate_start: usize,
    /// Number of matched words of the candidate.
    pub candidate_len: usize,
    /// First matched word of the reference.
    pub reference_start: usize,
    /// Number of matched words of the reference.
    pub reference_len: usize,
    /// Stage of the match.
    pub stage: Stage,
    /// Weight of the matched words, from the options.
    pub weight: f64,
}

/// The best alignment of a candidate with a reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    /// Words of the candidate after normalization.
    pub candidate: Vec<String>,
    /// Words of the reference after normalization.
    pub reference: Vec<String>,
    /// Matches in the order of the reference.
    pub matches: Vec<AlignedMatch>,
    /// Number of chunks: runs of matches that are contiguous and in the same order on both sides.
    pub chunks: usize,
    /// The counts from which the score is computed.
    pub statistics: Statistics,
    /// The score and its components.
    pub parts: Parts,
}

/// Aligns a candidate with one reference. Both are tokens joined by single spaces.
///
/// # Errors
/// Returns a [`MeteorError`] if an option is out of range, the tables are damaged, or there are too many
/// possible matches.
pub fn align<B: AsRef<[u8]> + Sync>(
    tables: &Tables<B>,
    options: &Options,
    candidate: &str,
    reference: &str,
) -> Result<Alignment, MeteorError> {
    let references = References::new(&[reference], vec![0, 1], Tokenization::None);
    let candidates = Candidates::new(&references, &[candidate], vec![0], Tokenization::None);
    let prepared = PreparedReferences::new(tables, options, &references)?;
    let (candidates, chosen) = prepared.align(tables, &candidates)?;
    let references = prepared.captions();
    let statistics = statistics(&candidates, 0, references, 0, &chosen, options);
    let weights = options.weights();
    let matches = chosen.iter().map(|found| AlignedMatch {
        candidate_start: found.candidate as usize,
        candidate_len: found.candidate_len as usize,
        reference_start: found.reference as usize,
        reference_len: found.reference_len as usize,
        stage: Stage::ALL[usize::from(found.stage)],
        weight: weights[usize::from(found.stage)],
    });
    Ok(Alignment {
        candidate: candidates.texts(0).map(str::to_owned).collect(),
        reference: references.texts(0).map(str::to_owned).collect(),
        matches: matches.collect(),
        chunks: count_chunks(&chosen),
        statistics,
        parts: parts(&statistics, options),
    })
}
