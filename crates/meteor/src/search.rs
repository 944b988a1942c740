//! Search for the best alignment of a candidate with a reference among all possible matches.
//!
//! METEOR walks the reference from left to right and keeps the best partial alignments: most matched words,
//! then fewest chunks, then shortest distance, then first found. In this search, an exact match counts both
//! its words. A match of any other stage counts half of its words on each side, rounded down. A single word
//! matched by stem or synonym therefore counts nothing, and affects only chunks and order.

use std::ops::{Add, Sub};

/// Maximum number of possible matches of a candidate with one reference: 2048 repetitions of a word on both
/// sides.
pub(crate) const MAX_MATCHES: usize = 1 << 22;
/// Maximum sum of the distances of these matches, limited by the bits in a rank.
pub(crate) const MAX_DISTANCE: u64 = (1 << DISTANCE_BITS) - 1;
const DISTANCE_BITS: u32 = 40;

/// A possible match. Positions are in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Match {
    pub reference: u32,
    pub reference_len: u32,
    pub candidate: u32,
    pub candidate_len: u32,
    /// Index of the stage in [`crate::Stage::ALL`].
    pub stage: u8,
}

impl Match {
    fn gain(&self) -> u32 {
        if self.stage == 0 {
            self.reference_len + self.candidate_len
        } else {
            self.reference_len / 2 + self.candidate_len / 2
        }
    }

    pub(crate) fn distance(&self) -> u32 {
        self.reference.abs_diff(self.candidate)
    }
}

const NONE: u32 = u32::MAX;

/// Rank of a partial alignment as one number, updated with each match. Smaller is better.
///
/// From high to low bits: missing matched words, chunks, distance, and the order of equal ranks, which is 0
/// except during sorting.
trait Rank: Copy + Ord + Add<Output = Self> + Sub<Output = Self> {
    /// Lowest bits of the distance, the chunks, and the words.
    const PLACES: [u32; 3];
    const START: Self;

    fn of(number: u64, place: u32) -> Self;

    fn words(number: u32) -> Self {
        Self::of(number.into(), Self::PLACES[2])
    }

    /// Adds a chunk if `is_chunk`.
    fn chunk(is_chunk: bool) -> Self {
        Self::of(is_chunk.into(), Self::PLACES[1])
    }

    /// Adds the distance of all examined matches. METEOR's own sum overflows if long captions repeat a word.
    fn distance(number: u32) -> Self {
        Self::of(number.into(), Self::PLACES[0])
    }

    fn order(self) -> usize;
}

/// Ranks of typical captions. There are no more chunks than matches.
impl Rank for u64 {
    const PLACES: [u32; 3] = [16, 40, 52];
    const START: Self = Self::MAX << Self::PLACES[2];

    fn of(number: u64, place: u32) -> Self {
        number << place
    }

    fn order(self) -> usize {
        (self & 0xffff) as usize
    }
}

/// Ranks of all other captions.
impl Rank for u128 {
    const PLACES: [u32; 3] = [32, 32 + DISTANCE_BITS, 96];
    const START: Self = Self::MAX << Self::PLACES[2];

    fn of(number: u64, place: u32) -> Self {
        Self::from(number) << place
    }

    fn order(self) -> usize {
        self as u32 as usize
    }
}

/// Returns whether 64-bit ranks are large enough.
fn is_small(candidate_len: usize, reference_len: usize, beam_size: usize, matches: usize) -> bool {
    candidate_len <= 64 && reference_len < 1 << 10 && matches < 1 << 10 && beam_size < 1 << 6
}

/// A partial alignment up to some reference word.
#[derive(Clone, Copy)]
struct Path<R> {
    rank: R,
    /// First reference word after the last match or skipped word.
    next: u32,
    /// Candidate word after the last match, or `NONE` if the last reference word was skipped.
    open: u32,
    /// Its last step.
    tail: u32,
    /// Index of its words in `Beam::used`.
    used: u32,
}

impl<R: Rank> Path<R> {
    /// Returns the rank after a match, without the match's distance.
    fn rank_with(&self, found: &Match) -> R {
        self.rank + R::chunk(self.open != NONE && found.candidate != self.open) - R::words(found.gain())
    }

    fn go_to_end_of(&mut self, found: &Match) {
        self.next = found.reference + found.reference_len;
        self.open = found.candidate + found.candidate_len;
    }

    /// Returns the rank if the next reference word is not matched.
    fn rank_without(&self) -> R {
        self.rank + R::chunk(self.open != NONE)
    }

    fn skip(&mut self) {
        self.open = NONE;
        self.next += 1;
    }
}

