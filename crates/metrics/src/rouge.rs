//! ROUGE (Lin 2004) as the COCO Captions paper defines it, equations 4 to 10.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ngrams::{NgramTree, possible};
use crate::tokens::{Candidates, References, fill_rows};

/// ROUGE-N: n-gram recall over all references (equation 4). A row per candidate: its score, and 1.
pub fn n_statistics(references: &References, candidates: &Candidates, order: usize) -> Vec<f64> {
    fill_rows(
        candidates.len(),
        2,
        || NgramTree::new(order),
        |i, tree, row| {
            tree.fill(candidates.tokens().words(i));
            let (mut matched, mut total) = (0, 0);
            for reference in references.of(candidates.images()[i] as usize) {
                let reference = references.tokens().words(reference);
                tree.count_in(reference);
                let of_order = tree.ngrams().iter().filter(|ngram| ngram.order == order);
                matched += of_order.map(|ngram| ngram.count.min(ngram.matched)).sum::<u32>();
                total += possible(reference.len(), order);
            }
            row[0] = if total == 0 { 0.0 } else { f64::from(matched) / total as f64 };
            row[1] = 1.0;
        },
    )
}

/// ROUGE-L: longest common subsequence, best precision and best recall over the references
/// (equations 5 to 7). A row per candidate: its score, and 1.
///
/// Captions are split on single spaces, as the reference does, so an empty caption is one empty word.
pub fn l_statistics(references: &References, candidates: &Candidates, beta: f64) -> Vec<f64> {
    fill_rows(candidates.len(), 2, CommonSubsequence::default, |i, common, row| {
        let candidate = candidates.tokens().spaced(i);
        common.fill(candidate);
        let (mut precision, mut recall) = (0.0_f64, 0.0_f64);
        for reference in references.of(candidates.images()[i] as usize) {
            let reference = references.tokens().spaced(reference);
            let length = common.length_with(reference) as f64;
            precision = precision.max(length / candidate.len() as f64);
            recall = recall.max(length / reference.len() as f64);
        }
        row[0] = f_measure(precision, recall, beta);
        row[1] = 1.0;
    })
}

/// ROUGE-S: ordered pairs of words at most `distance` words apart (any distance if `None`), best
/// precision and best recall over the references (equations 8 to 10). A row per candidate: its
/// score, and 1.
pub fn s_statistics(
    references: &References,
    candidates: &Candidates,
    distance: Option<usize>,
    beta: f64,
) -> Vec<f64> {
    fill_rows(candidates.len(), 2, SkipBigrams::default, |i, pairs, row| {
        let possible = pairs.fill(candidates.tokens().words(i), distance);
        let (mut precision, mut recall) = (0.0_f64, 0.0_f64);
        for reference in references.of(candidates.images()[i] as usize) {
            let (matched, total) = pairs.matched(references.tokens().words(reference), distance);
            if matched > 0 {
                precision = precision.max(matched as f64 / possible as f64);
                recall = recall.max(matched as f64 / total as f64);
            }
        }
        row[0] = f_measure(precision, recall, beta);
        row[1] = 1.0;
    })
}

fn f_measure(precision: f64, recall: f64, beta: f64) -> f64 {
    if precision == 0.0 || recall == 0.0 {
        return 0.0;
    }
    (1.0 + beta * beta) * precision * recall / (recall + beta * beta * precision)
}

/// Longest common subsequences with one candidate, 64 of its words at a time (Hyyrö 2004): bit `i`
/// of `row` is 0 where the subsequence of the reference so far grows at word `i` of the candidate.
#[derive(Default)]
struct CommonSubsequence {
    blocks: usize,
    length: usize,
    /// The first block of each distinct word's bits in `bits`.
    words: HashMap<u32, usize, FxBuildHasher>,
    bits: Vec<u64>,
    row: Vec<u64>,
}

impl CommonSubsequence {
    fn fill(&mut self, candidate: &[u32]) {
        self.length = candidate.len();
        self.blocks = candidate.len().div_ceil(64);
        self.words.clear();
        self.bits.clear();
        for (i, &word) in candidate.iter().enumerate() {
            let at = *self.words.entry(word).or_insert_with(|| {
                self.bits.resize(self.bits.len() + self.blocks, 0);
                self.bits.len() - self.blocks
            });
            self.bits[at + i / 64] |= 1 << (i % 64);
        }
    }

