//! CIDEr and CIDEr-D (Vedantam, Zitnick and Parikh 2015).

use std::sync::Arc;

use crate::MAX_ORDER;
use crate::frequencies::DocumentFrequencies;
use crate::ngrams::{NgramTree, possible};
use crate::norms::{Norms, norms};
use crate::rows::fill_rows;
use capeval_tokens::{Candidates, References};
use pxfm::{f_exp, f_log};

/// Pooling of the scores against the references of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The mean, as in equations 2 and 4.
    Mean,
    /// The maximum, as in appendix VIII ("CIDEr max").
    Max,
}

/// Options that distinguish the variants of CIDEr.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Maximum n-gram order, 1 to 4.
    pub max_order: usize,
    /// Width of the Gaussian penalty on the difference in length. `None` disables the penalty.
    pub sigma: Option<f64>,
    /// Whether to clip the counts of the candidate's n-grams to their counts in the reference.
    pub clip: bool,
    /// Pooling over the references.
    pub pooling: Pooling,
    /// Whether to divide term frequencies by the caption's number of n-grams (equation 1) and measure length
    /// in words.
    ///
    /// Otherwise counts are not normalized and length is measured in bigrams, as in the published code.
    pub relative: bool,
}

/// References with all scoring data that does not depend on candidates.
pub struct PreparedReferences {
    references: Arc<References>,
    options: Options,
    weights: Weights,
    /// Vector norms, `max_order` per reference.
    norms: Vec<f64>,
}

impl PreparedReferences {
    /// Prepares references that are weighted by their own document frequencies.
    pub fn new(references: Arc<References>, options: Options) -> Self {
        let order = options.max_order;
        let known = Known::new(references.images() as f64);
        let mut norms = Norms::new(&references, order);
        let frequencies = DocumentFrequencies::counted(&references, order, |order, counted| {
            norms.measure(order, counted, |images| known.weight(images));
        });
        let norms = norms.measured();
        let weights = Weights { frequencies: Some(Arc::new(frequencies)), numbers: None, known };
        Self { references, options, weights, norms }
    }

    /// Prepares references with the given document frequencies, or with equal weights if `None`.
    pub fn weighed(
        references: Arc<References>,
        frequencies: Option<Arc<DocumentFrequencies>>,
        options: Options,
    ) -> Self {
        let order = options.max_order;
        let weights = Weights::new(&references, frequencies);
        let norms = norms(&references, order, Scratch::default, |row, scratch, of_row| {
            weights.of_words(references.tokens().words(row), order, &[], scratch, of_row);
        });
        Self { references, options, weights, norms }
    }

    /// Returns one row per candidate: the pooled cosine similarity for each n-gram order, and 1.
    pub fn statistics(&self, candidates: &Candidates) -> Vec<f64> {
        let order = self.options.max_order;
        let new_words = self.weights.of_new_words(candidates);
        let scratch = || {
            let tree = NgramTree::new(order, candidates.word_count());
            (tree, Scratch::default(), Vec::new(), Vec::new())
        };
        fill_rows(candidates.len(), order + 1, scratch, |i, (tree, scratch, of_starts, weights), row| {
            let words = candidates.tokens().words(i);
            tree.fill(words);
            self.weights.of_words(words, order, &new_words, scratch, of_starts);
            weights.clear();
            weights.resize(tree.ngrams().len(), 0.0);
            let mut occurrences = tree.occurrences().iter();
            for (start, of_start) in of_starts.chunks_exact(order).enumerate() {
                let longest = order.min(words.len() - start);
                for (&ngram, &weight) in occurrences.by_ref().take(longest).zip(of_start) {
                    weights[ngram as usize] = weight;
                }
            }
            self.score(tree, weights, words.len(), candidates.images()[i] as usize, row);
        })
    }

    fn score(&self, tree: &mut NgramTree, weights: &[f64], length: usize, image: usize, row: &mut [f64]) {
        let order = self.options.max_order;
        let mut norm = [0.0; MAX_ORDER];
        for (ngram, weight) in tree.ngrams().iter().zip(weights) {
            let weighted = f64::from(ngram.count) * weight;
            norm[ngram.order - 1] += weighted * weighted;
        }
        let norm = norm.map(f64::sqrt);
        let of_image = self.references.of(image);
        let count = of_image.len() as f64;
        for reference in of_image {
            let words = self.references.tokens().words(reference);
            let norms = &self.norms[reference * order..][..order];
            let products = self.products(tree, weights, length, words);
            let penalty = self.penalty(length, words.len());
            for n in 0..order {
                let both = norm[n] * norms[n];
                let similarity = penalty * if both == 0.0 { products[n] } else { products[n] / both };
                row[n] = match self.options.pooling {
                    Pooling::Mean => row[n] + similarity / count,
                    Pooling::Max => row[n].max(similarity),
                };
            }
        }
        row[order] = 1.0;
    }

