//! In how many images each n-gram occurs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rayon::prelude::*;

use capeval_tokens::{References, Vocabulary};

pub(crate) const NONE: u32 = u32::MAX;

/// The document frequency of the n-grams of a set of references: the number of images that have the
/// n-gram in at least one reference.
///
/// An n-gram of two or more words is known by its two overlapping parts, the n-gram without its last
/// word and the one without its first: a pair of numbers, exact for any vocabulary. CIDEr weighs an
/// n-gram of one image like one of no image, and a longer n-gram is in no more images than its parts.
/// So n-grams with a part that only one image has are not counted at all, which leaves out most
/// n-grams of three and four words.
pub struct DocumentFrequencies {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) images: f64,
    pub(crate) words: Vec<u32>,
    pub(crate) longer: Vec<Level>,
}

/// The n-grams of one length from two words on, numbered.
#[derive(Default)]
pub(crate) struct Level {
    /// The numbers of the two parts of each n-gram, in the level below; [`NONE`] for a number of no n-gram.
    pub parts: Vec<(u32, u32)>,
    /// The number of images with each n-gram.
    pub counts: Vec<u32>,
    /// N-grams by their parts, in as many tables as threads filled them.
    pub shards: Vec<HashTable<(u64, u32)>>,
}

/// The number of the n-gram that starts at each word of the references, for each length from two on;
/// [`NONE`] where only one image has it.
pub(crate) struct Starts(Vec<Vec<u32>>);

impl Starts {
    /// The document frequencies of all n-grams of a reference: `counts[start * max_order + order - 1]`.
    pub fn frequencies(
        &self,
        of: &DocumentFrequencies,
        references: &References,
        row: usize,
        max_order: usize,
        counts: &mut Vec<u32>,
    ) {
        let range = references.tokens().range(row);
        counts.clear();
        counts.resize(range.len() * max_order, 1);
        let words = references.tokens().words(row);
        for (word, counts) in words.iter().zip(counts.chunks_exact_mut(max_order)) {
            counts[0] = of.words[*word as usize];
        }
        for (longer, (numbers, level)) in self.0.iter().zip(&of.longer).enumerate() {
            for (&number, counts) in numbers[range.clone()].iter().zip(counts.chunks_exact_mut(max_order)) {
                if number != NONE {
                    counts[longer + 1] = level.counts[number as usize];
                }
            }
        }
    }
}

impl DocumentFrequencies {
    /// Counts the n-grams of one to `max_order` words of `references`.
    pub fn of_references(references: &References, max_order: usize) -> Self {
        Self::with_starts(references, max_order).0
    }

    pub(crate) fn with_starts(references: &References, max_order: usize) -> (Self, Starts) {
        Self::counted(references, max_order, 2)
    }

    /// Counts the n-grams whose parts are in `least` images or more.
    pub(crate) fn counted(references: &References, max_order: usize, least: u32) -> (Self, Starts) {
        let words = count_words(references);
        let mut longer: Vec<Level> = Vec::new();
        let mut starts: Vec<Vec<u32>> = Vec::new();
        for order in 2..=max_order {
            let shorter = match (starts.last(), longer.last()) {
                (Some(numbers), Some(level)) => (numbers.as_slice(), level.counts.as_slice()),
                _ => (references.tokens().all_words(), words.as_slice()),
            };
            let (level, numbers) = Level::count(references, order, shorter, least);
            longer.push(level);
            starts.push(numbers);
        }
        let vocabulary = Arc::clone(references.vocabulary());
        let images = references.images() as f64;
        (Self { vocabulary, images, words, longer }, Starts(starts))
    }

    /// Makes a table from n-grams counted elsewhere, over `images` images. `ngrams` are word numbers
    /// in `vocabulary`, each n-gram once.
    pub fn from_counts<'a>(
        vocabulary: Vocabulary,
        images: f64,
        ngrams: impl Iterator<Item = (&'a [u32], u32)>,
    ) -> Self {
        let words = vec![1; vocabulary.len()];
        let mut made = Self { vocabulary: Arc::new(vocabulary), images, words, longer: Vec::new() };
        for (ngram, count) in ngrams {
            match ngram {
                [] => {}
                [word] => made.words[*word as usize] = count,
                _ => {
                    let number = made.number_of(ngram, 1);
                    made.longer[ngram.len() - 2].counts[number as usize] = count;
                }
            }
        }
        made
    }

