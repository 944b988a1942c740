//! Tables of the n-grams of one order, with the number of images that contain each n-gram.

use rayon::prelude::*;

/// The id that stands for no n-gram.
pub(crate) const NONE: u32 = u32::MAX;

/// Maximum number of first parts whose n-grams one thread sorts.
const FIRSTS_OF_A_TASK: usize = 1 << 12;

/// The n-grams of one order (two or more words), sorted by their parts, which are ids in the level below.
///
/// The id of an n-gram is its position. An n-gram takes little more than eight bytes, because a scoring
/// process holds millions.
pub(crate) struct Level {
    /// Offset of the n-grams with each first part, and the end of the last ones.
    pub begins: Vec<u32>,
    /// Last part of each n-gram.
    pub lasts: Vec<u32>,
    /// Number of images with each n-gram.
    pub images: Vec<u32>,
}

/// An n-gram of a level, without its first part.
#[derive(Clone, Copy, Default)]
pub(crate) struct LevelNgram {
    /// Id of the last part.
    pub last: u32,
    /// Number of images with the n-gram.
    pub images: u32,
}

impl Level {
    /// Sorts the n-grams by their parts, which are ids less than `below`.
    ///
    /// Also returns the new id of each n-gram.
    fn sorted(counted: &Counts, below: usize) -> (Self, Vec<u32>) {
        // Counts are stored two entries later, so that placing the n-grams advances each offset to its final
        // value.
        let mut begins = vec![0; below + 2];
        counted.iter().for_each(|(first, _)| begins[first as usize + 2] += 1);
        for first in 0..below {
            begins[first + 2] += begins[first + 1];
        }
        let mut ngrams = vec![LevelNgram::default(); begins[below + 1] as usize];
        for (first, ngram) in counted.iter() {
            let place = &mut begins[first as usize + 1];
            ngrams[*place as usize] = ngram;
            *place += 1;
        }
        begins.truncate(below + 1);
        sort(&begins, &mut ngrams);
        let (lasts, images) = ngrams.iter().map(|ngram| (ngram.last, ngram.images)).unzip();
        let level = Self { begins, lasts, images };
        let number = |&(first, last): &(u32, u32)| match level.find(first, last, NONE) {
            Some(place) => level.begins[first as usize] + place,
            None => NONE,
        };
        let numbers = counted.parts.par_iter().map(number).collect();
        (level, numbers)
    }

    /// Iterates over the n-grams in the order of their ids, each with its first part.
    pub fn iter(&self) -> impl Iterator<Item = (u32, LevelNgram)> {
        let of_first = |(first, bounds): (usize, &[u32])| {
            let numbers = bounds[0] as usize..bounds[1] as usize;
            let ngram = |number: usize| LevelNgram { last: self.lasts[number], images: self.images[number] };
            numbers.map(move |number| (first as u32, ngram(number)))
        };
        self.begins.windows(2).enumerate().flat_map(of_first)
    }

    /// Returns the rank of an n-gram among the n-grams with its first part, if it exists.
    ///
    /// At most `before` of them may precede it.
    pub fn find(&self, first: u32, last: u32, before: u32) -> Option<u32> {
        if first == NONE || last == NONE {
            return None;
        }
        let (begin, end) = (self.begins[first as usize], self.begins[first as usize + 1]);
        let end = end.min(begin.saturating_add(before).saturating_add(1));
        self.lasts[begin as usize..end as usize].binary_search(&last).ok().map(|place| place as u32)
    }
}

/// Sorts the n-grams of each first part. `begins` has the offset of each group, and the end of the last one.
fn sort(begins: &[u32], ngrams: &mut [LevelNgram]) {
    if begins.len() > FIRSTS_OF_A_TASK {
        let middle = begins.len() / 2;
        let (left, right) = ngrams.split_at_mut((begins[middle] - begins[0]) as usize);
        rayon::join(|| sort(&begins[..=middle], left), || sort(&begins[middle..], right));
        return;
    }
    for bounds in begins.windows(2) {
        let of_first = (bounds[0] - begins[0]) as usize..(bounds[1] - begins[0]) as usize;
        ngrams[of_first].sort_unstable_by_key(|ngram| ngram.last);
    }
}

/// N-grams of one order, unsorted: their parts and their numbers of images.
#[derive(Default)]
pub(crate) struct Counts {
    pub parts: Vec<(u32, u32)>,
    pub images: Vec<u32>,
}

impl FromIterator<((u32, u32), u32)> for Counts {
    fn from_iter<I: IntoIterator<Item = ((u32, u32), u32)>>(ngrams: I) -> Self {
        let (parts, images) = ngrams.into_iter().unzip();
        Self { parts, images }
    }
}

impl Counts {
    /// Creates an empty list with a capacity. Unused capacity takes no memory.
    pub fn with_capacity(ngrams: usize) -> Self {
        Self { parts: Vec::with_capacity(ngrams), images: Vec::with_capacity(ngrams) }
    }

    /// Appends other n-grams and returns the id of the first of them.
    pub fn append(&mut self, others: &Self) -> u32 {
        let first = self.images.len() as u32;
        self.parts.extend_from_slice(&others.parts);
        self.images.extend_from_slice(&others.images);
        first
    }

    /// Frees unused capacity.
    pub fn shrink(&mut self) {
        self.parts.shrink_to_fit();
        self.images.shrink_to_fit();
    }

    fn iter(&self) -> impl Iterator<Item = (u32, LevelNgram)> {
        self.parts
            .iter()
            .zip(&self.images)
            .map(|(&(first, last), &images)| (first, LevelNgram { last, images }))
    }
}

/// Builds the levels of the wanted n-grams of two or more words.
///
/// All parts of a wanted n-gram must be wanted too.
///
/// The arguments of `wanted` are the index of a level and an id in it.
pub(crate) fn build_levels(
    words: usize,
    counted: &[Counts],
    wanted: impl Fn(usize, usize) -> bool,
) -> Vec<Level> {
    let mut numbers: Vec<u32> = (0..words as u32).collect();
    let mut levels: Vec<Level> = Vec::new();
    for (index, counted) in counted.iter().enumerate() {
        let below = levels.last().map_or(words, |level| level.images.len());
        let kept: Counts = counted
            .iter()
            .enumerate()
            .filter(|(number, _)| wanted(index, *number))
            .map(|(_, (first, LevelNgram { last, images }))| {
                ((numbers[first as usize], numbers[last as usize]), images)
            })
            .collect();
        let (level, of_kept) = Level::sorted(&kept, below);
        let mut of_kept = of_kept.into_iter();
        let new = |number| if wanted(index, number) { of_kept.next().unwrap_or(NONE) } else { NONE };
        numbers = (0..counted.images.len()).map(new).collect();
        levels.push(level);
    }
    levels
}
