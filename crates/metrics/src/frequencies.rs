//! In how many images each n-gram occurs.

use std::sync::Arc;

use hashbrown::HashTable;
use rayon::prelude::*;

use crate::MAX_ORDER;
use crate::tokens::References;
use crate::vocabulary::Vocabulary;

/// The document frequency of every n-gram of a set of references: the number of images that have
/// the n-gram in at least one reference.
pub struct DocumentFrequencies {
    vocabulary: Arc<Vocabulary>,
    images: f64,
    tables: Tables,
}

/// An n-gram is its words' numbers side by side in one integer: exact, and one comparison. 16 bits a
/// word are enough for any caption corpus known; 32 are there for the others.
enum Tables {
    Narrow(Shards<u64>),
    Wide(Shards<u128>),
}

impl DocumentFrequencies {
    /// Counts the n-grams of one to `max_order` words of `references`.
    pub fn of_references(references: &References, max_order: usize) -> Self {
        let vocabulary = Arc::clone(references.vocabulary());
        let tables = if vocabulary.len() < usize::from(u16::MAX) {
            Tables::Narrow(Shards::of_references(references, max_order))
        } else {
            Tables::Wide(Shards::of_references(references, max_order))
        };
        Self { vocabulary, images: references.images() as f64, tables }
    }

    /// Makes a table from n-grams counted elsewhere, over `images` images. `ngrams` are word numbers
    /// in `vocabulary`, each n-gram once and of one to four words.
    pub fn from_counts<'a>(
        vocabulary: Vocabulary,
        images: f64,
        ngrams: impl Iterator<Item = (&'a [u32], u32)>,
    ) -> Self {
        let tables = if vocabulary.len() < usize::from(u16::MAX) {
            Tables::Narrow(Shards::from_counts(ngrams))
        } else {
            Tables::Wide(Shards::from_counts(ngrams))
        };
        Self { vocabulary: Arc::new(vocabulary), images, tables }
    }

    /// The words that the n-grams are made of.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// How many images were counted.
    pub fn images(&self) -> f64 {
        self.images
    }

    /// The n-grams of `order` words with their frequencies, in the order of their words' numbers.
    pub fn of_order(&self, order: usize) -> Vec<(Vec<u32>, u32)> {
        let mut ngrams = match &self.tables {
            Tables::Narrow(shards) => shards.of_order(order),
            Tables::Wide(shards) => shards.of_order(order),
        };
        ngrams.par_sort_unstable();
        ngrams
    }

    /// Calls `visit` with the order and the frequency of each n-gram of `words`: for each start, from
    /// one word up to `max_order`. A word for which `number` has nothing makes its n-grams unknown (0).
    pub fn visit(
        &self,
        words: &[u32],
        max_order: usize,
        number: impl Fn(u32) -> Option<u32>,
        visit: impl FnMut(usize, usize, u32),
    ) {
        match &self.tables {
            Tables::Narrow(shards) => shards.visit(words, max_order, number, visit),
            Tables::Wide(shards) => shards.visit(words, max_order, number, visit),
        }
    }
}

trait Key: Copy + Eq + Send + Sync {
    const EMPTY: Self;
    fn then(self, word: u32) -> Self;
    fn words(self) -> Vec<u32>;
    fn hash(self) -> u64;
}

/// Spreads every bit of `key` over the whole product, so that low bits can pick a slot and bits in
/// the middle a shard.
fn folded(key: u64) -> u64 {
    let product = u128::from(key ^ 0x243f_6a88_85a3_08d3) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ (product >> 64) as u64
}

impl Key for u64 {
    const EMPTY: Self = 0;
    fn then(self, word: u32) -> Self {
        self << 16 | u64::from(word + 1)
    }
    fn words(self) -> Vec<u32> {
        let parts = [self >> 48, self >> 32, self >> 16, self];
        parts
            .into_iter()
            .map(|part| (part & 0xffff) as u32)
            .filter(|&part| part > 0)
            .map(|part| part - 1)
            .collect()
    }
    fn hash(self) -> u64 {
        folded(self)
    }
}

