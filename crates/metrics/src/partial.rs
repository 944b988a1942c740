//! Document frequencies of a part of the images, to be added to those of the other parts.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hashbrown::HashTable;
use rayon::prelude::*;

use capeval_tokens::{References, Vocabulary};

use crate::MAX_ORDER;
use crate::frequencies::{DocumentFrequencies, Known, Level, NONE, Shard, hash, key, shard_of};

/// The number of images of a part with each n-gram. [`DocumentFrequencies`] leave out what only one image
/// has; here every n-gram is counted, since an image of another part may have it too.
pub struct PartialFrequencies(DocumentFrequencies);

/// N-grams of one length as arrays: the numbers of their two parts, and the number of images.
pub type Ngrams = (Vec<u32>, Vec<u32>, Vec<u32>);

/// The same, of somebody else.
pub type GivenNgrams<'a> = (&'a [u32], &'a [u32], &'a [u32]);

/// What can be wrong with a row of n-grams from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowError {
    /// It is not one to four words joined by single spaces.
    Ngram(usize),
    /// Its number of images, or the sum of those of several rows, is out of range.
    Images(usize),
}

impl PartialFrequencies {
    /// Counts all n-grams of one to four words.
    pub fn of_references(references: &References) -> Self {
        Self(DocumentFrequencies::counted(references, MAX_ORDER, 1).0)
    }

    /// The sum of parts that have no image in common.
    pub fn merged(parts: &[&Self]) -> Self {
        let mut vocabulary = Vocabulary::default();
        let mut words: Vec<u32> = Vec::new();
        let mut numbers: Vec<Vec<u32>> = Vec::new();
        for Self(part) in parts {
            let of_part = part.vocabulary.words().zip(&part.words).map(|(word, &images)| {
                let number = vocabulary.intern(word) as usize;
                words.resize(words.len().max(number + 1), 0);
                words[number] = words[number].saturating_add(images);
                number as u32
            });
            numbers.push(of_part.collect());
        }
        let mut longer = Vec::new();
        for order in 2..=MAX_ORDER {
            let levels: Vec<Option<&Level>> = parts.iter().map(|part| part.0.longer.get(order - 2)).collect();
            let (level, of_parts) = merged(&levels, &numbers);
            longer.push(level);
            numbers = of_parts;
        }
        let images = parts.iter().map(|part| part.0.images).sum();
        Self(DocumentFrequencies { vocabulary: Arc::new(vocabulary), images, words, longer })
    }

    /// The document frequencies, once all images are counted.
    pub fn finish(&self) -> DocumentFrequencies {
        let Self(counted) = self;
        let mut longer = pruned(counted);
        longer.par_iter_mut().for_each(make_findable);
        let (vocabulary, words) = (Arc::clone(&counted.vocabulary), counted.words.clone());
        DocumentFrequencies { vocabulary, images: counted.images, words, longer }
    }

    /// How many images were counted.
    pub fn images(&self) -> f64 {
        self.0.images
    }

    /// How many numbers n-grams of `order` words have.
    pub fn size(&self, order: usize) -> usize {
        match order {
            1 => self.0.words.len(),
            _ => self.0.longer.get(order - 2).map_or(0, |level| level.counts.len()),
        }
    }

    /// The n-grams of `order` words in a range of numbers, as texts with single spaces, one after the other,
    /// with where each ends and the number of its images.
    pub fn rows(&self, order: usize, numbers: Range<usize>) -> (String, Vec<i32>, Vec<i64>) {
        let Self(counted) = self;
        let (mut text, mut ends, mut images) = (String::new(), Vec::new(), Vec::new());
        let counts = if order == 1 { &counted.words } else { &counted.longer[order - 2].counts };
        let mut words = [0; MAX_ORDER];
        for number in numbers.filter(|&number| counts[number] > 0) {
            counted.spell(number as u32, &mut words[..order]);
            for (place, &word) in words[..order].iter().enumerate() {
                text.push_str(if place == 0 { "" } else { " " });
                text.push_str(counted.vocabulary.word(word));
            }
            ends.push(text.len() as i32);
            images.push(i64::from(counts[number]));
        }
        (text, ends, images)
    }

