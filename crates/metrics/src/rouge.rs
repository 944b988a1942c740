//! ROUGE (Lin 2004) as defined in the COCO Captions paper, equations 4 to 10.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::distinct::DistinctWords;
use crate::ngrams::{NgramTree, possible};
use crate::rows::fill_rows;
use capeval_tokens::{Candidates, References};

/// ROUGE-N: n-gram recall over all references (equation 4).
///
/// Returns one row per candidate: its score, and 1.
pub fn n_statistics(references: &References, candidates: &Candidates, order: usize) -> Vec<f64> {
    fill_rows(
        candidates.len(),
        2,
        || NgramTree::new(order, candidates.word_count()),
        |i, tree, row| {
            tree.fill(candidates.tokens().words(i));
            let (mut matched, mut total) = (0, 0);
            for reference in references.of(candidates.images()[i] as usize) {
                let reference = references.tokens().words(reference);
                tree.count_in(reference);
                let counts = tree.matched().map(|(ngram, matched)| (tree.ngrams()[ngram], matched));
                let of_order = counts.filter(|(ngram, _)| ngram.order == order);
                matched += of_order.map(|(ngram, matched)| ngram.count.min(matched)).sum::<u32>();
                total += possible(reference.len(), order);
            }
            row[0] = if total == 0 { 0.0 } else { f64::from(matched) / total as f64 };
            row[1] = 1.0;
        },
    )
}