    /// Returns the dot products of candidate and reference, up to the common factor that the norms omit.
    fn products(
        &self,
        tree: &mut NgramTree,
        weights: &[f64],
        length: usize,
        other: &[u32],
    ) -> [f64; MAX_ORDER] {
        let ratio = if self.options.relative { self.terms(other.len()) / self.terms(length) } else { 1.0 };
        let mut products = [0.0; MAX_ORDER];
        tree.count_in(other);
        for (ngram, matched) in tree.matched() {
            let (ngram, weight) = (tree.ngrams()[ngram], weights[ngram]);
            let candidate = f64::from(ngram.count) * weight * ratio;
            let reference = f64::from(matched) * weight;
            let shared = if self.options.clip { candidate.min(reference) } else { candidate };
            // The candidate's norm uses plain counts, so the ratio is divided out again.
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
        f_exp(-(difference * difference) / (2.0 * sigma * sigma))
    }
}

/// Inverse document frequencies of n-grams.
struct Weights {
    frequencies: Option<Arc<DocumentFrequencies>>,
    /// Id in the frequencies' vocabulary of each reference word, or `None` if the vocabularies are the same.
    numbers: Option<Vec<Option<u32>>>,
    known: Known,
}

/// Inverse document frequencies by number of images.
struct Known {
    /// ln(images / df) for document frequencies up to a limit that few corpora exceed.
    weights: Vec<f64>,
    ln_images: f64,
}

impl Known {
    fn new(images: f64) -> Self {
        let ln_images = f_log(images);
        let limit = images.min(65_536.0) as u32;
        let weights = (0..=limit).map(|df| ln_images - f_log(f64::from(df.max(1)))).collect();
        Self { weights, ln_images }
    }

    fn weight(&self, df: u32) -> f64 {
        match self.weights.get(df as usize) {
            Some(&weight) => weight,
            None => self.ln_images - f_log(f64::from(df.max(1))),
        }
    }
}

/// Reusable memory for the n-grams of one caption: the ids of the n-grams that start at each word, and all
/// document frequencies.
#[derive(Default)]
struct Scratch {
    numbers: Vec<(u32, u32)>,
    counts: Vec<u32>,
}

impl Weights {
    fn new(references: &References, frequencies: Option<Arc<DocumentFrequencies>>) -> Self {
        let own = |f: &Arc<DocumentFrequencies>| Arc::ptr_eq(f.vocabulary(), references.vocabulary());
        let numbers = frequencies.as_ref().filter(|f| !own(f)).map(|f| {
            let words = references.vocabulary().words();
            words.map(|word| f.vocabulary().id(word)).collect()
        });
        let known = Known::new(frequencies.as_ref().map_or(1.0, |f| f.images()));
        Self { frequencies, numbers, known }
    }

    /// Returns the ids in the frequencies' vocabulary of the candidates' new words.
    fn of_new_words(&self, candidates: &Candidates) -> Vec<Option<u32>> {
        let Some((frequencies, _)) = self.frequencies.as_ref().zip(self.numbers.as_ref()) else {
            return Vec::new();
        };
        candidates.new_words().words().map(|word| frequencies.vocabulary().id(word)).collect()
    }

    /// Returns the id in the frequencies' vocabulary of a word of the references, or of a new word through
    /// `new`.
    fn number(&self, word: u32, new: &[Option<u32>]) -> Option<u32> {
        let Some(numbers) = &self.numbers else {
            let known = self.frequencies.as_ref().map_or(0, |f| f.vocabulary().len());
            return Some(word).filter(|&word| (word as usize) < known);
        };
        let word = word as usize;
        numbers.get(word).or_else(|| new.get(word - numbers.len())).copied().flatten()
    }

    /// Computes the weights of all n-grams of `words`: `weights[start * max_order + order - 1]`.
    fn of_words(
        &self,
        words: &[u32],
        max_order: usize,
        new: &[Option<u32>],
        scratch: &mut Scratch,
        weights: &mut Vec<f64>,
    ) {
        weights.clear();
        let Some(frequencies) = &self.frequencies else {
            weights.resize(words.len() * max_order, 1.0);
            return;
        };
        let number = |word| self.number(word, new);
        frequencies.of_words(words, max_order, number, &mut scratch.numbers, &mut scratch.counts);
        weights.extend(scratch.counts.iter().map(|&df| self.known.weight(df)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capeval_tokens::Tokenization;

    const CODE: Options =
        Options { max_order: 4, sigma: Some(6.0), clip: true, pooling: Pooling::Mean, relative: false };

    fn rows(references: &[&str], candidates: &[&str], options: Options) -> Vec<f64> {
        let starts = (0..=references.len()).collect();
        let references = Arc::new(References::new(references, starts, Tokenization::None));
        let images = (0..candidates.len() as u32).collect();
        let candidates = Candidates::new(&references, candidates, images, Tokenization::None);
        PreparedReferences::new(references, options).statistics(&candidates)
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
    fn given_and_counted_frequencies_are_the_same() {
        let captions = ["a dog runs", "a dog runs far", "a cat sits", "the cat sat on a cat"];
        let references = Arc::new(References::new(&captions, vec![0, 2, 3, 4], Tokenization::None));
        let candidates =
            Candidates::new(&references, &["a dog sits", "a cat sits still"], vec![0, 1], Tokenization::None);
        let frequencies = Arc::new(DocumentFrequencies::of_references(&references, 4));
        let counted = PreparedReferences::new(Arc::clone(&references), CODE);
        let given = PreparedReferences::weighed(references, Some(frequencies), CODE);
        assert_eq!(counted.statistics(&candidates), given.statistics(&candidates));
    }
}