    /// Reads n-grams with the number of images that have each; the rows of one n-gram add up.
    ///
    /// # Errors
    /// [`RowError`] of the first row that is none.
    pub fn from_rows<'a>(images: f64, rows: impl Iterator<Item = (&'a str, i64)>) -> Result<Self, RowError> {
        let mut vocabulary = Vocabulary::default();
        let mut counted = DocumentFrequencies::from_counts(Vocabulary::default(), images, std::iter::empty());
        let mut words = Vec::with_capacity(MAX_ORDER);
        for (row, (text, of_row)) in rows.enumerate() {
            words.clear();
            words.extend(text.split(' ').map(|word| vocabulary.intern(word)));
            if words.len() > MAX_ORDER || text.split(' ').any(|word| !is_word(word)) {
                return Err(RowError::Ngram(row));
            }
            counted.words.resize(vocabulary.len(), 0);
            let number = counted.number_of(&words, 0) as usize;
            let sum = match words.len() {
                1 => &mut counted.words[number],
                order => &mut counted.longer[order - 2].counts[number],
            };
            let of_row = u32::try_from(of_row).map_err(|_| RowError::Images(row))?;
            *sum = sum
                .checked_add(of_row)
                .filter(|&sum| f64::from(sum) <= images)
                .ok_or(RowError::Images(row))?;
        }
        counted.vocabulary = Arc::new(vocabulary);
        counted.longer.iter_mut().for_each(|level| level.shards.clear());
        Ok(Self(counted))
    }

    /// The words, and how many images have each.
    pub fn words(&self) -> (&Vocabulary, &[u32]) {
        (&self.0.vocabulary, &self.0.words)
    }

    /// The n-grams of two words, of three and of four.
    pub fn longer(&self) -> Vec<Ngrams> {
        self.0.longer.iter().map(ngrams).collect()
    }

    /// Takes what [`Self::words`] and [`Self::longer`] gave; `None` where they do not fit together.
    pub fn from_arrays(
        vocabulary: Vocabulary,
        images: f64,
        words: &[u32],
        longer: &[GivenNgrams<'_>],
    ) -> Option<Self> {
        let mut below = words.len();
        let mut levels = Vec::new();
        for &(first, last, counts) in longer {
            let known = |parts: &[u32]| parts.iter().all(|&part| (part as usize) < below);
            if first.len() != counts.len() || last.len() != counts.len() || !known(first) || !known(last) {
                return None;
            }
            below = counts.len();
            let parts = first.iter().copied().zip(last.iter().copied()).collect();
            levels.push(Level { parts, counts: counts.to_vec(), shards: Vec::new() });
        }
        let fits = vocabulary.len() == words.len() && levels.len() < MAX_ORDER;
        let (vocabulary, words) = (Arc::new(vocabulary), words.to_vec());
        fits.then_some(Self(DocumentFrequencies { vocabulary, images, words, longer: levels }))
    }
}

impl DocumentFrequencies {
    /// The number of images with each word, and the longer n-grams that two or more images have, with their
    /// parts: less to write and to read than all words of all n-grams.
    pub fn to_parts(&self) -> (&[u32], Vec<Ngrams>) {
        (&self.words, pruned(self).iter().map(ngrams).collect())
    }

