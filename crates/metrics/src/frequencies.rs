//! Document frequencies of n-grams.

use std::borrow::Cow;
use std::sync::Arc;

use hashbrown::HashTable;
use rayon::prelude::*;

use capeval_tokens::{References, Vocabulary};

use crate::counting::{Counted, count};
use crate::levels::{Counts, Level, NONE, build_levels};

/// Document frequencies of the n-grams in a set of references: the number of images with the n-gram in at
/// least one reference.
///
/// An n-gram of two or more words is identified by its first part (without its last word) and its last part
/// (without its first word). This pair of ids is exact for any vocabulary. CIDEr gives n-grams of one image
/// the same weight as n-grams of no image, and a longer n-gram occurs in no more images than its parts.
/// N-grams with a part that occurs in only one image are therefore not counted, which skips most n-grams of
/// three and four words.
pub struct DocumentFrequencies {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) images: f64,
    pub(crate) words: Vec<u32>,
    pub(crate) longer: Vec<Level>,
}

/// The parts of the n-grams of each order from two words on, from which their words are recovered.
pub(crate) struct Spelling<'a>(pub Vec<Cow<'a, [(u32, u32)]>>);

impl DocumentFrequencies {
    /// Counts the n-grams of one to `max_order` words in `references`.
    pub fn of_references(references: &References, max_order: usize) -> Self {
        Self::counted(references, max_order, |_, _| ())
    }

    /// Counts like [`Self::of_references`], and calls `each` for each order like [`count`].
    pub(crate) fn counted(
        references: &References,
        max_order: usize,
        each: impl FnMut(usize, Counted<'_>),
    ) -> Self {
        let (words, longer) = count(references, max_order, 2, each);
        let vocabulary = Arc::clone(references.vocabulary());
        let images = references.images() as f64;
        Self { vocabulary, images, words, longer }
    }

    /// Creates document frequencies from external counts over `images` images.
    ///
    /// `ngrams` are word ids in `vocabulary`, each n-gram once.
    pub fn from_counts<'a>(
        vocabulary: Vocabulary,
        images: f64,
        ngrams: impl Iterator<Item = (&'a [u32], u32)>,
    ) -> Self {
        let mut given = Given { words: vec![1; vocabulary.len()], longer: Vec::new() };
        for (ngram, count) in ngrams.filter(|(ngram, _)| !ngram.is_empty()) {
            *given.images_of(ngram, 1) = count;
        }
        let (words, counted) = given.counted();
        let longer = build_levels(words.len(), &counted, |_, _| true);
        Self { vocabulary: Arc::new(vocabulary), images, words, longer }
    }

    /// Returns the vocabulary of the n-grams.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Returns the number of images.
    pub fn images(&self) -> f64 {
        self.images
    }

    /// Returns the n-grams of `order` words that occur in at least two images, with their frequencies, sorted
    /// by word ids.
    pub fn of_order(&self, order: usize) -> Vec<(Vec<u32>, u32)> {
        let spelling = self.spelling(order);
        let numbers = (0..self.size(order)).into_par_iter();
        let common =
            numbers.map(|number| (number, self.images_of(order, number))).filter(|(_, count)| *count > 1);
        let spelled = common.map(|(number, count)| {
            let mut words = vec![0; order];
            spelling.write(number as u32, &mut words);
            (words, count)
        });
        let mut ngrams: Vec<(Vec<u32>, u32)> = spelled.collect();
        ngrams.par_sort_unstable();
        ngrams
    }

    /// Returns the number of n-gram ids of an order.
    fn size(&self, order: usize) -> usize {
        match order {
            1 => self.words.len(),
            _ => self.longer.get(order - 2).map_or(0, |level| level.images.len()),
        }
    }

    /// Returns the number of images with an n-gram.
    fn images_of(&self, order: usize, number: usize) -> u32 {
        match order {
            1 => self.words[number],
            _ => self.longer[order - 2].images[number],
        }
    }

    /// Returns the parts of the n-grams of up to `order` words.
    fn spelling(&self, order: usize) -> Spelling<'static> {
        let longer = self.longer.iter().take(order - 1);
        let parts = |level: &Level| level.iter().map(|(first, ngram)| (first, ngram.last)).collect();
        Spelling(longer.map(|level| Cow::Owned(parts(level))).collect())
    }

