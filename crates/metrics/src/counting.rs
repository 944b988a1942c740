//! Counts the n-grams of references: the number of images with each n-gram, and the n-gram that starts at
//! each word.
//!
//! N-grams of each order are found from the n-grams one word shorter. All positions of a shorter n-gram are
//! processed together, in text order: the n-gram of the same order that starts one word later determines the
//! longer n-gram. As a result, longer n-grams are found in the order of their ids, only n-grams with the same
//! beginning need sorting, and the positions of rare n-grams are dropped early.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use capeval_tokens::References;

use crate::levels::{Level, NONE};

/// Approximate number of positions per task.
const PLACES_OF_A_TASK: u32 = 1 << 15;
/// Maximum number of positions for which n-grams are found by linear search.
const FEW: usize = 16;
/// Minimum number of words per thread when word positions are collected.
const WORDS_OF_A_THREAD: usize = 1 << 16;

/// The n-grams of one order, as passed to the callback of [`count`].
#[derive(Clone, Copy)]
pub(crate) enum Counted<'a> {
    /// Number of images with each word.
    Words(&'a [u32]),
    /// N-grams of two or more words, and the id of the n-gram that starts at each word of the references
    /// ([`NONE`] if there is none or it was dropped).
    Longer(&'a Level, &'a [AtomicU32]),
}

/// Counts the images with each word and with each n-gram of two to `max_order` words.
///
/// N-grams with fewer than `least` images are dropped, and so are the n-grams that contain them. `each` is
/// called with the n-grams of each order, in increasing order.
pub(crate) fn count(
    references: &References,
    max_order: usize,
    least: u32,
    mut each: impl FnMut(usize, Counted<'_>),
) -> (Vec<u32>, Vec<Level>) {
    let text = references.tokens().all_words();
    let (words, begins, mut places) = places_of_words(references, least);
    each(1, Counted::Words(&words));
    let mut parts = Part { begins, places: &mut places }.split();
    let mut longer: Vec<Level> = Vec::new();
    let mut numbers: Vec<AtomicU32> = Vec::new();
    let searches = Mutex::default();
    for order in 2..=max_order {
        let below = longer.last().map_or(words.len(), |level| level.images.len());
        let found = match order {
            2 => lengthen(&mut parts, least, &searches, |start| text[start]),
            _ => lengthen(&mut parts, least, &searches, |start| numbers[start].load(Ordering::Relaxed)),
        };
        parts = parts.into_iter().flat_map(Part::split).collect();
        write_numbers(&parts, text.len(), &mut numbers);
        let level = level_of(below, &found);
        each(order, Counted::Longer(&level, &numbers));
        longer.push(level);
    }
    (words, longer)
}

/// A word position in the text and its image. It is atomic because several threads fill one list.
#[derive(Default)]
struct Place(AtomicU64);

impl Place {
    fn set(&self, image: u32, start: u32) {
        self.0.store(u64::from(image) << 32 | u64::from(start), Ordering::Relaxed);
    }

    fn image(&self) -> u32 {
        (self.0.load(Ordering::Relaxed) >> 32) as u32
    }

    fn start(&self) -> usize {
        self.0.load(Ordering::Relaxed) as u32 as usize
    }
}

/// Positions of n-grams with consecutive ids, in text order for each n-gram.
struct Part<'a> {
    /// Offset of each n-gram's first position, and the end of the last n-gram's positions.
    begins: Vec<u32>,
    places: &'a mut [Place],
}

