//! The best alignment of one candidate with one reference among all possible matches.
//!
//! METEOR walks the reference from left to right and keeps the best partial alignments: most
//! matched words, then fewest chunks, then shortest distance; of equals, the one found first.
//! In this search an exact match counts both its words; a match of any other stage counts half of
//! its words on either side, rounded down, so a single word matched by stem or synonym counts
//! nothing and is taken only for the sake of chunks and order.

/// Possible matches of a candidate with one reference at most: 2048 times the same word on both sides.
pub(crate) const MAX_MATCHES: usize = 1 << 22;
/// What the distances of these matches may sum to: the bits that ranks have for them.
pub(crate) const MAX_DISTANCE: u64 = (1 << DISTANCE_BITS) - 1;
const DISTANCE_BITS: u32 = 40;

/// One possible match; positions are in words.
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

/// A partial alignment up to some reference word.
#[derive(Clone, Copy)]
struct Path {
    gain: u32,
    chunks: u32,
    /// Of all matches that were looked at: METEOR's overflows where long captions repeat a word.
    distance: u64,
    /// First reference word after the last match or skipped word.
    next: u32,
    /// Candidate word after the last match, `NONE` if the last reference word was skipped.
    open: u32,
    /// Last step of the path in `Search::steps`.
    tail: u32,
}

impl Path {
    const START: Self = Self { gain: 0, chunks: 0, distance: 0, next: 0, open: NONE, tail: NONE };

    fn take(&mut self, found: &Match) {
        self.gain += found.gain();
        self.chunks += u32::from(self.open != NONE && found.candidate != self.open);
        self.next = found.reference + found.reference_len;
        self.open = found.candidate + found.candidate_len;
    }

    fn close_chunk(&mut self) {
        self.chunks += u32::from(self.open != NONE);
        self.open = NONE;
    }

    /// Smaller is better; `order`, in the low 32 bits, keeps equals in the order in which they were
    /// found. There are no more chunks than matches, which 24 bits hold.
    fn rank(&self, order: usize) -> u128 {
        u128::from(!self.gain) << 96
            | u128::from(self.chunks) << (32 + DISTANCE_BITS)
            | u128::from(self.distance) << 32
            | order as u128
    }
}

/// A path about to be kept: from which path it comes and by which match.
#[derive(Clone, Copy)]
struct Extension {
    path: Path,
    parent: u32,
    taken: u32,
}

/// Reusable memory of the search.
#[derive(Default)]
pub(crate) struct Search {
    candidate_cover: Vec<u32>,
    reference_cover: Vec<u32>,
    /// Fixed match that starts at a reference word, `NONE` if there is none.
    fixed: Vec<u32>,
    paths: Vec<Path>,
    /// The used words of each path.
    used: Vec<u64>,
    next_used: Vec<u64>,
    extensions: Vec<Extension>,
    /// The rank of each extension.
    ranks: Vec<u128>,
    /// Taken matches: the step before and the match.
    steps: Vec<(u32, u32)>,
}