impl Key for u128 {
    const EMPTY: Self = 0;
    fn then(self, word: u32) -> Self {
        self << 32 | u128::from(word + 1)
    }
    fn words(self) -> Vec<u32> {
        let parts = [self >> 96, self >> 64, self >> 32, self];
        parts.into_iter().map(|part| part as u32).filter(|&part| part > 0).map(|part| part - 1).collect()
    }
    fn hash(self) -> u64 {
        folded(self as u64 ^ folded((self >> 64) as u64))
    }
}

#[derive(Clone, Copy)]
struct Entry<K> {
    ngram: K,
    frequency: u32,
    /// The image counted last, so that an n-gram in several references of an image counts once.
    image: u32,
}

/// The table in parts, so that each thread fills one.
struct Shards<K> {
    shards: Vec<HashTable<Entry<K>>>,
}

impl<K: Key> Shards<K> {
    fn of_references(references: &References, max_order: usize) -> Self {
        // Each thread reads all references and keeps the n-grams of its shard: reading is cheap
        // beside filling the table, and nothing has to be handed from thread to thread.
        let count = rayon::current_num_threads().clamp(1, 8).next_power_of_two();
        let expected = references.tokens().total_words() * max_order / 3 / count;
        let shards = (0..count).into_par_iter().map(|shard| {
            let mut table = HashTable::with_capacity(expected);
            for image in 0..references.images() {
                for reference in references.of(image) {
                    let words = references.tokens().words(reference);
                    each_ngram(words, max_order, |ngram: K, _| {
                        let hash = ngram.hash();
                        if shard_of(hash, count) == shard {
                            count_image(&mut table, hash, ngram, image as u32);
                        }
                    });
                }
            }
            table
        });
        Self { shards: shards.collect() }
    }

    fn from_counts<'a>(ngrams: impl Iterator<Item = (&'a [u32], u32)>) -> Self {
        let mut table = HashTable::new();
        for (words, frequency) in ngrams {
            let ngram = words.iter().fold(K::EMPTY, |ngram, &word| ngram.then(word));
            let entry = Entry { ngram, frequency, image: 0 };
            table.insert_unique(ngram.hash(), entry, |entry: &Entry<K>| entry.ngram.hash());
        }
        Self { shards: vec![table] }
    }

    fn get(&self, ngram: K) -> u32 {
        let hash = ngram.hash();
        let table = &self.shards[shard_of(hash, self.shards.len())];
        table.find(hash, |entry| entry.ngram == ngram).map_or(0, |entry| entry.frequency)
    }

    fn of_order(&self, order: usize) -> Vec<(Vec<u32>, u32)> {
        let entries = self.shards.iter().flat_map(|table| table.iter());
        let ngrams = entries.map(|entry| (entry.ngram.words(), entry.frequency));
        ngrams.filter(|(words, _)| words.len() == order).collect()
    }

    fn visit(
        &self,
        words: &[u32],
        max_order: usize,
        number: impl Fn(u32) -> Option<u32>,
        mut visit: impl FnMut(usize, usize, u32),
    ) {
        for start in 0..words.len() {
            let mut ngram = Some(K::EMPTY);
            for (longer, &word) in words[start..].iter().take(max_order).enumerate() {
                ngram = ngram.and_then(|ngram| Some(ngram.then(number(word)?)));
                visit(start, longer + 1, ngram.map_or(0, |ngram| self.get(ngram)));
            }
        }
    }
}

fn shard_of(hash: u64, count: usize) -> usize {
    (hash >> 40) as usize & (count - 1)
}

fn each_ngram<K: Key>(words: &[u32], max_order: usize, mut visit: impl FnMut(K, usize)) {
    debug_assert!(max_order <= MAX_ORDER);
    for start in 0..words.len() {
        let mut ngram = K::EMPTY;
        for (longer, &word) in words[start..].iter().take(max_order).enumerate() {
            ngram = ngram.then(word);
            visit(ngram, longer + 1);
        }
    }
}

fn count_image<K: Key>(table: &mut HashTable<Entry<K>>, hash: u64, ngram: K, image: u32) {
    use hashbrown::hash_table::Entry::{Occupied, Vacant};
    match table.entry(hash, |entry| entry.ngram == ngram, |entry| entry.ngram.hash()) {
        Occupied(mut known) => {
            let entry = known.get_mut();
            entry.frequency += u32::from(entry.image != image);
            entry.image = image;
        }
        Vacant(free) => {
            free.insert(Entry { ngram, frequency: 1, image });
        }
    }
}
