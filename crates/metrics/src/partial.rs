//! Partial document frequencies: those of some of the images, to be merged with other parts.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use capeval_tokens::{References, Vocabulary};

use crate::MAX_ORDER;
use crate::counting::count;
use crate::frequencies::{DocumentFrequencies, Given, Shard, Spelling, hash, key, shard_of};
use crate::levels::{Counts, Level, NONE, build_levels};

/// Approximate numbers of n-grams that a thread distributes at once during a merge, and that one table sums.
///
/// A table fits into the processor's cache.
const NGRAMS_OF_A_ROUND: usize = 1 << 19;
const NGRAMS_OF_A_SHARD: usize = 1 << 13;

/// Document frequencies of a part of the images.
///
/// [`DocumentFrequencies`] omit n-grams of a single image. Here all n-grams are counted, because images of
/// other parts may contain them too.
pub struct PartialFrequencies {
    vocabulary: Arc<Vocabulary>,
    images: f64,
    words: Vec<u32>,
    /// N-grams of two, three and four words. Their parts are ids in the order below.
    longer: Vec<Counts>,
}

/// N-grams of one order as arrays.
///
/// For [`PartialFrequencies`], the arrays are the ids of the first parts, the ids of the last parts, and the
/// numbers of images. For [`DocumentFrequencies`], they are sorted by parts: the offset of the n-grams with
/// each first part (with the end of the last ones), the ids of the last parts, and the numbers of images.
pub type Ngrams = (Vec<u32>, Vec<u32>, Vec<u32>);

/// Borrowed [`Ngrams`] from external sources.
pub type GivenNgrams<'a> = (&'a [u32], &'a [u32], &'a [u32]);

/// Error of an external row with an n-gram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowError {
    /// The row with this index is not one to four words joined by single spaces.
    Ngram(usize),
    /// In the row with this index, the number of images, or its sum over the rows of the n-gram, is out of
    /// range.
    Images(usize),
}

impl PartialFrequencies {
    /// Counts all n-grams of one to four words.
    pub fn of_references(references: &References) -> Self {
        let (words, longer) = count(references, MAX_ORDER, 1, |_, _| ());
        let counts = |level: Level| {
            let parts = level.iter().map(|(first, ngram)| (first, ngram.last)).collect();
            Counts { parts, images: level.images }
        };
        let longer = longer.into_iter().map(counts).collect();
        let vocabulary = Arc::clone(references.vocabulary());
        Self { vocabulary, images: references.images() as f64, words, longer }
    }

    /// Merges parts that have no images in common.
    pub fn merged(parts: &[&Self]) -> Self {
        let mut vocabulary = Vocabulary::default();
        let mut words: Vec<u32> = Vec::new();
        // Merged ids of the n-grams of each part, for one order at a time.
        let mut numbers: Vec<u32> = Vec::new();
        for part in parts {
            let of_part = part.vocabulary.words().zip(&part.words).map(|(word, &images)| {
                let number = vocabulary.intern(word) as usize;
                words.resize(words.len().max(number + 1), 0);
                words[number] = words[number].saturating_add(images);
                number as u32
            });
            numbers.extend(of_part);
        }
        let mut longer = Vec::new();
        for order in 2..=MAX_ORDER {
            let mut below = &numbers[..];
            let of_parts = parts.iter().filter_map(|part| {
                let own = below.split_off(..part.size(order - 1))?;
                Some((part.longer.get(order - 2)?, own))
            });
            let (counts, new) = merged(&of_parts.collect::<Vec<_>>());
            longer.push(counts);
            numbers = new;
        }
        let images = parts.iter().map(|part| part.images).sum();
        Self { vocabulary: Arc::new(vocabulary), images, words, longer }
    }