impl Search {
    /// Choose among `matches`, which are in order of their reference word and, within one word, in
    /// the order in which METEOR finds them. Fills `chosen` in order of the reference.
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
        let layout = Layout::new(candidate_len, reference_len);
        self.start(layout, matches);
        let mut from = 0;
        for position in 0..reference_len as u32 {
            let here = matches[from..].iter().take_while(|found| found.reference == position).count();
            self.extend_paths(layout, position, matches, from..from + here);
            self.keep_best(layout, beam_size, matches);
            from += here;
        }
        self.collect_best(matches, chosen);
    }

    /// Mark the matches that overlap no other; true if these are all.
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

    fn start(&mut self, layout: Layout, matches: &[Match]) {
        self.steps.clear();
        self.paths.clear();
        self.paths.push(Path::START);
        refill(&mut self.used, layout.all, 0);
        for &index in self.fixed.iter().filter(|&&index| index != NONE) {
            layout.insert(&mut self.used, &matches[index as usize]);
        }
    }

    /// All ways to go on over the reference word at `position`.
    fn extend_paths(
        &mut self,
        layout: Layout,
        position: u32,
        matches: &[Match],
        here: std::ops::Range<usize>,
    ) {
        self.extensions.clear();
        self.ranks.clear();
        for parent in 0..self.paths.len() {
            let mut path = self.paths[parent];
            let used = layout.set(&self.used, parent);
            let mut push = |path: Path, taken| {
                self.ranks.push(path.rank(self.extensions.len()));
                self.extensions.push(Extension { path, parent: parent as u32, taken });
            };
            if layout.has_reference_word(used, position) {
                if position >= path.next {
                    let found = &matches[self.fixed[position as usize] as usize];
                    path.take(found);
                    path.distance += u64::from(found.distance());
                }
                push(path, NONE);
                continue;
            }
            for index in here.clone() {
                let found = &matches[index];
                if layout.overlaps(used, found) {
                    continue;
                }
                let mut taken = path;
                taken.take(found);
                push(taken, index as u32);
                // METEOR charges the distance of a match to the paths found after it.
                path.distance += u64::from(found.distance());
            }
            path.close_chunk();
            path.next += 1;
            push(path, NONE);
        }
    }

    /// Make the best extensions the new paths, best first.
    fn keep_best(&mut self, layout: Layout, beam_size: usize, matches: &[Match]) {
        if let [only] = self.extensions[..] {
            self.paths[0] = only.path;
            if only.taken != NONE {
                layout.insert(&mut self.used, &matches[only.taken as usize]);
                self.paths[0].tail = self.step(only);
            }
            return;
        }
        if self.is_in_order() {
            for (path, extension) in self.paths.iter_mut().zip(&self.extensions) {
                *path = extension.path;
            }
            return;
        }
        if self.ranks.len() > beam_size {
            self.ranks.select_nth_unstable(beam_size - 1);
            self.ranks.truncate(beam_size);
        }
        self.ranks.sort_unstable();
        self.paths.clear();
        self.next_used.clear();
        for index in 0..self.ranks.len() {
            let extension = self.extensions[self.ranks[index] as u32 as usize];
            let mut path = extension.path;
            let start = self.next_used.len();
            self.next_used.extend_from_slice(layout.set(&self.used, extension.parent as usize));
            if extension.taken != NONE {
                layout.insert(&mut self.next_used[start..], &matches[extension.taken as usize]);
                path.tail = self.step(extension);
            }
            self.paths.push(path);
        }
        std::mem::swap(&mut self.used, &mut self.next_used);
    }

    /// Whether every path goes on in one way, without a match, and none overtakes another.
    fn is_in_order(&self) -> bool {
        self.extensions.len() == self.paths.len()
            && self.extensions.iter().all(|extension| extension.taken == NONE)
            && self.ranks.is_sorted()
    }

    fn step(&mut self, extension: Extension) -> u32 {
        self.steps.push((extension.path.tail, extension.taken));
        self.steps.len() as u32 - 1
    }

    fn collect_best(&mut self, matches: &[Match], chosen: &mut Vec<Match>) {
        for path in &mut self.paths {
            path.close_chunk();
        }
        let best = self.paths.iter().enumerate().min_by_key(|(order, path)| path.rank(*order));
        let mut tail = best.map_or(NONE, |(_, path)| path.tail);
        chosen
            .extend(self.fixed.iter().filter(|&&index| index != NONE).map(|&index| matches[index as usize]));
        while let Some(&(before, taken)) = self.steps.get(tail as usize) {
            chosen.push(matches[taken as usize]);
            tail = before;
        }
        chosen.sort_unstable_by_key(|found| found.reference);
    }
}

fn refill<T: Clone>(vector: &mut Vec<T>, len: usize, value: T) {
    vector.clear();
    vector.resize(len, value);
}

/// Layout of sets of words as bits: blocks for the candidate, then blocks for the reference.
#[derive(Clone, Copy)]
struct Layout {
    candidate: usize,
    all: usize,
}

impl Layout {
    fn new(candidate_len: usize, reference_len: usize) -> Self {
        let candidate = candidate_len.div_ceil(64);
        Self { candidate, all: candidate + reference_len.div_ceil(64) }
    }

    /// The set at a position of a list of sets.
    fn set(self, sets: &[u64], position: usize) -> &[u64] {
        &sets[position * self.all..][..self.all]
    }

    fn has_reference_word(self, set: &[u64], word: u32) -> bool {
        bit(&set[self.candidate..], word)
    }

    /// Whether a word of the match is in the set.
    fn overlaps(self, set: &[u64], found: &Match) -> bool {
        let (candidate, reference) = set.split_at(self.candidate);
        any_bit(candidate, found.candidate, found.candidate_len)
            || any_bit(reference, found.reference, found.reference_len)
    }

    /// Adds the words of a match to a set.
    fn insert(self, set: &mut [u64], found: &Match) {
        let (candidate, reference) = set.split_at_mut(self.candidate);
        set_bits(candidate, found.candidate, found.candidate_len);
        set_bits(reference, found.reference, found.reference_len);
    }
}

fn any_bit(blocks: &[u64], start: u32, len: u32) -> bool {
    (start..start + len).any(|word| bit(blocks, word))
}

fn set_bits(blocks: &mut [u64], start: u32, len: u32) {
    (start..start + len).for_each(|word| blocks[word as usize / 64] |= 1 << (word % 64));
}

fn bit(blocks: &[u64], word: u32) -> bool {
    blocks[word as usize / 64] >> (word % 64) & 1 == 1
}

/// Number of chunks of an alignment: runs of matches that are contiguous and in the same order in
/// both sentences.
pub(crate) fn count_chunks(chosen: &[Match]) -> usize {
    let follows = |pair: &&[Match]| {
        let [before, after] = pair else { return false };
        before.reference + before.reference_len == after.reference
            && before.candidate + before.candidate_len == after.candidate
    };
    chosen.len() - chosen.windows(2).filter(follows).count()
}
