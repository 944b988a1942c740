//! In how many images each n-gram occurs.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rayon::prelude::*;

use capeval_tokens::{References, Vocabulary};

pub(crate) const NONE: u32 = u32::MAX;

/// The most tables that the n-grams of one length are counted in, and for how many words there is one.
const MOST_SHARDS: usize = 128;
const WORDS_OF_A_SHARD: usize = 1 << 12;

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
    /// The numbers of the two parts of each n-gram, in the level below.
    pub parts: Vec<(u32, u32)>,
    /// The number of images with each n-gram.
    pub counts: Vec<u32>,
    /// N-grams by their parts, in as many tables as they were counted in.
    pub shards: Vec<HashTable<Known>>,
}

/// An n-gram that can be found by its parts.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub key: u64,
    pub number: u32,
    /// As in the counts of its level, here for the sake of speed.
    pub images: u32,
}

impl Known {
    pub fn hash(&self) -> u64 {
        hash(self.key)
    }
}

/// The n-gram that starts at each word of the references, for each length.
pub(crate) struct Starts(Vec<Vec<Start>>);

/// The number of an n-gram, and in how many images it is; [`NONE`] and 1 where only one image has it.
///
/// The two are side by side so that weighing the references need not look all over the counts.
struct Start(AtomicU64);

impl Start {
    fn new(number: u32, images: u32) -> Self {
        Self(AtomicU64::new(u64::from(images) << 32 | u64::from(number)))
    }

    /// For threads that fill different places of one list.
    fn set(&self, number: u32, images: u32) {
        self.0.store(u64::from(images) << 32 | u64::from(number), Ordering::Relaxed);
    }

    fn number(&self) -> u32 {
        self.0.load(Ordering::Relaxed) as u32
    }

    fn images(&self) -> u32 {
        (self.0.load(Ordering::Relaxed) >> 32) as u32
    }
}