/// Reusable memory of the search.
#[derive(Default)]
pub(crate) struct Search {
    candidate_cover: Vec<u32>,
    reference_cover: Vec<u32>,
    /// Fixed match that starts at each reference word, or `NONE`.
    fixed: Vec<u32>,
    small: Beam<u64>,
    large: Beam<u128>,
}

impl Search {
    /// Chooses among `matches` and fills `chosen` in the order of the reference.
    ///
    /// `matches` are sorted by reference word, and within a word in the order in which METEOR finds them.
    pub(crate) fn run(
        &mut self,
        candidate_len: usize,
        reference_len: usize,
        beam_size: usize,
        matches: &[Match],
        chosen: &mut Vec<Match>,
    ) {
        chosen.clear();
        if self.fix_unambiguous(candidate_len, reference_len, matches) {
            chosen.extend_from_slice(matches);
            return;
        }
        if is_small(candidate_len, reference_len, beam_size, matches.len()) {
            self.small.run(1, beam_size, &self.fixed, matches, chosen);
        } else {
            self.large.run(candidate_len.div_ceil(64), beam_size, &self.fixed, matches, chosen);
        }
        let fixed = self.fixed.iter().filter(|&&index| index != NONE);
        chosen.extend(fixed.map(|&index| matches[index as usize]));
        chosen.sort_unstable_by_key(|found| found.reference);
    }

    /// Marks the matches that overlap no other. Returns true if these are all matches.
    fn fix_unambiguous(&mut self, candidate_len: usize, reference_len: usize, matches: &[Match]) -> bool {
        refill(&mut self.candidate_cover, candidate_len, 0);
        refill(&mut self.reference_cover, reference_len, 0);
        refill(&mut self.fixed, reference_len, NONE);
        for found in matches {
            self.candidate_cover[found.candidate as usize..][..found.candidate_len as usize]
                .iter_mut()
                .for_each(|n| *n += 1);
            self.reference_cover[found.reference as usize..][..found.reference_len as usize]
                .iter_mut()
                .for_each(|n| *n += 1);
        }
        let mut all = true;
        for (index, found) in (0..).zip(matches) {
            let candidate = &self.candidate_cover[found.candidate as usize..][..found.candidate_len as usize];
            let reference = &self.reference_cover[found.reference as usize..][..found.reference_len as usize];
            if candidate.iter().chain(reference).all(|&n| n == 1) {
                self.fixed[found.reference as usize] = index;
            } else {
                all = false;
            }
        }
        all
    }
}

fn refill<T: Clone>(vector: &mut Vec<T>, len: usize, value: T) {
    vector.clear();
    vector.resize(len, value);
}

/// A match taken by a path.
#[derive(Clone, Copy)]
struct Step {
    before: u32,
    taken: u32,
}

/// Ways to extend a path over a reference word other than by a match.
const SKIPPED: u32 = u32::MAX;
const COVERED: u32 = u32::MAX - 1;

/// The best partial alignments and their extensions.
#[derive(Default)]
struct Beam<R> {
    /// Paths, best first.
    paths: Vec<Path<R>>,
    next_paths: Vec<Path<R>>,
    /// Parent path of each extension, and the kind of extension.
    extensions: Vec<(u32, u32)>,
    ranks: Vec<R>,
    steps: Vec<Step>,
    /// Candidate words used by each path, as blocks of bits.
    ///
    /// Words of fixed matches are not included, because no other match contains them. Of the reference, a
    /// path has used all words before its next word.
    used: Vec<u64>,
    next_used: Vec<u64>,
}

impl<R: Rank> Beam<R> {
    /// Adds the matches of the best alignment to `chosen`, except the fixed ones.
    // Inlined, so that the compiler specializes it for one block.
    #[inline(always)]
    fn run(
        &mut self,
        blocks: usize,
        beam_size: usize,
        fixed: &[u32],
        matches: &[Match],
        chosen: &mut Vec<Match>,
    ) {
        self.paths.clear();
        self.paths.push(Path { rank: R::START, next: 0, open: NONE, tail: 0, used: 0 });
        self.steps.clear();
        self.steps.push(Step { before: NONE, taken: NONE });
        refill(&mut self.used, blocks, 0);
        let mut rest = (0, matches);
        for (position, &fixed) in (0..).zip(fixed) {
            let here = rest.1.iter().take_while(|found| found.reference == position).count();
            if fixed != NONE {
                self.take_all(&matches[fixed as usize]);
            } else if here == 0 {
                self.skip_all(position);
            } else {
                self.extend(blocks, position, rest.0, &rest.1[..here]);
                self.keep_best(blocks, beam_size, matches);
            }
            rest = (rest.0 + here as u32, &rest.1[here..]);
        }
        let Some(best) = self.paths.iter().min_by_key(|path| path.rank_without()) else { return };
        let mut step = self.steps[best.tail as usize];
        while step.taken != NONE {
            chosen.push(matches[step.taken as usize]);
            step = self.steps[step.before as usize];
        }
    }

