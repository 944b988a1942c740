//! CIDEr and CIDEr-D (Vedantam, Zitnick and Parikh 2015).

use std::sync::Arc;

use rayon::prelude::*;

use crate::MAX_ORDER;
use crate::frequencies::DocumentFrequencies;
use crate::ngrams::{NgramTree, possible};
use crate::tokens::{Candidates, References, fill_rows};

/// How the scores against the references of an image become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean, as in equations 2 and 4.
    Mean,
    /// The largest, as in appendix VIII ("CIDEr max").
    Max,
}

/// What CIDEr's family varies.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The longest n-grams, 1 to 4.
    pub max_order: usize,
    /// Width of the Gaussian penalty on the difference in length; no penalty if `None`.
    pub sigma: Option<f64>,
    /// Whether an n-gram of the candidate counts at most as often as the reference has it.
    pub clip: bool,
    /// How references are pooled.
    pub pooling: Pooling,
    /// Whether term frequencies are divided by the number of n-grams of the caption (equation 1) and
    /// lengths are in words. The published code uses plain counts, and counts bigrams for the length.
    pub relative: bool,
}

/// References with all that a candidate's score needs and no candidate changes.
pub struct PreparedReferences {
    references: Arc<References>,
    options: Options,
    weights: Weights,
    /// The norms of each reference's vectors, `max_order` a reference.
    norms: Vec<f64>,
}

impl PreparedReferences {
    /// Weighs the references by `frequencies`, or every n-gram alike if `None`.
    pub fn new(
        references: Arc<References>,
        frequencies: Option<Arc<DocumentFrequencies>>,
        options: Options,
    ) -> Self {
        let weights = Weights::new(&references, frequencies);
        let mut norms = vec![0.0; references.tokens().len() * options.max_order];
        norms.par_chunks_mut(options.max_order).enumerate().with_min_len(1024).for_each(|(row, norms)| {
            weights.norms(references.tokens().words(row), norms);
        });
        Self { references, options, weights, norms }
    }

    /// The references that were prepared.
    pub fn references(&self) -> &Arc<References> {
        &self.references
    }

    /// A row per candidate: the pooled cosine similarity for n-grams of each order, and 1.
    pub fn statistics(&self, candidates: &Candidates) -> Vec<f64> {
        let order = self.options.max_order;
        let known = self.weights.of_candidates(candidates);
        let scratch = || (NgramTree::new(order), Vec::new());
        fill_rows(candidates.len(), order + 1, scratch, |i, (tree, weights), row| {
            let words = candidates.tokens().words(i);
            tree.fill(words);
            weights.clear();
            weights.resize(tree.ngrams().len(), 0.0);
            let mut occurrences = tree.occurrences().iter();
            let number = |word| self.weights.number(word, &known);
            self.weights.visit(words, order, number, |_, _, weight| {
                if let Some(&ngram) = occurrences.next() {
                    weights[ngram as usize] = weight;
                }
            });
            self.score(tree, weights, words.len(), candidates.images()[i] as usize, row);
        })
    }

    fn score(&self, tree: &mut NgramTree, weights: &[f64], length: usize, image: usize, row: &mut [f64]) {
        let order = self.options.max_order;
        let mut norm = [0.0; MAX_ORDER];
        for (ngram, weight) in tree.ngrams().iter().zip(weights) {
            norm[ngram.order - 1] += (f64::from(ngram.count) * weight).powi(2);
        }
        let of_image = self.references.of(image);
        let count = of_image.len() as f64;
        for reference in of_image {
            let words = self.references.tokens().words(reference);
            tree.count_in(words);
            let norms = &self.norms[reference * order..][..order];
            let products = self.products(tree, weights, length, words.len());
            let penalty = self.penalty(length, words.len());
            for n in 0..order {
                let both = norm[n].sqrt() * norms[n];
                let similarity = penalty * if both == 0.0 { products[n] } else { products[n] / both };
                row[n] = match self.options.pooling {
                    Pooling::Mean => row[n] + similarity / count,
                    Pooling::Max => row[n].max(similarity),
                };
            }
        }
        row[order] = 1.0;
    }

    /// The dot products of candidate and reference, up to the common factor that the norms leave out.
    fn products(&self, tree: &NgramTree, weights: &[f64], length: usize, other: usize) -> [f64; MAX_ORDER] {
        let ratio = if self.options.relative { self.terms(other) / self.terms(length) } else { 1.0 };
        let mut products = [0.0; MAX_ORDER];
        for (ngram, weight) in tree.ngrams().iter().zip(weights).filter(|(ngram, _)| ngram.matched > 0) {
            let candidate = f64::from(ngram.count) * weight * ratio;
            let reference = f64::from(ngram.matched) * weight;
            let shared = if self.options.clip { candidate.min(reference) } else { candidate };
            // The candidate's norm is of counts, so the ratio goes out again.
            products[ngram.order - 1] += shared * reference / ratio;
        }
        products
    }

    fn terms(&self, length: usize) -> f64 {
        (1..=self.options.max_order).map(|order| possible(length, order)).sum::<usize>() as f64
    }

    fn penalty(&self, length: usize, other: usize) -> f64 {
        let Some(sigma) = self.options.sigma else { return 1.0 };
        let order = if self.options.relative { 1 } else { 2 };
        let difference = possible(length, order) as f64 - possible(other, order) as f64;
        (-(difference * difference) / (2.0 * sigma * sigma)).exp()
    }
}

/// The inverse document frequencies of n-grams.
struct Weights {
    frequencies: Option<Arc<DocumentFrequencies>>,
    /// The number in the frequencies' vocabulary of each word of the references; `None` where the two
    /// vocabularies are the same.
    numbers: Option<Vec<Option<u32>>>,
    /// ln(images / df) for small document frequencies, which nearly all are.
    small: Vec<f64>,
    ln_images: f64,
}

