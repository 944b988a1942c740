//! Counts the n-grams of references: in how many images each is, and which one starts at each word.
//!
//! The n-grams of each length are found from those that are one word shorter. The places of an n-gram are looked
//! at together, in the order of the text: which n-gram of the same length starts one word further on says which
//! longer n-gram is there. So the longer ones come in the order of their numbers, only the few with the same
//! beginning are sorted, and the places of what few images have are left out of all that follows.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use capeval_tokens::References;

use crate::levels::{Level, NONE};

/// About how many places are looked at in one task.
const PLACES_OF_A_TASK: u32 = 1 << 15;
/// Up to how many places have their n-grams looked for one by one.
const FEW: usize = 16;
/// The fewest words whose places are found by a thread of its own.
const WORDS_OF_A_THREAD: usize = 1 << 16;

/// What [`count`] tells of the n-grams of one length.
#[derive(Clone, Copy)]
pub(crate) enum Counted<'a> {
    /// The number of images with each word.
    Words(&'a [u32]),
    /// Those of two words or more, and the number of the one that starts at each word of the references;
    /// [`NONE`] where none does, or it was left out.
    Longer(&'a Level, &'a [AtomicU32]),
}

/// The number of images with each word, and the n-grams of two words to `max_order`. Of these, and of the parts
/// that they are found from, those that fewer than `least` images have are left out. `each` is told of each
/// length, one after the other.
pub(crate) fn count(
    references: &References,
    max_order: usize,
    least: u32,
    mut each: impl FnMut(usize, Counted<'_>),
) -> (Vec<u32>, Vec<Level>) {
    let text = references.tokens().all_words();
    let (words, begins, mut places) = places_of_words(references, least);
    each(1, Counted::Words(&words));
    let mut parts = Part { begins, places: &mut places }.shared_out();
    let mut longer: Vec<Level> = Vec::new();
    let mut numbers: Vec<AtomicU32> = Vec::new();
    let searches = Mutex::default();
    for order in 2..=max_order {
        let below = longer.last().map_or(words.len(), |level| level.images.len());
        let found = match order {
            2 => lengthen(&mut parts, least, &searches, |start| text[start]),
            _ => lengthen(&mut parts, least, &searches, |start| numbers[start].load(Ordering::Relaxed)),
        };
        parts = parts.into_iter().flat_map(Part::shared_out).collect();
        write_numbers(&parts, text.len(), &mut numbers);
        let level = level_of(below, &found);
        each(order, Counted::Longer(&level, &numbers));
        longer.push(level);
    }
    (words, longer)
}

/// A word of the text, and the image that it is of; set by threads that have different places of one list.
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

/// The places of some n-grams with successive numbers, those of each in the order of the text.
struct Part<'a> {
    /// Where the places of each n-gram begin, and where the last ones end.
    begins: Vec<u32>,
    places: &'a mut [Place],
}

/// Counts the words, and finds the places of those that `least` images or more have and that are not the last
/// words of their captions: with where those of each word begin.
fn places_of_words(references: &References, least: u32) -> (Vec<u32>, Vec<u32>, Vec<Place>) {
    let (tokens, vocabulary) = (references.tokens(), references.vocabulary().len());
    // Each thread has lists as long as the vocabulary.
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
    // Where the places of each word in a chunk begin.
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
    /// Parts of it that take about equal time. One n-gram is not shared out, but the longer ones of it are.
    fn shared_out(self) -> Vec<Self> {
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

/// Finds the n-grams that are one word longer, and their places. `number` gives the number of the shorter n-gram
/// that starts at a word.
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
    /// How many begin with each shorter one.
    of_firsts: Vec<u32>,
    lasts: Vec<u32>,
    images: Vec<u32>,
}

/// Finds the n-grams that begin with the same shorter one; its memory is used again for the next.
#[derive(Default)]
struct Search {
    found: Vec<Beginning>,
    /// Where in [`Self::found`] the n-gram with a last part is, if it is there; something else if not. It begins
    /// with the least last part: those of one beginning have numbers close to each other, but for words.
    slots: Vec<u32>,
    /// The last parts of the n-grams at the places.
    lasts: Vec<u32>,
    /// The places that have an n-gram: its index, the image and the word.
    places: Vec<(u32, u32, u32)>,
    /// The indices of those that enough images have.
    kept: Vec<u32>,
}

struct Beginning {
    last: u32,
    images: u32,
    /// The image counted last, so that an n-gram in several references of an image counts once.
    image: u32,
    /// How many places it has; then where its next place is written.
    places: u32,
}

impl Search {
    /// The places of the longer n-grams take those of the shorter ones, of which they are some.
    fn lengthen(&mut self, part: &mut Part<'_>, least: u32, number: impl Fn(usize) -> u32) -> Found {
        let mut all = Found { of_firsts: Vec::new(), lasts: Vec::new(), images: Vec::new() };
        let mut begins = Vec::from([0]);
        let mut next = 0;
        // All at once, so that the processor waits for many of them together.
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

    /// Finds the n-grams at some places, whose last parts are `lasts`.
    fn find(&mut self, places: &[Place], lasts: &[u32]) {
        let Self { found, slots, places: of_found, .. } = self;
        found.clear();
        of_found.clear();
        let few = places.len() <= FEW;
        // By steps that the processor takes for several at a time: [`NONE`] is the largest, and 1 more is 0.
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

/// Writes the number of the n-gram that starts at each of `words` words.
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

/// The n-grams of all parts, which begin with `below` shorter ones.
fn level_of(below: usize, found: &[Found]) -> Level {
    let mut begins = Vec::with_capacity(below + 1);
    begins.push(0);
    for of_first in found.iter().flat_map(|of_part| &of_part.of_firsts) {
        begins.push(begins[begins.len() - 1] + of_first);
    }
    let all = |list: fn(&Found) -> &[u32]| found.iter().map(list).collect::<Vec<_>>().concat();
    Level { begins, lasts: all(|of_part| &of_part.lasts), images: all(|of_part| &of_part.images) }
}