    /// The number of an n-gram in its level; it and its parts become known, in `images` images, if they
    /// were not.
    pub(crate) fn number_of(&mut self, ngram: &[u32], images: u32) -> u32 {
        if let [word] = ngram {
            return *word;
        }
        let (all_but_last, all_but_first) = (&ngram[..ngram.len() - 1], &ngram[1..]);
        let parts = (self.number_of(all_but_last, images), self.number_of(all_but_first, images));
        while self.longer.len() < ngram.len() - 1 {
            self.longer.push(Level { shards: vec![HashTable::new()], ..Level::default() });
        }
        let Level { parts: all, counts, shards } = &mut self.longer[ngram.len() - 2];
        let key = key(parts.0, parts.1);
        match shards[0].entry(hash(key), |known| known.0 == key, |known| hash(known.0)) {
            Entry::Occupied(known) => known.get().1,
            Entry::Vacant(free) => {
                let number = all.len() as u32;
                free.insert((key, number));
                all.push(parts);
                counts.push(images);
                number
            }
        }
    }

    /// The words that the n-grams are made of.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// How many images were counted.
    pub fn images(&self) -> f64 {
        self.images
    }

    /// The n-grams of `order` words that two or more images have, with their frequencies, in the order
    /// of their words' numbers.
    pub fn of_order(&self, order: usize) -> Vec<(Vec<u32>, u32)> {
        let counts = if order == 1 {
            &self.words
        } else {
            self.longer.get(order - 2).map_or(&self.words, |l| &l.counts)
        };
        if order > self.longer.len() + 1 {
            return Vec::new();
        }
        let numbers = counts.par_iter().enumerate().filter(|(_, count)| **count > 1);
        let mut ngrams: Vec<(Vec<u32>, u32)> =
            numbers.map(|(number, &count)| (self.words_of(number as u32, order), count)).collect();
        ngrams.par_sort_unstable();
        ngrams
    }

    fn words_of(&self, number: u32, order: usize) -> Vec<u32> {
        let mut words = vec![0; order];
        self.spell(number, &mut words);
        words
    }