    /// Converts the counts to document frequencies, once all images are counted.
    pub fn finish(&self) -> DocumentFrequencies {
        let wanted = wanted(&self.longer);
        let longer = build_levels(self.words.len(), &self.longer, |level, number| wanted[level][number]);
        let (vocabulary, words) = (Arc::clone(&self.vocabulary), self.words.clone());
        DocumentFrequencies { vocabulary, images: self.images, words, longer }
    }

    /// Returns the number of images.
    pub fn images(&self) -> f64 {
        self.images
    }

    /// Returns the number of n-gram ids of an order.
    pub fn size(&self, order: usize) -> usize {
        self.counts(order).len()
    }

    fn counts(&self, order: usize) -> &[u32] {
        match order {
            1 => &self.words,
            _ => self.longer.get(order - 2).map_or(&[], |counts| &counts.images),
        }
    }

    /// Returns the n-grams of `order` words with ids in a range: their concatenated texts with single spaces,
    /// the end offset of each, and their numbers of images.
    pub fn rows(&self, order: usize, numbers: Range<usize>) -> (String, Vec<i32>, Vec<i64>) {
        let (mut text, mut ends, mut images) = (String::new(), Vec::new(), Vec::new());
        let spelling = Spelling(self.longer.iter().map(|counts| Cow::Borrowed(&counts.parts[..])).collect());
        let counts = self.counts(order);
        let mut words = [0; MAX_ORDER];
        for number in numbers.filter(|&number| counts[number] > 0) {
            spelling.write(number as u32, &mut words[..order]);
            for (place, &word) in words[..order].iter().enumerate() {
                text.push_str(if place == 0 { "" } else { " " });
                text.push_str(self.vocabulary.word(word));
            }
            ends.push(text.len() as i32);
            images.push(i64::from(counts[number]));
        }
        (text, ends, images)
    }

    /// Reads n-grams with their numbers of images. Rows of the same n-gram are added.
    ///
    /// # Errors
    /// Returns the [`RowError`] of the first invalid row.
    pub fn from_rows<'a>(images: f64, rows: impl Iterator<Item = (&'a str, i64)>) -> Result<Self, RowError> {
        let mut vocabulary = Vocabulary::default();
        let mut given = Given::default();
        let mut words = Vec::with_capacity(MAX_ORDER);
        for (row, (text, of_row)) in rows.enumerate() {
            words.clear();
            words.extend(text.split(' ').map(|word| vocabulary.intern(word)));
            if words.len() > MAX_ORDER || text.split(' ').any(|word| !is_word(word)) {
                return Err(RowError::Ngram(row));
            }
            given.words.resize(vocabulary.len(), 0);
            let sum = given.images_of(&words, 0);
            let of_row = u32::try_from(of_row).map_err(|_| RowError::Images(row))?;
            *sum = sum
                .checked_add(of_row)
                .filter(|&sum| f64::from(sum) <= images)
                .ok_or(RowError::Images(row))?;
        }
        let (words, longer) = given.counted();
        Ok(Self { vocabulary: Arc::new(vocabulary), images, words, longer })
    }

    /// Returns the words and their numbers of images.
    pub fn words(&self) -> (&Vocabulary, &[u32]) {
        (&self.vocabulary, &self.words)
    }

    /// Returns the n-grams of two, three and four words.
    pub fn longer(&self) -> Vec<Ngrams> {
        let arrays = |counts: &Counts| {
            let (first, last) = counts.parts.iter().copied().unzip();
            (first, last, counts.images.clone())
        };
        self.longer.iter().map(arrays).collect()
    }

    /// Builds frequencies from the results of [`Self::words`] and [`Self::longer`], or `None` if they are
    /// inconsistent.
    pub fn from_arrays(
        vocabulary: Vocabulary,
        images: f64,
        words: &[u32],
        longer: &[GivenNgrams<'_>],
    ) -> Option<Self> {
        let mut below = words.len();
        let mut of_orders = Vec::new();
        for &(first, last, images) in longer {
            let known = |parts: &[u32]| parts.iter().all(|&part| (part as usize) < below);
            if first.len() != images.len() || last.len() != images.len() || !known(first) || !known(last) {
                return None;
            }
            below = images.len();
            let parts = first.iter().copied().zip(last.iter().copied()).collect();
            of_orders.push(Counts { parts, images: images.to_vec() });
        }
        let fits = vocabulary.len() == words.len() && of_orders.len() < MAX_ORDER;
        let (vocabulary, words) = (Arc::new(vocabulary), words.to_vec());
        fits.then_some(Self { vocabulary, images, words, longer: of_orders })
    }
}