impl Weights {
    fn new(references: &References, frequencies: Option<Arc<DocumentFrequencies>>) -> Self {
        let own = |f: &Arc<DocumentFrequencies>| Arc::ptr_eq(f.vocabulary(), references.vocabulary());
        let numbers = frequencies.as_ref().filter(|f| !own(f)).map(|f| {
            let words = references.vocabulary().words();
            words.map(|word| f.vocabulary().id(word)).collect()
        });
        let ln_images = frequencies.as_ref().map_or(0.0, |f| f.images().ln());
        let small = (0..4096_u32).map(|df| ln_images - f64::from(df.max(1)).ln()).collect();
        Self { frequencies, numbers, small, ln_images }
    }

    fn of(&self, frequency: u32) -> f64 {
        self.small
            .get(frequency as usize)
            .copied()
            .unwrap_or_else(|| self.ln_images - f64::from(frequency).ln())
    }

    /// The numbers in the frequencies' vocabulary of the words that no reference has.
    fn of_candidates(&self, candidates: &Candidates) -> Vec<Option<u32>> {
        let Some((frequencies, _)) = self.frequencies.as_ref().zip(self.numbers.as_ref()) else {
            return Vec::new();
        };
        candidates.new_words().words().map(|word| frequencies.vocabulary().id(word)).collect()
    }

    /// The number in the frequencies' vocabulary of a word of the references or, beyond them, of `new`.
    fn number(&self, word: u32, new: &[Option<u32>]) -> Option<u32> {
        let Some(numbers) = &self.numbers else {
            let known = self.frequencies.as_ref().map_or(0, |f| f.vocabulary().len());
            return Some(word).filter(|&word| (word as usize) < known);
        };
        let word = word as usize;
        numbers.get(word).or_else(|| new.get(word - numbers.len())).copied().flatten()
    }

    fn visit(
        &self,
        words: &[u32],
        max_order: usize,
        number: impl Fn(u32) -> Option<u32>,
        mut visit: impl FnMut(usize, usize, f64),
    ) {
        match &self.frequencies {
            Some(frequencies) => frequencies
                .visit(words, max_order, number, |start, order, df| visit(start, order, self.of(df))),
            None => {
                for start in 0..words.len() {
                    (1..=max_order.min(words.len() - start)).for_each(|order| visit(start, order, 1.0));
                }
            }
        }
    }

    /// The norm of the vector of each order.
    fn norms(&self, words: &[u32], norms: &mut [f64]) {
        let mut repeats = [0_u32; MAX_ORDER + 1];
        self.visit(
            words,
            norms.len(),
            |word| self.number(word, &[]),
            |start, order, weight| {
                if order == 1 {
                    repeats = earlier(words, start);
                }
                // An n-gram seen for the c-th time adds (c^2 - (c - 1)^2) w^2 to the sum of (c w)^2.
                norms[order - 1] += f64::from(2 * repeats[order] + 1) * weight * weight;
            },
        );
        norms.iter_mut().for_each(|norm| *norm = norm.sqrt());
    }
}

/// How often the n-gram of each order that starts at `start` also starts before it.
fn earlier(words: &[u32], start: usize) -> [u32; MAX_ORDER + 1] {
    let mut repeats = [0; MAX_ORDER + 1];
    for before in 0..start {
        if words[before] == words[start] {
            let (a, b) = (&words[before..], &words[start..]);
            let same = a.iter().zip(b).take(MAX_ORDER).take_while(|(a, b)| a == b).count();
            repeats[1..=same].iter_mut().for_each(|repeats| *repeats += 1);
        }
    }
    repeats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Tokenized;

    const CODE: Options =
        Options { max_order: 4, sigma: Some(6.0), clip: true, pooling: Pooling::Mean, relative: false };

    fn rows(references: &[&str], candidates: &[&str], options: Options) -> Vec<f64> {
        let starts = (0..=references.len()).collect();
        let references = Arc::new(References::new(references, starts, || Tokenized));
        let frequencies = Arc::new(DocumentFrequencies::of_references(&references, options.max_order));
        let images = (0..candidates.len() as u32).collect();
        let candidates = Candidates::new(&references, candidates, images, || Tokenized);
        PreparedReferences::new(references, Some(frequencies), options).statistics(&candidates)
    }

    #[test]
    fn a_reference_itself_is_fully_similar() {
        let rows = rows(&["a b a b a b", "c d e f g"], &["a b a b a b", "c d e f g"], CODE);
        for value in rows {
            assert!((value - 1.0).abs() < 1e-12, "{value}");
        }
    }

    #[test]
    fn one_image_alone_has_no_rare_words() {
        assert_eq!(rows(&["a dog runs far"], &["a dog runs far"], CODE), [0.0, 0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn repeats_before_a_start() {
        assert_eq!(earlier(&[1, 2, 1, 2, 1, 2], 4), [0, 2, 2, 0, 0]);
        assert_eq!(earlier(&[1, 1, 1, 1, 1], 2), [0, 2, 2, 2, 0]);
    }

    #[test]
    fn wide_and_narrow_keys_agree() {
        // 70,000 different words force 32 bits a word.
        let filler: String = (0..70_000).map(|i| format!("w{i} ")).collect();
        let small = rows(&["a dog runs", "a cat sits", "x"], &["a dog sits"], CODE);
        let large = rows(&["a dog runs", "a cat sits", filler.trim_end()], &["a dog sits"], CODE);
        assert_eq!(small, large);
    }
}