    /// Writes the numbers of an n-gram's words.
    pub(crate) fn spell(&self, number: u32, words: &mut [u32]) {
        let parts = |number: u32, order: usize| self.longer[order - 2].parts[number as usize];
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

    /// The sum of a fingerprint of each n-gram of up to `max_order` words that two or more images have, of its
    /// words and its images; `words` has that of each word. No n-grams are listed, which would take memory.
    pub fn fingerprint(&self, words: &[u64], max_order: usize) -> u64 {
        let of_order = |order: usize| {
            let counts = match order {
                1 => &self.words,
                _ => match self.longer.get(order - 2) {
                    Some(level) => &level.counts,
                    None => return 0,
                },
            };
            let ngrams = counts.par_iter().enumerate().filter(|(_, count)| **count > 1);
            let fingerprints = ngrams.map(|(number, &count)| {
                let mut numbers = vec![0; order];
                self.spell(number as u32, &mut numbers);
                numbers
                    .iter()
                    .fold(u64::from(count), |value, &word| mixed(value.wrapping_add(words[word as usize])))
            });
            fingerprints.reduce(|| 0, u64::wrapping_add)
        };
        (1..=max_order).map(of_order).fold(0, u64::wrapping_add)
    }

    /// The document frequencies of all n-grams of `words`: `counts[start * max_order + order - 1]`, 0 where
    /// an n-gram is not known. `number` gives a word's number in [`Self::vocabulary`]; `numbers` is scratch.
    pub(crate) fn of_words(
        &self,
        words: &[u32],
        max_order: usize,
        number: impl Fn(u32) -> Option<u32>,
        numbers: &mut Vec<u32>,
        counts: &mut Vec<u32>,
    ) {
        counts.clear();
        counts.resize(words.len() * max_order, 0);
        numbers.clear();
        numbers.extend(words.iter().map(|&word| number(word).unwrap_or(NONE)));
        for (start, &number) in numbers.iter().enumerate().filter(|(_, number)| **number != NONE) {
            counts[start * max_order] = self.words[number as usize];
        }
        for (below, level) in self.longer.iter().enumerate().take(max_order - 1) {
            for start in 0..words.len().saturating_sub(below + 1) {
                numbers[start] = level.find(numbers[start], numbers[start + 1]);
                if numbers[start] != NONE {
                    counts[start * max_order + below + 1] = level.counts[numbers[start] as usize];
                }
            }
        }
    }
}

/// Mixes a number so that every bit depends on all bits of the input (the last steps of SplitMix64).
fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

impl Level {
    /// Numbers and counts the n-grams of `order` words; `numbers` and `counts` are those of the n-grams
    /// one word shorter, `numbers` by the word they start at. N-grams with a part that is in less than
    /// `least` images are left out.
    fn count(
        references: &References,
        order: usize,
        (numbers, counts): (&[u32], &[u32]),
        least: u32,
    ) -> (Self, Vec<u32>) {
        // Each thread reads all references and keeps the n-grams of its shard: reading is cheap beside
        // filling a table, and nothing has to be handed from thread to thread.
        let shards = rayon::current_num_threads().clamp(1, 8).next_power_of_two();
        let starts: Vec<AtomicU32> =
            numbers.par_iter().with_min_len(1 << 16).map(|_| AtomicU32::new(NONE)).collect();
        let counts_on = |number: u32| number != NONE && counts[number as usize] >= least;
        let tables: Vec<Shard> = (0..shards)
            .into_par_iter()
            .map(|shard| {
                let mut table = Shard::default();
                for image in 0..references.images() {
                    for reference in references.of(image) {
                        let range = references.tokens().range(reference);
                        for start in range.start..(range.end + 1).saturating_sub(order) {
                            let (first, last) = (numbers[start], numbers[start + 1]);
                            let key = key(first, last);
                            let hash = hash(key);
                            if shard_of(hash, shards) == shard && counts_on(first) && counts_on(last) {
                                let number = table.count(hash, key, image as u32);
                                starts[start].store(number * shards as u32 + shard as u32, Ordering::Relaxed);
                            }
                        }
                    }
                }
                table
            })
            .collect();
        let level = Self::joined(tables, least > 1);
        let stays = |number: u32| {
            if number != NONE && level.counts[number as usize] >= least { number } else { NONE }
        };
        let starts = starts.into_par_iter().with_min_len(1 << 16).map(|n| stays(n.into_inner())).collect();
        (level, starts)
    }

    /// One level of the shards' n-grams: number `i` of shard `s` of `n` becomes `i * n + s`. Those that two
    /// images have are found by their parts, where that is wanted.
    pub fn joined(tables: Vec<Shard>, findable: bool) -> Self {
        let shards = tables.len();
        let most = tables.iter().map(|table| table.entries.len()).max().unwrap_or(0);
        let mut level = Self {
            parts: vec![(NONE, NONE); most * shards],
            counts: vec![0; most * shards],
            shards: Vec::new(),
        };
        for (shard, table) in tables.into_iter().enumerate() {
            let mut known = HashTable::with_capacity(if findable { table.entries.len() } else { 0 });
            for &Counted { key, number, count, .. } in &table.entries {
                let number = number as usize * shards + shard;
                level.parts[number] = ((key >> 32) as u32, key as u32);
                level.counts[number] = count;
                if findable && count > 1 {
                    known.insert_unique(hash(key), (key, number as u32), |known| hash(known.0));
                }
            }
            level.shards.push(known);
        }
        level
    }

