//! Norms of the references' n-gram vectors, whose entries are weights times counts.

use std::sync::atomic::Ordering;

use rayon::prelude::*;

use capeval_tokens::References;

use crate::counting::Counted;
use crate::distinct::DistinctWords;
use crate::levels::NONE;
use crate::ngrams::{NgramTree, possible};

/// Maximum number of words in a short caption.
const SHORT: usize = 32;
/// Minimum number of references per task.
const FEWEST: usize = 1024;

/// Norms of references whose n-grams are being counted, one order after another.
pub(crate) struct Norms<'a> {
    references: &'a References,
    max_order: usize,
    norms: Vec<f64>,
    /// Whether each reference may contain an n-gram of the next order twice.
    repeats: Vec<bool>,
}

impl<'a> Norms<'a> {
    pub fn new(references: &'a References, max_order: usize) -> Self {
        let rows = references.tokens().len();
        Self { references, max_order, norms: vec![0.0; rows * max_order], repeats: vec![true; rows] }
    }

    /// Computes the norms for n-grams of `order` words.
    ///
    /// `weight` returns the weight of n-grams that occur in a number of images.
    pub fn measure(&mut self, order: usize, counted: Counted<'_>, weight: impl Fn(u32) -> f64 + Sync) {
        let (tokens, vocabulary) = (self.references.tokens(), self.references.vocabulary().len());
        let images = match counted {
            Counted::Words(images) => images,
            Counted::Longer(level, _) => &level.images,
        };
        let weights: Vec<f64> =
            images.par_iter().with_min_len(1 << 14).map(|&images| weight(images)).collect();
        let of_rare = weight(1);
        let rows = self.norms.par_chunks_exact_mut(self.max_order).zip(&mut self.repeats).enumerate();
        rows.with_min_len(FEWEST).for_each_init(
            || Repeats::new(order, vocabulary),
            |repeats, (row, (norms, may_repeat))| {
                let (words, first) = (tokens.words(row), tokens.range(row).start);
                let weights = |at: usize| match counted {
                    Counted::Words(_) => weights[words[at] as usize],
                    Counted::Longer(_, numbers) => match numbers[first + at].load(Ordering::Relaxed) {
                        NONE => of_rare,
                        number => weights[number as usize],
                    },
                };
                let weights = (0..possible(words.len(), order)).map(weights);
                norms[order - 1] = repeats.norm(words, weights, may_repeat);
            },
        );
    }

    /// Returns the norms, `max_order` per reference.
    pub fn measured(self) -> Vec<f64> {
        self.norms
    }
}

/// Computes the norms of references, `max_order` per reference.
///
/// `weigh` writes the weights of all n-grams of a reference to `[start * max_order + order - 1]`.
pub(crate) fn norms<T: Send>(
    references: &References,
    max_order: usize,
    scratch: impl Fn() -> T + Sync + Send,
    weigh: impl Fn(usize, &mut T, &mut Vec<f64>) + Sync,
) -> Vec<f64> {
    let (tokens, vocabulary) = (references.tokens(), references.vocabulary().len());
    let mut norms = vec![0.0; tokens.len() * max_order];
    let repeats = || (1..=max_order).map(|order| Repeats::new(order, vocabulary)).collect::<Vec<_>>();
    norms.par_chunks_exact_mut(max_order).enumerate().with_min_len(FEWEST).for_each_init(
        || (scratch(), Vec::new(), repeats()),
        |(scratch, weights, repeats), (row, norms)| {
            weigh(row, scratch, weights);
            let words = tokens.words(row);
            let mut may_repeat = true;
            for (place, (repeats, to)) in repeats.iter_mut().zip(norms).enumerate() {
                let starts = weights.chunks_exact(max_order).take(possible(words.len(), place + 1));
                let weights = starts.map(|weights| weights[place]);
                *to = repeats.norm(words, weights, &mut may_repeat);
            }
        },
    );
    norms
}

/// Counts the earlier occurrences of each n-gram in a caption. Reusable for one caption after another.
struct Repeats {
    order: usize,
    words: DistinctWords,
    tree: NgramTree,
    /// Number of occurrences so far of each distinct n-gram.
    seen: Vec<u32>,
    earlier: Vec<u32>,
}