/// Counts the words, and collects the positions of words that occur in at least `least` images and do not end
/// their captions.
///
/// Also returns the offsets of each word's positions.
fn places_of_words(references: &References, least: u32) -> (Vec<u32>, Vec<u32>, Vec<Place>) {
    let (tokens, vocabulary) = (references.tokens(), references.vocabulary().len());
    // Each thread needs lists as long as the vocabulary.
    let most = tokens.all_words().len() / WORDS_OF_A_THREAD.max(vocabulary) + 1;
    let chunks = rayon::current_num_threads().min(most);
    let images = |chunk: usize| {
        let bound = |chunk: usize| references.images() * chunk / chunks;
        bound(chunk)..bound(chunk + 1)
    };
    let counts_of = |chunk: usize| {
        let (mut with, mut followed) = (vec![0u32; vocabulary], vec![0u32; vocabulary]);
        let mut last = vec![NONE; vocabulary];
        for image in images(chunk) {
            for row in references.of(image) {
                let words = tokens.words(row);
                for &word in words {
                    with[word as usize] += u32::from(last[word as usize] != image as u32);
                    last[word as usize] = image as u32;
                    followed[word as usize] += 1;
                }
                if let Some(&word) = words.last() {
                    followed[word as usize] -= 1;
                }
            }
        }
        (with, followed)
    };
    let (with, followed): (Vec<_>, Vec<_>) =
        (0..chunks).into_par_iter().with_max_len(1).map(counts_of).unzip();
    let words: Vec<u32> = (0..vocabulary).map(|word| with.iter().map(|with| with[word]).sum()).collect();
    let mut begins = Vec::with_capacity(vocabulary + 1);
    let mut begin = 0;
    // Offsets of each word's positions in each chunk.
    let mut of_chunks = followed;
    for word in 0..vocabulary {
        begins.push(begin);
        for of_chunk in &mut of_chunks {
            let count = if words[word] >= least { of_chunk[word] } else { 0 };
            of_chunk[word] = begin;
            begin += count;
        }
    }
    begins.push(begin);
    let empty = (0..begin).into_par_iter().with_min_len(1 << 16).map(|_| Place::default());
    let places: Vec<Place> = empty.collect();
    of_chunks.par_iter_mut().with_max_len(1).enumerate().for_each(|(chunk, begins)| {
        for image in images(chunk) {
            for row in references.of(image) {
                let range = tokens.range(row);
                for next in range.start + 1..range.end {
                    let word = tokens.all_words()[next - 1] as usize;
                    if words[word] >= least {
                        places[begins[word] as usize].set(image as u32, next as u32 - 1);
                        begins[word] += 1;
                    }
                }
            }
        }
    });
    (words, begins, places)
}

impl Part<'_> {
    /// Splits into parts of about equal work.
    ///
    /// The positions of one n-gram stay together, but longer n-grams may be split later.
    fn split(self) -> Vec<Self> {
        let Self { begins, places } = self;
        let (mut parts, mut rest, mut first) = (Vec::new(), places, 0);
        while first + 1 < begins.len() {
            let begin = begins[first];
            let is_less = |&end: &u32| end - begin < PLACES_OF_A_TASK;
            let end = (first + 1 + begins[first + 1..].partition_point(is_less)).min(begins.len() - 1);
            let places = rest.split_off_mut(..(begins[end] - begin) as usize).unwrap_or_default();
            parts.push(Part {
                begins: begins[first..=end].iter().map(|place| place - begin).collect(),
                places,
            });
            first = end;
        }
        parts
    }
}

/// Finds the n-grams that are one word longer, and their positions.
///
/// `number` returns the id of the shorter n-gram that starts at a word.
fn lengthen(
    parts: &mut [Part<'_>],
    least: u32,
    searches: &Mutex<Vec<Search>>,
    number: impl Fn(usize) -> u32 + Sync,
) -> Vec<Found> {
    let of_part = |part: &mut Part<'_>| {
        let free = || searches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut search = free().pop().unwrap_or_default();
        let found = search.lengthen(part, least, &number);
        free().push(search);
        found
    };
    parts.par_iter_mut().with_max_len(1).map(of_part).collect()
}

/// The longer n-grams of a part, in order.
struct Found {
    /// Number of longer n-grams that begin with each shorter one.
    of_firsts: Vec<u32>,
    lasts: Vec<u32>,
    images: Vec<u32>,
}

/// Reusable search for the n-grams that begin with the same shorter n-gram.
#[derive(Default)]
struct Search {
    found: Vec<Beginning>,
    /// Index into [`Self::found`] by last part, relative to the smallest last part.
    ///
    /// Entries may be stale and must be checked. The last parts of n-grams with the same beginning have close
    /// ids, except for single words.
    slots: Vec<u32>,
    /// Last part of the n-gram at each position.
    lasts: Vec<u32>,
    /// Positions with an n-gram: its index, the image and the word.
    places: Vec<(u32, u32, u32)>,
    /// Indices of the n-grams with enough images.
    kept: Vec<u32>,
}

struct Beginning {
    last: u32,
    images: u32,
    /// The image counted last, so that several references of an image count once.
    image: u32,
    /// Number of positions, later the offset of its next position.
    places: u32,
}