    /// Takes what [`Self::to_parts`] gave; `None` where it does not fit together.
    pub fn from_parts(
        vocabulary: Vocabulary,
        images: f64,
        words: &[u32],
        longer: &[GivenNgrams<'_>],
    ) -> Option<Self> {
        let PartialFrequencies(mut made) =
            PartialFrequencies::from_arrays(vocabulary, images, words, longer)?;
        made.longer.par_iter_mut().for_each(make_findable);
        Some(made)
    }
}

fn ngrams(level: &Level) -> Ngrams {
    let (first, last) = level.parts.iter().copied().unzip();
    (first, last, level.counts.clone())
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && !word.contains(capeval_tokens::is_python_space)
}

/// The sum of the n-grams of one length, and the number in it of each n-gram of each part. `numbers` has, for
/// each part, the number in the sum of each n-gram that is one word shorter.
fn merged(parts: &[Option<&Level>], numbers: &[Vec<u32>]) -> (Level, Vec<Vec<u32>>) {
    let new: Vec<Vec<AtomicU32>> = parts
        .iter()
        .map(|part| (0..part.map_or(0, |level| level.counts.len())).map(|_| AtomicU32::new(NONE)).collect())
        .collect();
    // As in counting, each thread reads everything and keeps what is of its shard.
    let shards = rayon::current_num_threads().clamp(1, 8).next_power_of_two();
    let tables: Vec<Shard> = (0..shards)
        .into_par_iter()
        .map(|shard| {
            let mut table = Shard::default();
            for ((part, numbers), new) in parts.iter().zip(numbers).zip(&new) {
                let Some(level) = part else { continue };
                for ((&(first, last), &images), new) in level.parts.iter().zip(&level.counts).zip(new) {
                    let key = key(numbers[first as usize], numbers[last as usize]);
                    let hash = hash(key);
                    if shard_of(hash, shards) == shard {
                        let number = table.add(hash, key, images);
                        new.store(number * shards as u32 + shard as u32, Ordering::Relaxed);
                    }
                }
            }
            table
        })
        .collect();
    let (level, firsts) = Level::joined(tables, false);
    let number = |stored: AtomicU32| match stored.into_inner() {
        NONE => NONE,
        of_shard => firsts[of_shard as usize % shards] + of_shard / shards as u32,
    };
    let new = new.into_iter().map(|of_part| of_part.into_iter().map(number).collect());
    (level, new.collect())
}

/// The levels of the n-grams that two or more images have, and of their parts; none can be found yet.
fn pruned(counted: &DocumentFrequencies) -> Vec<Level> {
    let mut wanted: Vec<Vec<bool>> = Vec::new();
    for level in counted.longer.iter().rev() {
        let mut of_level: Vec<bool> = level.counts.iter().map(|&images| images > 1).collect();
        // In a selection of n-grams, the parts of an n-gram may be missing.
        if let Some((longer, wanted)) =
            counted.longer.get(counted.longer.len() - wanted.len()).zip(wanted.last())
        {
            for (&(first, last), _) in longer.parts.iter().zip(wanted).filter(|(_, wanted)| **wanted) {
                of_level[first as usize] = true;
                of_level[last as usize] = true;
            }
        }
        wanted.push(of_level);
    }
    wanted.reverse();
    let mut numbers: Vec<u32> = (0..counted.words.len() as u32).collect();
    let mut longer = Vec::new();
    for (level, wanted) in counted.longer.iter().zip(&wanted) {
        let (kept, of_kept) = kept(level, wanted, &numbers);
        longer.push(kept);
        numbers = of_kept;
    }
    longer
}

/// The wanted n-grams of a level, and the new number of each n-gram. `numbers` are the new numbers below.
fn kept(level: &Level, wanted: &[bool], numbers: &[u32]) -> (Level, Vec<u32>) {
    let mut kept = Level::default();
    let mut new = vec![NONE; wanted.len()];
    for (number, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
        new[number] = kept.parts.len() as u32;
        let (first, last) = level.parts[number];
        kept.parts.push((numbers[first as usize], numbers[last as usize]));
        kept.counts.push(level.counts[number]);
    }
    (kept, new)
}

/// Lets the n-grams of a level be found by their parts.
fn make_findable(level: &mut Level) {
    let mut known = HashTable::with_capacity(level.parts.len());
    for (number, (&(first, last), &images)) in level.parts.iter().zip(&level.counts).enumerate() {
        let ngram = Known { key: key(first, last), number: number as u32, images };
        known.insert_unique(ngram.hash(), ngram, Known::hash);
    }
    level.shards = vec![known];
}

#[cfg(test)]
mod tests {
    use super::*;
    use capeval_tokens::Tokenization;
    use std::collections::BTreeMap;

    const CAPTIONS: [&str; 6] =
        ["a dog runs on the grass", "a dog runs fast", "the dog runs on the grass", "", "a a a a a", "dog"];

    fn counted(captions: &[&str]) -> PartialFrequencies {
        let starts = (0..=captions.len()).collect();
        PartialFrequencies::of_references(&References::new(captions, starts, Tokenization::None))
    }

    fn texts(frequencies: &DocumentFrequencies) -> BTreeMap<String, u32> {
        let orders = (1..=MAX_ORDER).flat_map(|order| frequencies.of_order(order));
        let text = |words: Vec<u32>| {
            words.iter().map(|&word| frequencies.vocabulary().word(word)).collect::<Vec<_>>().join(" ")
        };
        orders.map(|(words, images)| (text(words), images)).collect()
    }