impl Starts {
    /// The document frequencies of all n-grams of a reference: `counts[start * max_order + order - 1]`.
    pub fn frequencies(&self, references: &References, row: usize, max_order: usize, counts: &mut Vec<u32>) {
        let range = references.tokens().range(row);
        counts.clear();
        counts.resize(range.len() * max_order, 1);
        for (order, starts) in self.0.iter().enumerate() {
            for (start, counts) in starts[range.clone()].iter().zip(counts.chunks_exact_mut(max_order)) {
                counts[order] = start.images();
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
        let of_word = |&word: &u32| {
            let images = words[word as usize];
            Start::new(if images >= least { word } else { NONE }, images)
        };
        let all_words = references.tokens().all_words().par_iter().with_min_len(1 << 16);
        let mut longer: Vec<Level> = Vec::new();
        let mut starts: Vec<Vec<Start>> = vec![all_words.map(of_word).collect()];
        for order in 2..=max_order {
            let (level, of_order) = Level::count(references, order, &starts[order - 2], least);
            longer.push(level);
            starts.push(of_order);
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
        for Level { counts, shards, .. } in &mut made.longer {
            shards.iter_mut().flatten().for_each(|known| known.images = counts[known.number as usize]);
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
        match shards[0].entry(hash(key), |known| known.key == key, Known::hash) {
            Entry::Occupied(known) => known.get().number,
            Entry::Vacant(free) => {
                let number = all.len() as u32;
                free.insert(Known { key, number, images });
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
                let known = level.find(numbers[start], numbers[start + 1]);
                numbers[start] = known.map_or(NONE, |known| known.number);
                counts[start * max_order + below + 1] = known.map_or(0, |known| known.images);
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
    /// Numbers and counts the n-grams of `order` words; `shorter` are the starts of the n-grams one word
    /// shorter. N-grams with a part that has no number are left out, and those in less than `least` images
    /// get none in the starts.
    fn count(references: &References, order: usize, shorter: &[Start], least: u32) -> (Self, Vec<Start>) {
        // First the n-grams are dealt out by their hashes, so that the table of each shard fits in the
        // processor's cache, which a table of all n-grams does not.
        let shards = (shorter.len() / WORDS_OF_A_SHARD).next_power_of_two().min(MOST_SHARDS);
        let chunks = rayon::current_num_threads().clamp(1, shards);
        let bound = |chunk: usize| references.images() * chunk / chunks;
        let mut of_chunks: Vec<Vec<Vec<Occurrence>>> = (0..chunks)
            .into_par_iter()
            .map(|chunk| dealt(references, bound(chunk)..bound(chunk + 1), order, shorter, shards))
            .collect();
        let of_shards: Vec<Vec<Vec<Occurrence>>> = (0..shards)
            .map(|shard| of_chunks.iter_mut().map(|chunk| std::mem::take(&mut chunk[shard])).collect())
            .collect();
        let (tables, of_shards): (Vec<Shard>, Vec<_>) = of_shards
            .into_par_iter()
            .map(|mut chunks| {
                let mut table = Shard::default();
                for occurrence in chunks.iter_mut().flatten() {
                    occurrence.image = table.count(hash(occurrence.key), occurrence.key, occurrence.image);
                }
                (table, chunks)
            })
            .unzip();
        let (level, firsts) = Self::joined(tables, least > 1);
        let starts: Vec<Start> =
            shorter.par_iter().with_min_len(1 << 16).map(|_| Start::new(NONE, 1)).collect();
        of_shards.into_par_iter().zip(firsts).for_each(|(chunks, first)| {
            for &Occurrence { start, image: number, .. } in chunks.iter().flatten() {
                let number = first + number;
                let images = level.counts[number as usize];
                if images >= least {
                    starts[start as usize].set(number, images);
                }
            }
        });
        (level, starts)
    }

    /// One level of the shards' n-grams, those of a shard one after the other, and the first number of each
    /// shard. Those that two images have are found by their parts, where that is wanted.
    pub fn joined(tables: Vec<Shard>, findable: bool) -> (Self, Vec<u32>) {
        let mut ngrams = 0;
        let mut firsts = Vec::with_capacity(tables.len());
        for table in &tables {
            firsts.push(ngrams as u32);
            ngrams += table.entries.len();
        }
        let levels: Vec<Self> = tables
            .into_par_iter()
            .zip(&firsts)
            .map(|(table, &first)| table.numbered_from(first, findable))
            .collect();
        let mut joined = Self {
            parts: Vec::with_capacity(ngrams),
            counts: Vec::with_capacity(ngrams),
            shards: Vec::with_capacity(levels.len()),
        };
        for level in levels {
            joined.parts.extend(level.parts);
            joined.counts.extend(level.counts);
            joined.shards.extend(level.shards);
        }
        (joined, firsts)
    }

    fn find(&self, first: u32, last: u32) -> Option<&Known> {
        if first == NONE || last == NONE {
            return None;
        }
        let key = key(first, last);
        let hash = hash(key);
        self.shards[shard_of(hash, self.shards.len())].find(hash, |known| known.key == key)
    }
}

/// One place where an n-gram starts.
#[derive(Clone, Copy)]
struct Occurrence {
    key: u64,
    start: u32,
    /// The image; once counted, the number of the n-gram in its shard.
    image: u32,
}

/// The n-grams of `order` words of some images, dealt out to the shards.
fn dealt(
    references: &References,
    images: Range<usize>,
    order: usize,
    shorter: &[Start],
    shards: usize,
) -> Vec<Vec<Occurrence>> {
    let words =
        |image: usize| references.of(image).map(|row| references.tokens().range(row).len()).sum::<usize>();
    let expected = images.clone().map(words).sum::<usize>() / shards;
    // Room that nothing is written into costs nothing.
    let mut dealt: Vec<_> = (0..shards).map(|_| Vec::with_capacity(expected + expected / 2)).collect();
    for image in images {
        for reference in references.of(image) {
            let range = references.tokens().range(reference);
            for start in range.start..(range.end + 1).saturating_sub(order) {
                let (first, last) = (shorter[start].number(), shorter[start + 1].number());
                if first != NONE && last != NONE {
                    let key = key(first, last);
                    let shard = shard_of(hash(key), shards);
                    dealt[shard].push(Occurrence { key, start: start as u32, image: image as u32 });
                }
            }
        }
    }
    dealt
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

    /// Its n-grams as a level in which the first has the number `first`.
    fn numbered_from(&self, first: u32, findable: bool) -> Level {
        let ngrams = self.entries.len();
        let mut level =
            Level { parts: vec![(NONE, NONE); ngrams], counts: vec![0; ngrams], shards: Vec::new() };
        let found = |entry: &&Counted| findable && entry.count > 1;
        let mut known = HashTable::with_capacity(self.entries.iter().filter(found).count());
        for &Counted { key, number, count, .. } in &self.entries {
            level.parts[number as usize] = ((key >> 32) as u32, key as u32);
            level.counts[number as usize] = count;
        }
        for &Counted { key, number, count, .. } in self.entries.iter().filter(found) {
            known.insert_unique(hash(key), Known { key, number: first + number, images: count }, Known::hash);
        }
        level.shards.push(known);
        level
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
