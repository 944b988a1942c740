//! Statistics of segments, and scores of one segment or of a sum.

use pxfm::f_pow;

use crate::options::{Options, STAGES};

/// METEOR's counts in one segment, which are additive over a corpus.
///
/// The 23 numbers are in the order of METEOR's statistics line: lengths of candidate and reference, their
/// function words, then for each stage the matched content words of candidate and reference and the matched
/// function words of candidate and reference, then chunks, then all matched words of candidate and reference.
///
/// A segment that matches completely in one chunk has no fragmentation. METEOR shows its chunk in the line
/// but omits it from sums. Here it is always omitted (unless [`Options::penalize_perfect`] is set), so that
/// plain addition gives METEOR's sums.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics(pub [f64; Self::LEN]);

impl Statistics {
    /// Length of a row.
    pub const LEN: usize = 7 + 4 * STAGES;

    /// Adds another row.
    pub fn add(&mut self, other: &Self) {
        for (sum, number) in self.0.iter_mut().zip(&other.0) {
            *sum += number;
        }
    }

    /// Returns the numbers of words and function words of the candidate (0) or the reference (1).
    fn length(&self, side: usize) -> (f64, f64) {
        (self.0[side], self.0[2 + side])
    }

    fn content(&self, stage: usize, side: usize) -> f64 {
        self.0[4 + 4 * stage + side]
    }

    fn function(&self, stage: usize, side: usize) -> f64 {
        self.0[6 + 4 * stage + side]
    }

    pub(crate) const CHUNKS: usize = 4 + 4 * STAGES;

    fn matched(&self, side: usize) -> f64 {
        (0..STAGES).map(|stage| self.content(stage, side) + self.function(stage, side)).sum()
    }

    /// Returns whether every word is matched, in one chunk.
    pub(crate) fn is_perfect(&self) -> bool {
        self.0[Self::CHUNKS] == 1.0 && (0..2).all(|side| self.matched(side) == self.0[side])
    }
}

/// Components of a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// Weighted precision. NaN for an empty candidate.
    pub precision: f64,
    /// Weighted recall. NaN for an empty reference.
    pub recall: f64,
    /// Harmonic mean of precision and recall, weighted by alpha.
    ///
    /// 0 without matches, NaN for an empty candidate or reference.
    pub f_mean: f64,
    /// Fragmentation penalty. NaN without matches.
    pub penalty: f64,
    /// The score, 0 to 1. 0 without matches.
    pub score: f64,
}

/// Returns the score of one row or of a sum of rows, 0 to 1.
#[must_use]
pub fn score(statistics: &Statistics, options: &Options) -> f64 {
    parts(statistics, options).score
}

/// Returns the score and its components.
#[must_use]
pub fn parts(statistics: &Statistics, options: &Options) -> Parts {
    let weights = options.weights();
    let rate = |side| {
        weighted_matches(statistics, options, &weights, side) / weighted_length(statistics, options, side)
    };
    let (precision, recall) = (rate(0), rate(1));
    let f_mean = 1.0 / ((1.0 - options.alpha) / precision + options.alpha / recall);
    let matched = (statistics.0[Statistics::CHUNKS + 1] + statistics.0[Statistics::CHUNKS + 2]) / 2.0;
    let whole = statistics.is_perfect() && !options.penalize_perfect;
    let fragmentation = if whole { 0.0 } else { statistics.0[Statistics::CHUNKS] / matched };
    let penalty = options.gamma * f_pow(fragmentation, options.beta);
    let score = f_mean * (1.0 - penalty);
    // max() also replaces the NaN of a segment without matches by 0.
    Parts { precision, recall, f_mean, penalty, score: score.max(0.0) }
}

fn weighted_length(statistics: &Statistics, options: &Options, side: usize) -> f64 {
    let (words, function_words) = statistics.length(side);
    options.delta * (words - function_words) + (1.0 - options.delta) * function_words
}

/// Sums in METEOR's order (content words of all stages before function words), because floating-point sums
/// depend on it.
fn weighted_matches(statistics: &Statistics, options: &Options, weights: &[f64; STAGES], side: usize) -> f64 {
    let mut sum = 0.0;
    for (stage, weight) in weights.iter().enumerate() {
        sum += statistics.content(stage, side) * weight * options.delta;
    }
    for (stage, weight) in weights.iter().enumerate() {
        sum += statistics.function(stage, side) * weight * (1.0 - options.delta);
    }
    sum
}