    /// Returns the sum of the fingerprints of all n-grams of up to `max_order` words that occur in at least
    /// two images.
    ///
    /// The fingerprint of an n-gram combines the fingerprints of its words, given in `words`, with its number
    /// of images. N-grams are not materialized, which would take memory.
    pub fn fingerprint(&self, words: &[u64], max_order: usize) -> u64 {
        let spelling = self.spelling(max_order);
        let of_order = |order: usize| {
            let numbers = (0..self.size(order)).into_par_iter();
            let fingerprints = numbers.map(|number| {
                let count = self.images_of(order, number);
                if count < 2 {
                    return 0;
                }
                let mut numbers = vec![0; order];
                spelling.write(number as u32, &mut numbers);
                numbers
                    .iter()
                    .fold(u64::from(count), |value, &word| mixed(value.wrapping_add(words[word as usize])))
            });
            fingerprints.reduce(|| 0, u64::wrapping_add)
        };
        (1..=max_order).map(of_order).fold(0, u64::wrapping_add)
    }

    /// Writes the document frequencies of all n-grams of `words` to `counts[start * max_order + order - 1]`,
    /// with 0 for unknown n-grams.
    ///
    /// `number` returns the id of a word in [`Self::vocabulary`]. `numbers` is scratch memory.
    pub(crate) fn of_words(
        &self,
        words: &[u32],
        max_order: usize,
        number: impl Fn(u32) -> Option<u32>,
        numbers: &mut Vec<(u32, u32)>,
        counts: &mut Vec<u32>,
    ) {
        counts.clear();
        counts.resize(words.len() * max_order, 0);
        numbers.clear();
        // Each n-gram's id, with the number of n-grams before it that have the same first part.
        let known = |word: &u32| number(*word).map_or((NONE, NONE), |number| (number, number));
        numbers.extend(words.iter().map(known));
        for (start, &(number, _)) in numbers.iter().enumerate().filter(|(_, number)| number.0 != NONE) {
            counts[start * max_order] = self.words[number as usize];
        }
        for (below, level) in self.longer.iter().enumerate().take(max_order - 1) {
            for start in 0..words.len().saturating_sub(below + 1) {
                // N-grams with the same first part have last parts with a common beginning. The rank of the
                // last part among those is therefore an upper bound of the rank here, and it is small if the
                // last part is common. This shortens the search.
                let ((first, _), (last, before)) = (numbers[start], numbers[start + 1]);
                let found = level.find(first, last, before);
                (numbers[start], counts[start * max_order + below + 1]) = match found {
                    Some(place) => {
                        let ngram = level.begins[first as usize] + place;
                        ((ngram, place), level.images[ngram as usize])
                    }
                    None => ((NONE, NONE), 0),
                };
            }
        }
    }
}

/// Mixes a number so that every output bit depends on all input bits (the finalizer of SplitMix64).
fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

impl Spelling<'_> {
    /// Writes the word ids of an n-gram.
    pub fn write(&self, number: u32, words: &mut [u32]) {
        let parts = |number: u32, order: usize| self.0[order - 2][number as usize];
        let mut shorter = number;
        for order in (1..=words.len()).rev() {
            let mut last = shorter;
            for order in (2..=order).rev() {
                last = parts(last, order).1;
            }
            words[order - 1] = last;
            if order > 1 {
                shorter = parts(shorter, order).0;
            }
        }
    }
}

/// N-grams from external sources, added one by one.
#[derive(Default)]
pub(crate) struct Given {
    pub words: Vec<u32>,
    longer: Vec<Shard>,
}

impl Given {
    /// Returns the image count of an n-gram whose words are known.
    ///
    /// If the n-gram or its parts are new, they are added with `images` images.
    pub fn images_of(&mut self, ngram: &[u32], images: u32) -> &mut u32 {
        match ngram {
            [word] => &mut self.words[*word as usize],
            _ => &mut self.entry(ngram, images).count,
        }
    }

    fn entry(&mut self, ngram: &[u32], images: u32) -> &mut Entry {
        let mut number = |ngram: &[u32]| match ngram {
            [word] => *word,
            _ => self.entry(ngram, images).number,
        };
        let key = key(number(&ngram[..ngram.len() - 1]), number(&ngram[1..]));
        if self.longer.len() < ngram.len() - 1 {
            self.longer.push(Shard::default());
        }
        self.longer[ngram.len() - 2].entry(hash(key), key, images)
    }

    /// Returns the image counts of the words, and the longer n-grams.
    pub fn counted(self) -> (Vec<u32>, Vec<Counts>) {
        (self.words, self.longer.into_iter().map(|mut of_order| of_order.taken()).collect())
    }
}

#[derive(Clone, Copy)]
struct Entry {
    key: u64,
    number: u32,
    count: u32,
}

/// A hash table that sums the counts of n-grams.
#[derive(Default)]
pub(crate) struct Shard {
    entries: HashTable<Entry>,
}

impl Shard {
    /// Removes and returns the n-grams in the order of their ids.
    pub fn taken(&mut self) -> Counts {
        let ngrams = self.entries.len();
        let mut counts = Counts { parts: vec![(NONE, NONE); ngrams], images: vec![0; ngrams] };
        for &Entry { key, number, count, .. } in &self.entries {
            counts.parts[number as usize] = ((key >> 32) as u32, key as u32);
            counts.images[number as usize] = count;
        }
        self.entries.clear();
        counts
    }