    /// Extends all paths by a fixed match.
    fn take_all(&mut self, found: &Match) {
        for path in &mut self.paths {
            path.rank = path.rank_with(found) + R::distance(found.distance());
            path.go_to_end_of(found);
        }
        self.sort();
    }

    /// Extends the paths over a reference word without matches.
    fn skip_all(&mut self, position: u32) {
        for path in self.paths.iter_mut().filter(|path| position >= path.next) {
            path.rank = path.rank_without();
            path.skip();
        }
        self.sort();
    }

    fn sort(&mut self) {
        if !self.paths.is_sorted_by_key(|path| path.rank) {
            // A stable sort keeps equal ranks in the order in which they were found.
            self.paths.sort_by_key(|path| path.rank);
        }
    }

    /// Collects all extensions over the reference word at `position` with the matches `here`, which are
    /// numbered from `first`.
    #[inline(always)]
    fn extend(&mut self, blocks: usize, position: u32, first: u32, here: &[Match]) {
        self.extensions.clear();
        self.ranks.clear();
        for (parent, path) in (0..).zip(&self.paths) {
            let mut push = |rank: R, how| {
                self.ranks.push(rank + R::of(self.extensions.len() as u64, 0));
                self.extensions.push((parent, how));
            };
            if position < path.next {
                push(path.rank, COVERED);
                continue;
            }
            let used = &self.used[path.used as usize * blocks..][..blocks];
            // METEOR adds the distance of a match to the paths found after it.
            let mut distance = R::of(0, 0);
            for (index, found) in (first..).zip(here) {
                if !has_any(used, found) {
                    push(path.rank_with(found) + distance, index);
                    distance = distance + R::distance(found.distance());
                }
            }
            push(path.rank_without() + distance, SKIPPED);
        }
    }

    /// Replaces the paths by the best extensions, best first.
    #[inline(always)]
    fn keep_best(&mut self, blocks: usize, beam_size: usize, matches: &[Match]) {
        if self.ranks.len() > beam_size {
            self.ranks.select_nth_unstable(beam_size - 1);
            self.ranks.truncate(beam_size);
        }
        self.ranks.sort_unstable();
        self.next_paths.clear();
        self.next_used.clear();
        for &rank in &self.ranks {
            let (parent, how) = self.extensions[rank.order()];
            let mut path = self.paths[parent as usize];
            path.rank = rank - R::of(rank.order() as u64, 0);
            let used = path.used as usize * blocks..(path.used as usize + 1) * blocks;
            path.used = self.next_paths.len() as u32;
            self.next_used.extend_from_slice(&self.used[used]);
            match how {
                COVERED => {}
                SKIPPED => path.skip(),
                taken => {
                    let found = &matches[taken as usize];
                    insert(&mut self.next_used[path.used as usize * blocks..], found);
                    self.steps.push(Step { before: path.tail, taken });
                    path.tail = self.steps.len() as u32 - 1;
                    path.go_to_end_of(found);
                }
            }
            self.next_paths.push(path);
        }
        std::mem::swap(&mut self.paths, &mut self.next_paths);
        std::mem::swap(&mut self.used, &mut self.next_used);
    }
}

/// Returns whether a set contains any candidate word of a match.
fn has_any(set: &[u64], found: &Match) -> bool {
    if let [bits] = set {
        return bits & bits_of(found) != 0;
    }
    words_of(found).any(|word| set[word / 64] >> (word % 64) & 1 == 1)
}

/// Adds the candidate words of a match to a set.
fn insert(set: &mut [u64], found: &Match) {
    if let [bits] = set {
        *bits |= bits_of(found);
        return;
    }
    words_of(found).for_each(|word| set[word / 64] |= 1 << (word % 64));
}

/// Returns the candidate words of a match as bits, if the candidate fits in one block.
fn bits_of(found: &Match) -> u64 {
    u64::MAX >> (64 - found.candidate_len) << found.candidate
}

fn words_of(found: &Match) -> std::ops::Range<usize> {
    found.candidate as usize..(found.candidate + found.candidate_len) as usize
}

/// Returns the number of chunks of an alignment: runs of matches that are contiguous and in the same order in
/// both sentences.
pub(crate) fn count_chunks(chosen: &[Match]) -> usize {
    let follows = |pair: &&[Match]| {
        let [before, after] = pair else { return false };
        before.reference + before.reference_len == after.reference
            && before.candidate + before.candidate_len == after.candidate
    };
    chosen.len() - chosen.windows(2).filter(follows).count()
}