    fn length_with(&mut self, reference: &[u32]) -> usize {
        self.row.clear();
        self.row.resize(self.blocks, u64::MAX);
        for word in reference {
            let Some(&at) = self.words.get(word) else { continue };
            let mut carry = false;
            for (row, bits) in self.row.iter_mut().zip(&self.bits[at..at + self.blocks]) {
                let matches = *row & bits;
                let (sum, over) = row.overflowing_add(matches);
                let (sum, over_carry) = sum.overflowing_add(u64::from(carry));
                carry = over || over_carry;
                *row = sum | (*row & !bits);
            }
        }
        // Bits beyond the candidate never match, but a carry may clear them.
        if let Some(last) = self.row.last_mut()
            && !self.length.is_multiple_of(64)
        {
            *last |= u64::MAX << (self.length % 64);
        }
        self.row.iter().map(|row| row.count_zeros() as usize).sum()
    }
}

/// The skip bigrams of one candidate.
#[derive(Default)]
struct SkipBigrams {
    counts: HashMap<(u32, u32), (u32, u32), FxBuildHasher>,
}

impl SkipBigrams {
    fn fill(&mut self, candidate: &[u32], distance: Option<usize>) -> usize {
        self.counts.clear();
        let pairs = skip_bigrams(candidate, distance);
        pairs.map(|pair| self.counts.entry(pair).or_default().0 += 1).count()
    }

    /// How many of the reference's skip bigrams are the candidate's too, each at most as often as in
    /// both, and how many the reference has.
    fn matched(&mut self, reference: &[u32], distance: Option<usize>) -> (usize, usize) {
        self.counts.values_mut().for_each(|(_, left)| *left = 0);
        let (mut matched, mut total) = (0, 0);
        for pair in skip_bigrams(reference, distance) {
            total += 1;
            if let Some((count, seen)) = self.counts.get_mut(&pair)
                && *seen < *count
            {
                *seen += 1;
                matched += 1;
            }
        }
        (matched, total)
    }
}

fn skip_bigrams(words: &[u32], distance: Option<usize>) -> impl Iterator<Item = (u32, u32)> {
    let distance = distance.unwrap_or(words.len());
    words
        .iter()
        .enumerate()
        .flat_map(move |(i, &first)| words[i + 1..].iter().take(distance).map(move |&second| (first, second)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Tokenized;

    fn corpus(candidate: &str, references: &[&str]) -> (References, Candidates) {
        let references = References::new(references, vec![0, references.len()], || Tokenized);
        let candidates = Candidates::new(&references, &[candidate], vec![0], || Tokenized);
        (references, candidates)
    }

    fn plain_length(a: &[u32], b: &[u32]) -> usize {
        let mut lengths = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..a.len() {
            for j in 0..b.len() {
                lengths[i + 1][j + 1] =
                    if a[i] == b[j] { lengths[i][j] + 1 } else { lengths[i][j + 1].max(lengths[i + 1][j]) };
            }
        }
        lengths[a.len()][b.len()]
    }

    #[test]
    fn common_subsequences_of_any_length() {
        let mut common = CommonSubsequence::default();
        let mut state = 1_u32;
        let mut words = |length: usize| -> Vec<u32> {
            let next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) % 7
            };
            std::iter::repeat_with(next).take(length).collect()
        };
        for length in [0, 1, 2, 11, 63, 64, 65, 128, 130, 200] {
            let candidate = words(length);
            common.fill(&candidate);
            for reference in [0, 1, 5, 64, 100, 300].map(&mut words) {
                assert_eq!(common.length_with(&reference), plain_length(&candidate, &reference));
            }
        }
    }

    #[test]
    fn skip_bigrams_of_four_words() {
        // Lin (2004), section 5: 3 of the 6 skip bigrams match; beta 1 gives 0.5.
        let (references, candidates) = corpus("police kill the gunman", &["police killed the gunman"]);
        assert_eq!(s_statistics(&references, &candidates, None, 1.0), [0.5, 1.0]);
        assert_eq!(skip_bigrams(&[1, 2, 3, 4], Some(1)).count(), 3);
        assert_eq!(skip_bigrams(&[1, 2, 3, 4, 5, 6], Some(4)).count(), 14);
    }

    #[test]
    fn recall_sums_over_references() {
        let (references, candidates) = corpus("a dog runs", &["a dog", "the dog runs fast"]);
        assert_eq!(n_statistics(&references, &candidates, 1), [4.0 / 6.0, 1.0]);
        assert_eq!(n_statistics(&references, &candidates, 2), [2.0 / 4.0, 1.0]);
    }

    #[test]
    fn an_empty_caption_matches_an_empty_reference_only() {
        let (references, candidates) = corpus("", &["", "a"]);
        assert_eq!(l_statistics(&references, &candidates, 1.2), [1.0, 1.0]);
        let (references, candidates) = corpus("", &["a"]);
        assert_eq!(l_statistics(&references, &candidates, 1.2), [0.0, 1.0]);
    }
}
