//! Statistics of a segment, and the score of one or of a sum of them.

use crate::options::{Options, STAGES};

/// What METEOR counts in one segment, as numbers that add up over a corpus.
///
/// The 23 numbers stand in the order of METEOR's statistics line: length of candidate and
/// reference, their function words, then for each stage the matched content words of candidate and
/// reference and the matched function words of candidate and reference, then chunks, then all
/// matched words of candidate and reference.
///
/// A segment that matches in full in one chunk has no fragmentation; METEOR's line shows its chunk
/// but leaves it out of sums. Here it is left out from the start, unless
/// [`Options::penalize_perfect`] asks for it, so that plain addition gives METEOR's sums.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics(pub [f64; Self::LEN]);

impl Statistics {
    /// Numbers in a row.
    pub const LEN: usize = 7 + 4 * STAGES;

    /// Add another row.
    pub fn add(&mut self, other: &Self) {
        for (sum, number) in self.0.iter_mut().zip(&other.0) {
            *sum += number;
        }
    }

    /// Candidate or reference (0 or 1): words, function words.
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

    /// Whether every word is matched, in one chunk.
    pub(crate) fn is_perfect(&self) -> bool {
        self.0[Self::CHUNKS] == 1.0 && (0..2).all(|side| self.matched(side) == self.0[side])
    }
}

/// What a score is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// Weighted precision; NaN for an empty candidate.
    pub precision: f64,
    /// Weighted recall; NaN for an empty reference.
    pub recall: f64,
    /// Harmonic mean of precision and recall, weighted by alpha; 0 without matches, NaN for an empty
    /// candidate or reference.
    pub f_mean: f64,
    /// Fragmentation penalty; NaN without matches.
    pub penalty: f64,
    /// The score, 0 to 1; 0 without matches.
    pub score: f64,
}

/// Score of one row or of a sum of rows, 0 to 1.
#[must_use]
pub fn score(statistics: &Statistics, options: &Options) -> f64 {
    parts(statistics, options).score
}

/// The score and what it is made of.
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
    let penalty = options.gamma * fragmentation.powf(options.beta);
    let score = f_mean * (1.0 - penalty);
    // max() also turns the NaN of a segment without matches into 0.
    Parts { precision, recall, f_mean, penalty, score: score.max(0.0) }
}

fn weighted_length(statistics: &Statistics, options: &Options, side: usize) -> f64 {
    let (words, function_words) = statistics.length(side);
    options.delta * (words - function_words) + (1.0 - options.delta) * function_words
}

/// Summed in METEOR's order, content words of all stages before function words, since sums of
/// floating-point numbers depend on it.
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