impl DocumentFrequencies {
    /// Returns the number of images with each word, and the longer n-grams by their parts, which are more
    /// compact than their words.
    pub fn to_parts(&self) -> (&[u32], Vec<Ngrams>) {
        let arrays = |level: &Level| (level.begins.clone(), level.lasts.clone(), level.images.clone());
        (&self.words, self.longer.iter().map(arrays).collect())
    }

    /// Builds frequencies from the result of [`Self::to_parts`], or `None` if it is inconsistent.
    pub fn from_parts(
        vocabulary: Vocabulary,
        images: f64,
        words: &[u32],
        longer: &[GivenNgrams<'_>],
    ) -> Option<Self> {
        let mut below = words.len();
        let mut levels = Vec::new();
        for &(begins, lasts, images) in longer {
            let ends =
                begins.first() == Some(&0) && begins.last().is_some_and(|&end| end as usize == lasts.len());
            if begins.len() != below + 1 || lasts.len() != images.len() || !ends || !begins.is_sorted() {
                return None;
            }
            let of_first = |bounds: &[u32]| &lasts[bounds[0] as usize..bounds[1] as usize];
            let in_order = |lasts: &[u32]| lasts.is_sorted_by(|one, next| one < next);
            if !begins.windows(2).all(|bounds| in_order(of_first(bounds)))
                || lasts.iter().any(|&last| last as usize >= below)
            {
                return None;
            }
            below = lasts.len();
            levels.push(Level { begins: begins.to_vec(), lasts: lasts.to_vec(), images: images.to_vec() });
        }
        let fits = vocabulary.len() == words.len() && levels.len() < MAX_ORDER;
        let (vocabulary, words) = (Arc::new(vocabulary), words.to_vec());
        fits.then_some(Self { vocabulary, images, words, longer: levels })
    }
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && !word.contains(capeval_tokens::is_python_space)
}

/// Merges the n-grams of one order. Each part comes with the merged ids of its n-grams one word shorter.
///
/// Returns the merged counts, and the merged id of each n-gram of each part.
fn merged(parts: &[(&Counts, &[u32])]) -> (Counts, Vec<u32>) {
    let ngrams: usize = parts.iter().map(|(counts, _)| counts.images.len()).sum();
    let threads = rayon::current_num_threads();
    let rounds = threads.max(ngrams / NGRAMS_OF_A_ROUND).next_power_of_two();
    let shards = (ngrams / rounds / NGRAMS_OF_A_SHARD).next_power_of_two();
    let places: Vec<AtomicU32> = (0..ngrams).map(|_| AtomicU32::new(NONE)).collect();
    let of_round = |table: &mut Shard, round: usize| -> Vec<Counts> {
        let some = round * shards..(round + 1) * shards;
        let add = |(shard, ngrams): (usize, Vec<Dealt>)| {
            for Dealt { key, images, place } in ngrams {
                let number = table.add(hash(key), key, images) * (rounds * shards) as u32;
                places[place as usize].store(number + shard as u32, Ordering::Relaxed);
            }
            table.taken()
        };
        some.clone().zip(distribute(parts, some, rounds * shards)).map(add).collect()
    };
    let mut sum = Counts::with_capacity(ngrams);
    let mut firsts = Vec::with_capacity(rounds * shards);
    // Each thread runs one round at a time, because the distributed n-grams take more memory than the sum.
    for first in (0..rounds).step_by(threads) {
        let some = (first..rounds.min(first + threads)).into_par_iter();
        let of_rounds: Vec<Vec<Counts>> = some.map_init(Shard::default, of_round).collect();
        firsts.extend(of_rounds.iter().flatten().map(|of_shard| sum.append(of_shard)));
    }
    sum.shrink();
    let number = |place: AtomicU32| {
        let place = place.into_inner() as usize;
        firsts[place % firsts.len()] + (place / firsts.len()) as u32
    };
    (sum, places.into_iter().map(number).collect())
}

/// An n-gram of a part, assigned to the shard that sums it.
struct Dealt {
    key: u64,
    images: u32,
    /// Index among the n-grams of all parts.
    place: u32,
}

/// Distributes the n-grams of one order to the shards in the range `some`, out of `all` shards.
fn distribute(parts: &[(&Counts, &[u32])], some: Range<usize>, all: usize) -> Vec<Vec<Dealt>> {
    let mut dealt: Vec<Vec<Dealt>> = some.clone().map(|_| Vec::new()).collect();
    let mut place = 0;
    for (counts, numbers) in parts {
        for (&(first, last), &images) in counts.parts.iter().zip(&counts.images) {
            let key = key(numbers[first as usize], numbers[last as usize]);
            let shard = shard_of(hash(key), all);
            if some.contains(&shard) {
                dealt[shard - some.start].push(Dealt { key, images, place });
            }
            place += 1;
        }
    }
    dealt
}

/// Returns which n-grams of each order occur in at least two images, or are parts of such n-grams.
fn wanted(longer: &[Counts]) -> Vec<Vec<bool>> {
    let mut wanted: Vec<Vec<bool>> =
        longer.iter().map(|counts| counts.images.iter().map(|&images| images > 1).collect()).collect();
    // If only some n-grams were given, their parts may have fewer images than they have.
    for order in (1..longer.len()).rev() {
        let (shorter, of_order) = wanted.split_at_mut(order);
        for (&(first, last), _) in longer[order].parts.iter().zip(&of_order[0]).filter(|(_, wanted)| **wanted)
        {
            shorter[order - 1][first as usize] = true;
            shorter[order - 1][last as usize] = true;
        }
    }
    wanted
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
    fn frequencies_round_trip_through_their_parts() {
        let references = References::new(&CAPTIONS, (0..=CAPTIONS.len()).collect(), Tokenization::None);
        let whole = DocumentFrequencies::of_references(&references, MAX_ORDER);
        let (words, longer) = whole.to_parts();
        // N-grams of a single image are omitted.
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
        let (begins, images) = ([&[0, 2, 2][..], &vec![3; words.len() - 2]].concat(), [2, 2, 2]);
        let read = |begins: &[u32], lasts: &[u32]| {
            DocumentFrequencies::from_parts(vocabulary(), 6.0, words, &[(begins, lasts, &images)])
        };
        assert!(read(&begins, &[0, 1, 0]).is_some());
        // Last parts that are unsorted, repeated, unknown or missing, and offsets that are unsorted.
        for lasts in [&[1, 0, 0][..], &[1, 1, 0], &[0, 1, words.len() as u32], &[0, 1]] {
            assert!(read(&begins, lasts).is_none(), "{lasts:?}");
        }
        for wrong in [&begins[1..], &begins[..words.len()], &[&[0, 3, 2][..], &begins[3..]].concat()] {
            assert!(read(wrong, &[0, 1, 0]).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn rows_round_trip() {
        let rows = rows(&counted(&CAPTIONS));
        assert_eq!((rows["a"], rows["dog runs on the"], rows["a a a a"]), (3, 2, 1));
        let read = |rows: &BTreeMap<String, i64>| {
            PartialFrequencies::from_rows(6.0, rows.iter().map(|(text, images)| (text.as_str(), *images)))
        };
        assert_eq!(self::rows(&read(&rows).unwrap()), rows);
        // Also without the parts of its n-grams.
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
