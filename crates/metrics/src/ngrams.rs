//! The n-grams of one candidate, and their counts in a reference.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::MAX_ORDER;
use crate::distinct::DistinctWords;

const ROOT: u32 = u32::MAX;
const NONE: u32 = u32::MAX;

/// A distinct n-gram of the candidate: its prefix and one more word.
#[derive(Clone, Copy)]
pub(crate) struct Ngram {
    /// The n-gram without its last word, or [`ROOT`] for a single word.
    prefix: u32,
    /// Number of its last word among the candidate's distinct words.
    word: u32,
    /// Number of words, from 1.
    pub order: usize,
    /// Number of occurrences in the candidate.
    pub count: u32,
}

/// All distinct n-grams of one candidate, with prefixes before the n-grams that extend them.
///
/// A reference is read once from left to right, following the n-grams that end at each of its words. Time and
/// memory are linear in the lengths of both captions. A tree is reused for one candidate after another.
pub(crate) struct NgramTree {
    max_order: usize,
    words: DistinctWords,
    ngrams: Vec<Ngram>,
    /// Count of each n-gram in the last reference, and a bit set of the n-grams that occur in it.
    matched: Vec<u32>,
    has: Vec<u64>,
    occurrences: Vec<u32>,
    index: Index,
}

impl NgramTree {
    /// Creates a tree for captions with a vocabulary of this size.
    pub fn new(max_order: usize, vocabulary: usize) -> Self {
        debug_assert!((1..=MAX_ORDER).contains(&max_order));
        Self {
            max_order,
            words: DistinctWords::new(vocabulary),
            ngrams: Vec::new(),
            matched: Vec::new(),
            has: Vec::new(),
            occurrences: Vec::new(),
            index: Index::default(),
        }
    }

    /// Replaces the content of the tree by the n-grams of `candidate`.
    pub fn fill(&mut self, candidate: &[u32]) {
        let Self { max_order, words, ngrams, index, .. } = self;
        ngrams.clear();
        self.occurrences.clear();
        words.fill(candidate);
        index.clear(candidate.len() * *max_order, words.len());
        let numbers = words.numbers();
        for start in 0..candidate.len() {
            let mut prefix = ROOT;
            for (longer, &word) in numbers[start..].iter().take(*max_order).enumerate() {
                let mut id = index.find(ngrams, prefix, word);
                if id == NONE {
                    id = ngrams.len() as u32;
                    ngrams.push(Ngram { prefix, word, order: longer + 1, count: 0 });
                    index.add(ngrams, id);
                }
                ngrams[id as usize].count += 1;
                self.occurrences.push(id);
                prefix = id;
            }
        }
        self.matched.clear();
        self.matched.resize(ngrams.len(), 0);
        self.has.clear();
        self.has.resize(ngrams.len().div_ceil(64), 0);
    }

    /// Counts the n-grams in `reference`, for [`Self::matched`].
    pub fn count_in(&mut self, reference: &[u32]) {
        let Self { max_order, words, ngrams, matched, has, index, .. } = self;
        bits(has).for_each(|id| matched[id] = 0);
        has.fill(0);
        let mut add = |id: u32| {
            matched[id as usize] += 1;
            has[id as usize / 64] |= 1 << (id % 64);
        };
        // ending[k] is the n-gram of k + 1 words that ends at the current word.
        let mut ending = [NONE; MAX_ORDER];
        for &word in reference {
            let Some(word) = words.number(word) else {
                ending = [NONE; MAX_ORDER];
                continue;
            };
            for order in (1..*max_order).rev() {
                ending[order] = match ending[order - 1] {
                    NONE => NONE,
                    prefix => index.find(ngrams, prefix, word),
                };
                if ending[order] != NONE {
                    add(ending[order]);
                }
            }
            ending[0] = index.find(ngrams, ROOT, word);
            add(ending[0]);
        }
    }

    /// Iterates over the n-grams in the last reference: indices into [`Self::ngrams`] and counts.
    pub fn matched(&self) -> impl Iterator<Item = (usize, u32)> {
        bits(&self.has).map(|id| (id, self.matched[id]))
    }

    /// Returns the indices into [`Self::ngrams`] of all n-grams of the candidate with repeats, by start and
    /// then by order.
    pub fn occurrences(&self) -> &[u32] {
        &self.occurrences
    }

    /// Returns the distinct n-grams. An n-gram follows its prefix.
    pub fn ngrams(&self) -> &[Ngram] {
        &self.ngrams
    }
}