    /// Adds images to an n-gram and returns its id.
    pub fn add(&mut self, hash_of_key: u64, key: u64, images: u32) -> u32 {
        let entry = self.entry(hash_of_key, key, 0);
        entry.count = entry.count.saturating_add(images);
        entry.number
    }

    fn entry(&mut self, hash_of_key: u64, key: u64, count: u32) -> &mut Entry {
        let number = self.entries.len() as u32;
        let entry = self.entries.entry(hash_of_key, |entry| entry.key == key, |entry| hash(entry.key));
        entry.or_insert(Entry { key, number, count }).into_mut()
    }
}

pub(crate) fn key(first: u32, last: u32) -> u64 {
    u64::from(first) << 32 | u64::from(last)
}

/// Hashes a key so that every bit affects the whole result. Low bits select a slot, and middle bits a shard.
pub(crate) fn hash(key: u64) -> u64 {
    let product = u128::from(key ^ 0x243f_6a88_85a3_08d3) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ (product >> 64) as u64
}

pub(crate) fn shard_of(hash: u64, count: usize) -> usize {
    (hash >> 40) as usize & (count - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use capeval_tokens::Tokenization;

    /// Counts the images with each n-gram in the simplest way.
    fn count_naively(images: &[Vec<&str>], order: usize) -> BTreeMap<Vec<String>, u32> {
        let mut counts = BTreeMap::new();
        for references in images {
            let words_of =
                |r: &&str| r.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect::<Vec<_>>();
            let words = references.iter().map(words_of);
            let ngrams: BTreeSet<Vec<String>> =
                words.flat_map(|w| w.windows(order).map(<[_]>::to_vec).collect::<Vec<_>>()).collect();
            ngrams.into_iter().for_each(|ngram| *counts.entry(ngram).or_insert(0) += 1);
        }
        counts.retain(|_, count| *count > 1);
        counts
    }

    fn images() -> Vec<Vec<&'static str>> {
        vec![
            vec!["a dog runs on the grass", "a dog runs fast", "the dog runs on the grass"],
            vec!["a dog runs on the beach", "dog"],
            vec!["a cat sits on the grass", "a a a a a"],
            vec!["a a a a b"],
        ]
    }

    fn references(images: &[Vec<&str>]) -> References {
        let captions: Vec<&str> = images.iter().flatten().copied().collect();
        let mut starts = vec![0];
        images.iter().for_each(|references| starts.push(starts[starts.len() - 1] + references.len()));
        References::new(&captions, starts, Tokenization::None)
    }

    #[test]
    fn every_length_is_counted() {
        check_counts(&images());
    }

    #[test]
    fn many_references_are_counted_by_several_threads() {
        // As in captions, some words and n-grams are in most images and some in one. The longest are rare.
        let words: Vec<String> = (0..300).map(|word| format!("w{word}")).collect();
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut caption = || {
            let words = (0..next(24)).map(|_| {
                let common = 1 + next(6);
                &words[next(common * common * common) as usize][..]
            });
            words.collect::<Vec<_>>().join(" ")
        };
        let images: Vec<Vec<String>> =
            (0..2500).map(|image| (0..image % 6).map(|_| caption()).collect()).collect();
        let images: Vec<Vec<&str>> =
            images.iter().map(|captions| captions.iter().map(String::as_str).collect()).collect();
        assert!(references(&images).tokens().all_words().len() > 1 << 16);
        check_counts(&images);
    }

    fn check_counts(images: &[Vec<&str>]) {
        let counted = DocumentFrequencies::of_references(&references(images), 4);
        for order in 1..=4 {
            let text =
                |words: Vec<u32>| words.iter().map(|&w| counted.vocabulary().word(w).to_owned()).collect();
            let ngrams: BTreeMap<Vec<String>, u32> =
                counted.of_order(order).into_iter().map(|(words, count)| (text(words), count)).collect();
            let plain = count_naively(images, order);
            assert_eq!(ngrams.len(), plain.len());
            assert!(ngrams == plain, "{order}");
        }
    }

    #[test]
    fn external_counts_are_found_without_their_parts() {
        let mut vocabulary = Vocabulary::default();
        ["a", "b", "c"].iter().for_each(|word| _ = vocabulary.intern(word));
        let ngrams: [(&[u32], u32); 2] = [(&[0, 1, 2], 5), (&[1], 7)];
        let made = DocumentFrequencies::from_counts(vocabulary, 10.0, ngrams.into_iter());
        let mut counts = Vec::new();
        made.of_words(&[0, 1, 2, 9], 4, |word| (word < 3).then_some(word), &mut Vec::new(), &mut counts);
        assert_eq!(counts, [1, 1, 5, 0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