impl Search {
    /// Replaces the positions of the shorter n-grams by those of the longer ones, which are a subset.
    fn lengthen(&mut self, part: &mut Part<'_>, least: u32, number: impl Fn(usize) -> u32) -> Found {
        let mut all = Found { of_firsts: Vec::new(), lasts: Vec::new(), images: Vec::new() };
        let mut begins = Vec::from([0]);
        let mut next = 0;
        // Loaded in one loop, so that the processor overlaps the memory accesses.
        let mut lasts = std::mem::take(&mut self.lasts);
        lasts.clear();
        lasts.extend(part.places.iter().map(|place| number(place.start() + 1)));
        for bounds in part.begins.windows(2) {
            let range = bounds[0] as usize..bounds[1] as usize;
            self.find(&part.places[range.clone()], &lasts[range]);
            let Self { found, places, kept, .. } = self;
            kept.clear();
            kept.extend((0..found.len() as u32).filter(|&index| found[index as usize].images >= least));
            kept.sort_unstable_by_key(|&index| found[index as usize].last);
            all.of_firsts.push(kept.len() as u32);
            for &index in &*kept {
                let ngram = &mut found[index as usize];
                all.lasts.push(ngram.last);
                all.images.push(ngram.images);
                (ngram.places, next) = (next, next + ngram.places);
                begins.push(next);
            }
            for &(index, image, start) in &*places {
                let ngram = &mut found[index as usize];
                if ngram.images >= least {
                    part.places[ngram.places as usize].set(image, start);
                    ngram.places += 1;
                }
            }
        }
        self.lasts = lasts;
        part.begins = begins;
        part.places = std::mem::take(&mut part.places).split_at_mut(next as usize).0;
        all
    }

    /// Finds the n-grams at `places`, whose last parts are `lasts`.
    fn find(&mut self, places: &[Place], lasts: &[u32]) {
        let Self { found, slots, places: of_found, .. } = self;
        found.clear();
        of_found.clear();
        let few = places.len() <= FEW;
        // These folds are vectorizable: [`NONE`] is the maximum, and `NONE + 1` wraps to 0.
        let least = lasts.iter().fold(NONE, |least, &last| least.min(last));
        let end = lasts.iter().fold(0, |end, &last| end.max(last.wrapping_add(1)));
        if !few && slots.len() < end.saturating_sub(least) as usize {
            slots.resize((end - least) as usize, 0);
        }
        for (place, &last) in places.iter().zip(lasts).filter(|(_, last)| **last != NONE) {
            let index = match few {
                true => found.iter().position(|ngram| ngram.last == last),
                false => Some(slots[(last - least) as usize] as usize)
                    .filter(|&slot| found.get(slot).is_some_and(|ngram| ngram.last == last)),
            };
            let index = index.unwrap_or_else(|| {
                found.push(Beginning { last, images: 0, image: NONE, places: 0 });
                if !few {
                    slots[(last - least) as usize] = found.len() as u32 - 1;
                }
                found.len() - 1
            });
            let ngram = &mut found[index];
            ngram.places += 1;
            ngram.images += u32::from(ngram.image != place.image());
            ngram.image = place.image();
            of_found.push((index as u32, place.image(), place.start() as u32));
        }
    }
}

/// Writes the id of the n-gram that starts at each of `words` words.
fn write_numbers(parts: &[Part<'_>], words: usize, numbers: &mut Vec<AtomicU32>) {
    if numbers.is_empty() {
        let none = (0..words).into_par_iter().with_min_len(1 << 16).map(|_| AtomicU32::new(NONE));
        numbers.par_extend(none);
    } else {
        numbers.par_iter_mut().with_min_len(1 << 16).for_each(|number| *number.get_mut() = NONE);
    }
    let firsts = parts.iter().scan(0, |next, part| {
        let first = *next;
        *next += part.begins.len() as u32 - 1;
        Some(first)
    });
    let firsts: Vec<u32> = firsts.collect();
    let numbers = &*numbers;
    parts.par_iter().zip(firsts).with_max_len(1).for_each(|(part, first)| {
        for (number, bounds) in (first..).zip(part.begins.windows(2)) {
            for place in &part.places[bounds[0] as usize..bounds[1] as usize] {
                numbers[place.start()].store(number, Ordering::Relaxed);
            }
        }
    });
}

/// Combines the n-grams of all parts into a level. There are `below` shorter n-grams.
fn level_of(below: usize, found: &[Found]) -> Level {
    let mut begins = Vec::with_capacity(below + 1);
    begins.push(0);
    for of_first in found.iter().flat_map(|of_part| &of_part.of_firsts) {
        begins.push(begins[begins.len() - 1] + of_first);
    }
    let all = |list: fn(&Found) -> &[u32]| found.iter().map(list).collect::<Vec<_>>().concat();
    Level { begins, lasts: all(|of_part| &of_part.lasts), images: all(|of_part| &of_part.images) }
}