/// ROUGE-L: longest common subsequence, with the best precision and recall over the references (equations 5
/// to 7).
///
/// Returns one row per candidate: its score, and 1. Captions are split on single spaces, as in the reference
/// code, so an empty caption is one empty word.
pub fn l_statistics(references: &References, candidates: &Candidates, beta: f64) -> Vec<f64> {
    let scratch = || CommonSubsequence::new(candidates.word_count());
    fill_rows(candidates.len(), 2, scratch, |i, common, row| {
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

/// ROUGE-S: ordered word pairs at most `distance` words apart (any distance if `None`), with the best
/// precision and recall over the references (equations 8 to 10).
///
/// Returns one row per candidate: its score, and 1.
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

/// Longest common subsequences with one candidate, 64 words at a time (Hyyrö 2004).
///
/// Bit `i` of `row` is 0 if the subsequence with the reference so far grows at word `i` of the candidate.
struct CommonSubsequence {
    blocks: usize,
    length: usize,
    words: DistinctWords,
    /// Position bits of each distinct word, concatenated.
    bits: Vec<u64>,
    row: Vec<u64>,
}

impl CommonSubsequence {
    /// Creates a matcher for captions with a vocabulary of this size.
    fn new(vocabulary: usize) -> Self {
        let words = DistinctWords::new(vocabulary);
        Self { blocks: 0, length: 0, words, bits: Vec::new(), row: Vec::new() }
    }

    fn fill(&mut self, candidate: &[u32]) {
        self.length = candidate.len();
        self.blocks = candidate.len().div_ceil(64);
        self.words.fill(candidate);
        self.bits.clear();
        self.bits.resize(self.words.len() * self.blocks, 0);
        for (i, &number) in self.words.numbers().iter().enumerate() {
            self.bits[number as usize * self.blocks + i / 64] |= 1 << (i % 64);
        }
    }

    fn length_with(&mut self, reference: &[u32]) -> usize {
        self.row.clear();
        self.row.resize(self.blocks, u64::MAX);
        for &word in reference {
            let Some(number) = self.words.number(word) else { continue };
            let at = number as usize * self.blocks;
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

/// The skip bigrams of one candidate, matched by first word.
///
/// Only the pairs of one first word are counted at a time, because a long caption has quadratically many.
#[derive(Default)]
struct SkipBigrams {
    /// Number of each distinct word, in order of first appearance in the candidate.
    numbers: HashMap<u32, usize, FxBuildHasher>,
    /// The candidate and the reference as these numbers. Other words of the reference are `OTHER`.
    candidate: Vec<usize>,
    reference: Vec<usize>,
    /// Remaining number of matches as the second word, by number.
    left: Vec<u32>,
    /// Positions of each word in the candidate and in the reference, by number.
    places: [Vec<Vec<usize>>; 2],
}

const OTHER: usize = usize::MAX;

impl SkipBigrams {
    /// Sets the candidate, and returns its number of skip bigrams.
    fn fill(&mut self, candidate: &[u32], distance: Option<usize>) -> usize {
        self.numbers.clear();
        self.candidate.clear();
        for &word in candidate {
            let next = self.numbers.len();
            self.candidate.push(*self.numbers.entry(word).or_insert(next));
        }
        self.left.clear();
        self.left.resize(self.numbers.len(), 0);
        note_places(&mut self.places[0], self.numbers.len(), &self.candidate);
        skip_bigrams(candidate.len(), distance)
    }

    /// Returns the number of skip bigrams in common, each counted at most as often as in either caption, and
    /// the number in the reference.
    fn matched(&mut self, reference: &[u32], distance: Option<usize>) -> (usize, usize) {
        let numbered = reference.iter().map(|word| self.numbers.get(word).copied().unwrap_or(OTHER));
        self.reference.clear();
        self.reference.extend(numbered);
        note_places(&mut self.places[1], self.numbers.len(), &self.reference);
        let [ours, theirs] = &self.places;
        let mut matched = 0;
        for (ours, theirs) in ours.iter().zip(theirs).filter(|(_, theirs)| !theirs.is_empty()) {
            let seconds = || ours.iter().flat_map(|&first| after(&self.candidate, first, distance));
            seconds().for_each(|&second| self.left[second] += 1);
            for &second in theirs.iter().flat_map(|&first| after(&self.reference, first, distance)) {
                if let Some(left) = self.left.get_mut(second)
                    && *left > 0
                {
                    *left -= 1;
                    matched += 1;
                }
            }
            seconds().for_each(|&second| self.left[second] = 0);
        }
        (matched, skip_bigrams(reference.len(), distance))
    }
}

fn note_places(places: &mut Vec<Vec<usize>>, numbers: usize, words: &[usize]) {
    places.iter_mut().for_each(Vec::clear);
    places.resize(numbers.max(places.len()), Vec::new());
    let known = words.iter().enumerate().filter(|&(_, &number)| number != OTHER);
    known.for_each(|(place, &number)| places[number].push(place));
}

/// Returns the words that form a skip bigram with the word at `first`.
fn after(words: &[usize], first: usize, distance: Option<usize>) -> &[usize] {
    let rest = &words[first + 1..];
    &rest[..distance.unwrap_or(rest.len()).min(rest.len())]
}

/// Returns the number of skip bigrams in a caption of `words` words.
fn skip_bigrams(words: usize, distance: Option<usize>) -> usize {
    let distance = distance.unwrap_or(words).min(words);
    // The last words have fewer words after them.
    words * distance - distance * (distance + 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use capeval_tokens::Tokenization;

    fn corpus(candidate: &str, references: &[&str]) -> (References, Candidates) {
        let references = References::new(references, vec![0, references.len()], Tokenization::None);
        let candidates = Candidates::new(&references, &[candidate], vec![0], Tokenization::None);
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
        let mut common = CommonSubsequence::new(7);
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
        // Lin (2004), section 5: 3 of the 6 skip bigrams match, so the score for beta 1 is 0.5.
        let (references, candidates) = corpus("police kill the gunman", &["police killed the gunman"]);
        assert_eq!(s_statistics(&references, &candidates, None, 1.0), [0.5, 1.0]);
        assert_eq!(skip_bigrams(4, Some(1)), 3);
        assert_eq!(skip_bigrams(6, Some(4)), 14);
    }

    #[test]
    fn skip_bigrams_of_any_words() {
        let pairs = |words: &[u32], distance: Option<usize>| -> Vec<(u32, u32)> {
            let near = |i: usize, j: usize| distance.is_none_or(|distance| j - i <= distance);
            let seconds = |i| (i + 1..words.len()).filter(move |&j| near(i, j));
            (0..words.len()).flat_map(|i| seconds(i).map(move |j| (words[i], words[j]))).collect()
        };
        let mut state = 1_u32;
        let mut words = |length: usize| -> Vec<u32> {
            let next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) % 9
            };
            std::iter::repeat_with(next).take(length).collect()
        };
        let mut counted = SkipBigrams::default();
        for length in [0, 1, 2, 5, 12, 40] {
            for distance in [None, Some(0), Some(1), Some(4), Some(100), Some(usize::MAX)] {
                let candidate = words(length);
                assert_eq!(counted.fill(&candidate, distance), pairs(&candidate, distance).len());
                for reference in [0, 1, 3, 20].map(&mut words) {
                    let mut left = pairs(&candidate, distance);
                    let theirs = pairs(&reference, distance);
                    let total = theirs.len();
                    for pair in theirs {
                        if let Some(at) = left.iter().position(|&other| other == pair) {
                            left.swap_remove(at);
                        }
                    }
                    let matched = pairs(&candidate, distance).len() - left.len();
                    assert_eq!(counted.matched(&reference, distance), (matched, total));
                }
            }
        }
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