/// Lookup of n-grams by prefix and word: a table of all pairs for typical captions, and a hash table for long
/// ones.
#[derive(Default)]
struct Index {
    words: usize,
    /// N-gram index plus 1 for each prefix (the root first) and word, or 0 for none.
    pairs: Vec<u8>,
    hashed: HashTable<u32>,
}

impl Index {
    /// Removes all n-grams and prepares for up to `ngrams` n-grams of `words` distinct words.
    fn clear(&mut self, ngrams: usize, words: usize) {
        self.words = words;
        self.pairs.clear();
        // The time to clear a table depends on its capacity.
        match self.hashed.capacity() > 16 * ngrams.max(64) {
            true => self.hashed = HashTable::new(),
            false => self.hashed.clear(),
        }
        if ngrams < usize::from(u8::MAX) {
            self.pairs.resize((ngrams + 1) * words, 0);
        }
    }

    fn pair(&self, prefix: u32, word: u32) -> usize {
        prefix.wrapping_add(1) as usize * self.words + word as usize
    }

    fn find(&self, ngrams: &[Ngram], prefix: u32, word: u32) -> u32 {
        if !self.pairs.is_empty() {
            return u32::from(self.pairs[self.pair(prefix, word)]).wrapping_sub(1);
        }
        let same = |&id: &u32| (ngrams[id as usize].prefix, ngrams[id as usize].word) == (prefix, word);
        self.hashed.find(hash(prefix, word), same).copied().unwrap_or(NONE)
    }

    /// Adds a new n-gram by its index.
    fn add(&mut self, ngrams: &[Ngram], id: u32) {
        let at = |id: u32| (ngrams[id as usize].prefix, ngrams[id as usize].word);
        let (prefix, word) = at(id);
        if !self.pairs.is_empty() {
            let pair = self.pair(prefix, word);
            self.pairs[pair] = id as u8 + 1;
            return;
        }
        let hash_of = |&id: &u32| hash(at(id).0, at(id).1);
        self.hashed.insert_unique(hash(prefix, word), id, hash_of);
    }
}

/// Iterates over the indices of set bits.
fn bits(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(place, &word)| {
        let next = |rest: &u64| Some(rest & (rest - 1)).filter(|rest| *rest != 0);
        let rests = std::iter::successors(Some(word).filter(|word| *word != 0), next);
        rests.map(move |rest| place * 64 + rest.trailing_zeros() as usize)
    })
}

fn hash(prefix: u32, word: u32) -> u64 {
    FxBuildHasher.hash_one(u64::from(prefix) << 32 | u64::from(word))
}

/// Returns the number of n-grams of `order` words in a caption of `length` words.
pub(crate) fn possible(length: usize, order: usize) -> usize {
    (length + 1).saturating_sub(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_every_order_with_repeats() {
        let mut tree = NgramTree::new(3, 10);
        // As a whole caption, and as part of one that is too long for the table of pairs.
        let other = [0; 100];
        for candidate in
            [[1, 2, 1, 2, 1].to_vec(), [&[1, 2, 1, 2, 1, 3][..], &other].concat(), vec![1, 2, 1, 2, 1]]
        {
            tree.fill(&candidate);
            tree.count_in(&[1, 1, 3]);
            tree.count_in(&[2, 1, 2, 1, 2, 9, 1]);
            let of_ngram =
                |(id, matched): (usize, u32)| (tree.ngrams()[id].order, tree.ngrams()[id].count, matched);
            let mut seen: Vec<(usize, u32, u32)> = tree.matched().map(of_ngram).collect();
            seen.sort_unstable();
            // Counts in candidate and reference: 1: 3 and 3; 2: 2 and 3; 12: 2 and 2; 21: 2 and 2; 121: 2 and
            // 1; 212: 1 and 2.
            assert_eq!(seen, [(1, 2, 3), (1, 3, 3), (2, 2, 2), (2, 2, 2), (3, 1, 2), (3, 2, 1)]);
        }
    }

    #[test]
    fn an_empty_caption_has_no_ngrams() {
        let mut tree = NgramTree::new(4, 3);
        tree.fill(&[]);
        tree.count_in(&[1, 2]);
        assert!(tree.ngrams().is_empty());
        assert_eq!((possible(0, 1), possible(3, 4), possible(4, 4)), (0, 0, 1));
    }
}