    fn find(&self, first: u32, last: u32) -> u32 {
        if first == NONE || last == NONE {
            return NONE;
        }
        let key = key(first, last);
        let hash = hash(key);
        let shard = &self.shards[shard_of(hash, self.shards.len())];
        shard.find(hash, |known| known.0 == key).map_or(NONE, |known| known.1)
    }
}

#[derive(Clone, Copy)]
struct Counted {
    key: u64,
    number: u32,
    count: u32,
    /// The image counted last, so that an n-gram in several references of an image counts once.
    image: u32,
}

/// The n-grams that one thread counts.
#[derive(Default)]
pub(crate) struct Shard {
    entries: HashTable<Counted>,
}

impl Shard {
    /// Counts an n-gram of an image, once an image.
    fn count(&mut self, hash_of_key: u64, key: u64, image: u32) -> u32 {
        let entry = self.entry(hash_of_key, key);
        if entry.count == 0 || entry.image != image {
            entry.count += 1;
            entry.image = image;
        }
        entry.number
    }

    /// Adds images with an n-gram that were counted elsewhere.
    pub fn add(&mut self, hash_of_key: u64, key: u64, images: u32) -> u32 {
        let entry = self.entry(hash_of_key, key);
        entry.count = entry.count.saturating_add(images);
        entry.number
    }

    fn entry(&mut self, hash_of_key: u64, key: u64) -> &mut Counted {
        let number = self.entries.len() as u32;
        let entry = self.entries.entry(hash_of_key, |entry| entry.key == key, |entry| hash(entry.key));
        entry.or_insert(Counted { key, number, count: 0, image: 0 }).into_mut()
    }
}

/// The number of images with each word of the references.
fn count_words(references: &References) -> Vec<u32> {
    let words = references.vocabulary().len();
    let counts = (0..references.images()).into_par_iter().with_min_len(8192).fold(
        || (vec![0; words], vec![NONE; words]),
        |(mut counts, mut last), image| {
            for &word in references.of(image).flat_map(|row| references.tokens().words(row)) {
                counts[word as usize] += u32::from(last[word as usize] != image as u32);
                last[word as usize] = image as u32;
            }
            (counts, last)
        },
    );
    let add = |mut sum: Vec<u32>, part: Vec<u32>| {
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        sum
    };
    counts.map(|(counts, _)| counts).reduce(|| vec![0; words], add)
}

pub(crate) fn key(first: u32, last: u32) -> u64 {
    u64::from(first) << 32 | u64::from(last)
}

/// Spreads every bit of `key` over the whole product, so that low bits can pick a slot and bits in the
/// middle a shard.
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

    /// N-grams with the number of images that have them, counted in the plainest way.
    fn plainly(images: &[Vec<&str>], order: usize) -> BTreeMap<Vec<String>, u32> {
        let mut counts = BTreeMap::new();
        for references in images {
            let words = references.iter().map(|r| r.split(' ').map(str::to_owned).collect::<Vec<_>>());
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
        let counted = DocumentFrequencies::of_references(&references(&images()), 4);
        for order in 1..=4 {
            let text =
                |words: Vec<u32>| words.iter().map(|&w| counted.vocabulary().word(w).to_owned()).collect();
            let ngrams: BTreeMap<Vec<String>, u32> =
                counted.of_order(order).into_iter().map(|(words, count)| (text(words), count)).collect();
            assert_eq!(ngrams, plainly(&images(), order));
        }
    }

    #[test]
    fn counts_from_elsewhere_are_found_even_without_their_parts() {
        let mut vocabulary = Vocabulary::default();
        ["a", "b", "c"].iter().for_each(|word| _ = vocabulary.intern(word));
        let ngrams: [(&[u32], u32); 2] = [(&[0, 1, 2], 5), (&[1], 7)];
        let made = DocumentFrequencies::from_counts(vocabulary, 10.0, ngrams.into_iter());
        let mut counts = Vec::new();
        made.of_words(&[0, 1, 2, 9], 4, |word| (word < 3).then_some(word), &mut Vec::new(), &mut counts);
        assert_eq!(counts, [1, 1, 5, 0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