    fn rows(counted: &PartialFrequencies) -> BTreeMap<String, i64> {
        let mut all = BTreeMap::new();
        for order in 1..=MAX_ORDER {
            let (text, ends, images) = counted.rows(order, 0..counted.size(order));
            let starts = std::iter::once(0).chain(ends.iter().copied());
            for ((start, &end), images) in starts.zip(&ends).zip(images) {
                all.insert(text[start as usize..end as usize].to_owned(), images);
            }
        }
        all
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let references = References::new(&CAPTIONS, (0..=CAPTIONS.len()).collect(), Tokenization::None);
        let whole = DocumentFrequencies::of_references(&references, MAX_ORDER);
        for cut in 0..=CAPTIONS.len() {
            let (a, b) = (counted(&CAPTIONS[..cut]), counted(&CAPTIONS[cut..]));
            let merged = PartialFrequencies::merged(&[&b, &a]);
            assert_eq!(texts(&merged.finish()), texts(&whole));
            assert_eq!(rows(&merged), rows(&counted(&CAPTIONS)));
            assert_eq!(merged.finish().images(), 6.0);
        }
    }

    #[test]
    fn frequencies_are_made_again_of_their_parts() {
        let references = References::new(&CAPTIONS, (0..=CAPTIONS.len()).collect(), Tokenization::None);
        let whole = DocumentFrequencies::of_references(&references, MAX_ORDER);
        let (words, longer) = whole.to_parts();
        // N-grams of one image, which the count of the whole has numbers for, are none of them.
        assert!(longer.iter().all(|(_, _, counts)| counts.iter().all(|&images| images > 1)));
        let vocabulary = || Vocabulary::clone(whole.vocabulary());
        let given: Vec<GivenNgrams<'_>> = longer.iter().map(|(a, b, c)| (&a[..], &b[..], &c[..])).collect();
        let again = DocumentFrequencies::from_parts(vocabulary(), 6.0, words, &given).unwrap();
        assert_eq!(texts(&again), texts(&whole));
        let found = |frequencies: &DocumentFrequencies| {
            let mut counts = Vec::new();
            let words = references.tokens().all_words();
            frequencies.of_words(words, MAX_ORDER, Some, &mut Vec::new(), &mut counts);
            counts.into_iter().map(|images| images.max(1)).collect::<Vec<_>>()
        };
        assert_eq!(found(&again), found(&whole));
        assert!(DocumentFrequencies::from_parts(vocabulary(), 6.0, &words[1..], &given).is_none());
        let (first, last, images) = given[0];
        let uneven = [(&first[1..], last, images)];
        assert!(DocumentFrequencies::from_parts(vocabulary(), 6.0, words, &uneven).is_none());
    }

    #[test]
    fn rows_are_read_again() {
        let rows = rows(&counted(&CAPTIONS));
        assert_eq!((rows["a"], rows["dog runs on the"], rows["a a a a"]), (3, 2, 1));
        let read = |rows: &BTreeMap<String, i64>| {
            PartialFrequencies::from_rows(6.0, rows.iter().map(|(text, images)| (text.as_str(), *images)))
        };
        assert_eq!(self::rows(&read(&rows).unwrap()), rows);
        // Without the parts of its n-grams, too.
        let some = rows.iter().filter(|(text, _)| text.contains("runs on"));
        let some: BTreeMap<String, i64> = some.map(|(text, images)| (text.clone(), *images)).collect();
        let again = read(&some).unwrap();
        assert_eq!(self::rows(&again), some);
        let finished = texts(&again.finish());
        assert_eq!(finished["dog runs on the"], 2);
        let with = |text: &str, images| read(&BTreeMap::from([(text.to_owned(), images)])).err();
        for text in ["", "a  b", "a ", "a b c d e", "a\u{a0}b"] {
            assert_eq!(with(text, 1), Some(RowError::Ngram(0)), "{text}");
        }
        assert_eq!(with("a", -1), Some(RowError::Images(0)));
        assert_eq!(with("a", 7), Some(RowError::Images(0)));
    }
}
