//! BLEU (Papineni et al. 2002) for image captioning.

use crate::MAX_ORDER;
use crate::ngrams::{NgramTree, possible};
use crate::rows::fill_rows;
use capeval_tokens::{Candidates, References};

/// Reference length used in the brevity penalty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceLength {
    /// The length closest to the candidate's, or the shorter of two equally close ones.
    Closest,
    /// The shortest length.
    Shortest,
    /// The mean length.
    Average,
}

impl ReferenceLength {
    fn of(self, candidate: usize, references: impl Iterator<Item = usize> + Clone) -> f64 {
        let chosen = match self {
            Self::Closest => references.min_by_key(|&length| (length.abs_diff(candidate), length)),
            Self::Shortest => references.min(),
            Self::Average => {
                let (count, sum) = references.fold((0, 0), |(count, sum), length| (count + 1, sum + length));
                return sum as f64 / count as f64;
            }
        };
        chosen.unwrap_or(0) as f64
    }
}

/// Returns the counts for BLEU-1 to BLEU-`max_order`, one row per candidate.
///
/// A row has the length of the candidate, the length of its references, the matched n-grams of each order
/// (clipped to the largest count in one reference), and the n-grams of each order.
pub fn statistics(
    references: &References,
    candidates: &Candidates,
    max_order: usize,
    reference_length: ReferenceLength,
) -> Vec<f64> {
    let width = 2 + 2 * max_order;
    let scratch = || (NgramTree::new(max_order, candidates.word_count()), Vec::new());
    fill_rows(candidates.len(), width, scratch, |i, (tree, best), row| {
        let candidate = candidates.tokens().words(i);
        let of_image = references.of(candidates.images()[i] as usize);
        let lengths = of_image.clone().map(|r| references.tokens().words(r).len());
        row[0] = candidate.len() as f64;
        row[1] = reference_length.of(candidate.len(), lengths);
        tree.fill(candidate);
        best.clear();
        best.resize(tree.ngrams().len(), 0);
        for reference in of_image {
            tree.count_in(references.tokens().words(reference));
            tree.matched().for_each(|(ngram, matched)| best[ngram] = matched.max(best[ngram]));
        }
        for (&best, ngram) in best.iter().zip(tree.ngrams()) {
            row[1 + ngram.order] += f64::from(ngram.count.min(best));
        }
        for order in 1..=max_order.min(MAX_ORDER) {
            row[1 + max_order + order] = possible(candidate.len(), order) as f64;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use capeval_tokens::Tokenization;

    fn row(candidate: &str, references: &[&str], reference_length: ReferenceLength) -> Vec<f64> {
        let references = References::new(references, vec![0, references.len()], Tokenization::None);
        let candidates = Candidates::new(&references, &[candidate], vec![0], Tokenization::None);
        statistics(&references, &candidates, 2, reference_length)
    }

    #[test]
    fn counts_are_clipped_to_one_reference() {
        // Papineni et al. (2002), example 2: the modified unigram precision is 2/7.
        let references = ["the cat is on the mat", "there is a cat on the mat"];
        let row = row("the the the the the the the", &references, ReferenceLength::Closest);
        assert_eq!(row, [7.0, 7.0, 2.0, 0.0, 7.0, 6.0]);
    }

    #[test]
    fn reference_lengths() {
        let references = ["a b c d e f", "a b", "a b c d"];
        let length = |rule| row("x y z", &references, rule)[1];
        assert_eq!(length(ReferenceLength::Closest), 2.0);
        assert_eq!(length(ReferenceLength::Shortest), 2.0);
        assert_eq!(length(ReferenceLength::Average), 4.0);
    }
}
