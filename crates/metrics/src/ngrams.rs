//! The n-grams of one candidate, and how often a reference has each.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::MAX_ORDER;

const ROOT: u32 = u32::MAX;
const NONE: u32 = u32::MAX;

/// One distinct n-gram of the candidate: its prefix followed by one more word.
#[derive(Clone, Copy)]
pub(crate) struct Ngram {
    /// The n-gram without its last word; `None` for a single word.
    prefix: u32,
    /// The last word.
    pub word: u32,
    /// How many words it has, from 1.
    pub order: usize,
    /// How often the candidate has it.
    pub count: u32,
    /// How often the reference last given to [`NgramTree::count_in`] has it.
    pub matched: u32,
}

/// All distinct n-grams of one candidate, prefixes before the n-grams that continue them.
///
/// A reference is then read once from left to right, following the n-grams that end at each of its
/// words. Work and memory are linear in the lengths of both captions, and a tree is used again for
/// candidate after candidate.
pub(crate) struct NgramTree {
    max_order: usize,
    ngrams: Vec<Ngram>,
    occurrences: Vec<u32>,
    index: HashTable<u32>,
    /// A bit for each word of the candidate, by the word's last bits: most words of a reference are not
    /// among them, and need no look-up.
    present: [u64; 16],
}

impl NgramTree {
    pub fn new(max_order: usize) -> Self {
        debug_assert!((1..=MAX_ORDER).contains(&max_order));
        Self {
            max_order,
            ngrams: Vec::new(),
            occurrences: Vec::new(),
            index: HashTable::new(),
            present: [0; 16],
        }
    }

    /// Makes the tree that of `candidate`.
    pub fn fill(&mut self, candidate: &[u32]) {
        self.ngrams.clear();
        self.occurrences.clear();
        self.index.clear();
        self.present = [0; 16];
        for &word in candidate {
            let (place, bit) = bit_of(word);
            self.present[place] |= bit;
        }
        for start in 0..candidate.len() {
            let mut prefix = ROOT;
            for (longer, &word) in candidate[start..].iter().take(self.max_order).enumerate() {
                prefix = self.add(prefix, word, longer + 1);
                self.occurrences.push(prefix);
            }
        }
    }

    fn add(&mut self, prefix: u32, word: u32, order: usize) -> u32 {
        let Self { ngrams, index, .. } = self;
        let at = |id: u32| &ngrams[id as usize];
        let known =
            index.find(hash(prefix, word), |&id| at(id).word == word && at(id).prefix == prefix).copied();
        if let Some(id) = known {
            ngrams[id as usize].count += 1;
            return id;
        }
        let id = ngrams.len() as u32;
        index.insert_unique(hash(prefix, word), id, |&id| hash(at(id).prefix, at(id).word));
        ngrams.push(Ngram { prefix, word, order, count: 1, matched: 0 });
        id
    }

    fn longer(&self, prefix: u32, word: u32) -> u32 {
        let at = |id: u32| &self.ngrams[id as usize];
        let same = |&id: &u32| at(id).word == word && at(id).prefix == prefix;
        self.index.find(hash(prefix, word), same).copied().unwrap_or(NONE)
    }

    /// Sets [`Ngram::matched`] of every n-gram to the number of times that `reference` has it.
    pub fn count_in(&mut self, reference: &[u32]) {
        self.ngrams.iter_mut().for_each(|ngram| ngram.matched = 0);
        // ending[k]: the n-gram of k + 1 words that ends at the word read last.
        let mut ending = [NONE; MAX_ORDER];
        for &word in reference {
            let (place, bit) = bit_of(word);
            if self.present[place] & bit == 0 {
                ending = [NONE; MAX_ORDER];
                continue;
            }
            for order in (1..self.max_order).rev() {
                ending[order] = match ending[order - 1] {
                    NONE => NONE,
                    prefix => self.longer(prefix, word),
                };
            }
            ending[0] = self.longer(ROOT, word);
            for id in ending.into_iter().filter(|&id| id != NONE) {
                self.ngrams[id as usize].matched += 1;
            }
        }
    }

    /// The index in [`Self::ngrams`] of every n-gram of the candidate, with repeats: for each start,
    /// from one word to the most.
    pub fn occurrences(&self) -> &[u32] {
        &self.occurrences
    }

    /// The distinct n-grams; an n-gram's prefix stands before it.
    pub fn ngrams(&self) -> &[Ngram] {
        &self.ngrams
    }
}

fn bit_of(word: u32) -> (usize, u64) {
    ((word >> 6) as usize & 15, 1 << (word & 63))
}

fn hash(prefix: u32, word: u32) -> u64 {
    FxBuildHasher.hash_one(u64::from(prefix) << 32 | u64::from(word))
}

/// How many n-grams of `order` words a caption of `length` words has.
pub(crate) fn possible(length: usize, order: usize) -> usize {
    (length + 1).saturating_sub(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_every_order_with_repeats() {
        let mut tree = NgramTree::new(3);
        tree.fill(&[1, 2, 1, 2, 1]);
        tree.count_in(&[2, 1, 2, 1, 2, 9, 1]);
        let mut seen: Vec<(usize, u32, u32)> =
            tree.ngrams().iter().map(|ngram| (ngram.order, ngram.count, ngram.matched)).collect();
        seen.sort_unstable();
        // 1: 3 and 3; 2: 2 and 3; 12: 2 and 2; 21: 2 and 2; 121: 2 and 1; 212: 1 and 2.
        assert_eq!(seen, [(1, 2, 3), (1, 3, 3), (2, 2, 2), (2, 2, 2), (3, 1, 2), (3, 2, 1)]);
    }

    #[test]
    fn an_empty_caption_has_no_ngrams() {
        let mut tree = NgramTree::new(4);
        tree.fill(&[]);
        tree.count_in(&[1, 2]);
        assert!(tree.ngrams().is_empty());
        assert_eq!((possible(0, 1), possible(3, 4), possible(4, 4)), (0, 0, 1));
    }
}