impl Repeats {
    /// Creates a counter of n-grams of `order` words from a vocabulary of this size.
    fn new(order: usize, vocabulary: usize) -> Self {
        let (of_words, of_longer) = if order == 1 { (vocabulary, 0) } else { (0, vocabulary) };
        Self {
            order,
            words: DistinctWords::new(of_words),
            tree: NgramTree::new(order, of_longer),
            seen: Vec::new(),
            earlier: Vec::new(),
        }
    }

    /// Returns the norm of a caption's vector, from the weight of the n-gram at each position.
    ///
    /// `may_repeat` is whether an n-gram may occur twice. It is updated for n-grams that are one word longer.
    fn norm(&mut self, caption: &[u32], weights: impl Iterator<Item = f64>, may_repeat: &mut bool) -> f64 {
        if !*may_repeat {
            return weights.map(|weight| weight * weight).sum::<f64>().sqrt();
        }
        self.look(caption);
        // If a longer n-gram repeats, so do the n-grams at two consecutive positions.
        *may_repeat = self.earlier.windows(2).any(|pair| pair[0] > 0 && pair[1] > 0);
        // The c-th occurrence of an n-gram adds (c^2 - (c - 1)^2) w^2 to the sum of (c w)^2.
        let square = |(weight, &earlier): (f64, &u32)| f64::from(2 * earlier + 1) * weight * weight;
        weights.zip(&self.earlier).map(square).sum::<f64>().sqrt()
    }

    /// Counts the earlier occurrences of the n-gram at each word.
    fn look(&mut self, caption: &[u32]) {
        let Self { order, words, tree, seen, earlier } = self;
        seen.clear();
        earlier.clear();
        if *order == 1 && caption.len() <= SHORT {
            // For a few words, comparing them all is faster than a table.
            let times =
                |place: usize| caption[..place].iter().map(|word| u32::from(*word == caption[place])).sum();
            earlier.extend((0..caption.len()).map(|place| -> u32 { times(place) }));
            return;
        }
        let mut add = |ngram: u32| {
            if ngram as usize >= seen.len() {
                seen.resize(ngram as usize + 1, 0);
            }
            earlier.push(seen[ngram as usize]);
            seen[ngram as usize] += 1;
        };
        if *order == 1 {
            words.fill(caption);
            words.numbers().iter().for_each(|&word| add(word));
        } else {
            tree.fill(caption);
            let of_order = |ngram: &&u32| tree.ngrams()[**ngram as usize].order == *order;
            tree.occurrences().iter().filter(of_order).for_each(|&ngram| add(ngram));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_count_repeats() {
        let norm = |order: usize, caption: &[u32], mut may_repeat: bool| {
            let weights = (0..possible(caption.len(), order)).map(|_| 1.0);
            let norm = Repeats::new(order, 9).norm(caption, weights, &mut may_repeat);
            ((norm * norm).round() as u32, may_repeat)
        };
        let caption = [1, 2, 1, 2, 1, 2];
        assert_eq!(norm(1, &caption, true), (3 * 3 + 3 * 3, true));
        assert_eq!(norm(2, &caption, true), (3 * 3 + 2 * 2, true));
        assert_eq!(norm(3, &[1, 1, 1, 1, 1], true), (3 * 3, true));
        // Words repeat, but no two consecutive words do.
        assert_eq!(norm(1, &[1, 2, 1, 3, 2], true), (2 * 2 + 2 * 2 + 1, false));
        assert_eq!(norm(2, &[1, 2, 1, 3, 2], false), (4, false));
        assert_eq!(norm(1, &[], true), (0, false));
        let long = [1, 2].repeat(SHORT);
        assert_eq!(norm(1, &long, true), (2 * (SHORT * SHORT) as u32, true));
        assert_eq!(norm(4, &[1, 2, 3], true), (0, false));
    }

    #[test]
    fn captions_are_independent() {
        for order in [1, 2] {
            let mut repeats = Repeats::new(order, 9);
            for times in [1, SHORT] {
                for caption in [&[1, 2, 1][..], &[1, 2], &[2, 2, 2]].map(|words| words.repeat(times)) {
                    let weights = || (0..possible(caption.len(), order)).map(|_| 1.0);
                    let expected = Repeats::new(order, 9).norm(&caption, weights(), &mut true);
                    assert_eq!(repeats.norm(&caption, weights(), &mut true), expected);
                }
            }
        }
    }
}
