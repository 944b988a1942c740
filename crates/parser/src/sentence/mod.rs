//! The chart of one sentence.
//!
//! Spans of the same length at 16 neighboring starts form a block, with one lane for each start. Left children
//! begin at the same start as their parent, so they are in the same lane of their block. Right children begin
//! later, so they are in other lanes of two neighboring blocks (see [`Window`](block::Window)).
//!
//! The child with more rules, which is the head, is read from a list that is stored in the order of the lanes.
//! The lists of left heads follow the starts of spans, and the lists of right heads follow their last words.
//! The other child is read from a window.
//!
//! The spans of one length depend only on shorter spans, so several threads can compute them. Children of at
//! least [`TILE`] words are combined for several lengths together.

mod block;
mod lengths;
mod sums;
mod threads;

use crate::cells::{CellScores, Cells};
use crate::lanes::{LANES, Lanes};
use crate::layout::Layout;
use block::Block;
use lengths::{Finished, Partial, StartBlock, Tables};
use sums::{RightList, Sums, TILE};
use threads::for_each;

/// Reusable memory for the charts of one sentence after another.
pub(crate) struct SentenceChart<'a> {
    layout: &'a Layout,
    /// Number of words, without the boundary.
    words: usize,
    /// Blocks of starts, by length.
    blocks: Vec<StartBlock>,
    /// Right heads by their last words, by length.
    ends: Vec<RightList>,
    /// The boundary alone, and the whole sentence with the boundary.
    boundary: Block,
    whole: Block,
    start_sums: Vec<Partial>,
    end_sums: Vec<Partial>,
    tables: Vec<Tables>,
    /// Bytes of the spans of this sentence, and of all memory.
    used: usize,
    held: usize,
    /// Bytes requested so far.
    taken: usize,
}

impl<'a> SentenceChart<'a> {
    pub(crate) fn new(layout: &'a Layout) -> Self {
        Self {
            layout,
            words: 0,
            blocks: Vec::new(),
            ends: Vec::new(),
            boundary: Block::NONE,
            whole: Block::NONE,
            start_sums: Vec::new(),
            end_sums: Vec::new(),
            tables: Vec::new(),
            used: 0,
            held: 0,
            taken: 0,
        }
    }

    /// Fills the chart for a sentence of `length` words, including the boundary.
    ///
    /// `tags` calls its callback with each state and score of the word at a position. `next_length` is called
    /// before each length with the number of bytes that the chart needs in addition to earlier requests. It
    /// returns the number of threads for this length, or an error to stop the work.
    pub(crate) fn fill<E>(
        &mut self,
        length: usize,
        tags: impl Fn(usize, &mut dyn FnMut(u16, f32)),
        mut next_length: impl FnMut(usize) -> Result<usize, E>,
    ) -> Result<(), E> {
        self.words = length - 1;
        let width = self.words.div_ceil(LANES);
        let count = self.blocks.len().max(width * self.words);
        self.blocks.resize_with(count, StartBlock::default);
        self.ends.resize_with(count, RightList::default);
        self.start_sums.resize_with(self.start_sums.len().max(width), Partial::default);
        self.end_sums.resize_with(self.end_sums.len().max(width), Partial::default);
        self.used = 0;
        let mut growth = 0;
        for length in 1..=self.words {
            // Estimate: as many new bytes as for the previous length.
            let more = (self.held + growth).saturating_sub(self.taken);
            self.taken += more;
            let threads = next_length(more)?;
            let before = self.bytes(length);
            while self.tables.len() < threads {
                self.tables.push(Tables::new(self.layout));
            }
            match length {
                1 => self.add_words(&tags),
                _ => self.add_length(length, threads),
            }
            self.collect_ends(length, threads);
            let bytes = self.bytes(length);
            growth = bytes - before;
            self.held += growth;
            self.used += bytes;
        }
        self.add_boundary(&tags);
        Ok(())
    }

    /// Returns the bytes of the spans of a length.
    fn bytes(&self, length: usize) -> usize {
        let width = self.words.div_ceil(LANES);
        let row = (length - 1) * width..length * width;
        let blocks = self.blocks[row.clone()].iter().map(StartBlock::bytes);
        blocks.chain(self.ends[row].iter().map(RightList::bytes)).sum()
    }

    /// Returns the bytes that the last sentence needed.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    fn add_words(&mut self, tags: &impl Fn(usize, &mut dyn FnMut(u16, f32))) {
        let Self { layout, words, blocks, tables, .. } = self;
        let width = words.div_ceil(LANES);
        let finished =
            Finished { layout, rules: &layout.sentence, words: *words, width, blocks: &[], ends: &[] };
        for (number, cell) in blocks[..width].iter_mut().enumerate() {
            for lane in 0..LANES.min(*words - LANES * number) {
                add_tags(tags, LANES * number + lane, lane, &mut tables[0].sums);
            }
            finished.finish(cell, &mut tables[0], true);
        }
    }

    fn add_length(&mut self, length: usize, threads: usize) {
        let Self { layout, words, blocks, ends, start_sums, end_sums, tables, .. } = self;
        let width = words.div_ceil(LANES);
        let (blocks, cells) = blocks.split_at_mut((length - 1) * width);
        let finished = Finished { layout, rules: &layout.sentence, words: *words, width, blocks, ends };
        let (starts, ends) = (&mut start_sums[..width], &mut end_sums[..width]);
        let tables = &mut tables[..threads];
        let first = length - (length - 2) % TILE;
        if length == first {
            let all = starts.iter_mut().enumerate().map(|part| (true, part));
            let all = all.chain(ends.iter_mut().enumerate().map(|part| (false, part)));
            for_each(all, tables, |(is_start, (number, sums)), tables| match is_start {
                true => finished.add_tile_of_starts(first, number, sums, tables),
                false => finished.add_tile_of_ends(first, number, sums, tables),
            });
        }
        for_each(ends.iter_mut().enumerate(), tables, |(number, sums), tables| {
            finished.complete_ends((first, length, number), sums, tables);
        });
        let (starts, ends) = (&*starts, &*ends);
        for_each(cells[..width].iter_mut().enumerate(), tables, |(number, cell), tables| {
            finished.complete_starts((first, length, number), (&starts[number], ends), cell, tables);
        });
    }

    /// Collects the right heads of a finished length.
    fn collect_ends(&mut self, length: usize, threads: usize) {
        let Self { layout, words, blocks, ends, tables, .. } = self;
        let width = words.div_ceil(LANES);
        let (ends, lists) = ends.split_at_mut((length - 1) * width);
        let finished = Finished { layout, rules: &layout.sentence, words: *words, width, blocks, ends };
        for_each(lists[..width].iter_mut().enumerate(), &mut tables[..threads], |(number, list), _| {
            finished.collect_ends(length, number, list);
        });
    }

    /// Computes the boundary, and the whole sentence, in the first lane.
    fn add_boundary(&mut self, tags: &impl Fn(usize, &mut dyn FnMut(u16, f32))) {
        let sums = &mut self.tables[0].sums;
        add_tags(tags, self.words, 0, sums);
        sums.apply_chains(self.layout, true);
        sums.finish(std::array::from_mut(&mut self.boundary));
        let width = self.words.div_ceil(LANES);
        let words = self.blocks[(self.words - 1) * width].block.lane(0);
        if let (Some(words), Some(boundary)) = (words, self.boundary.lane(0)) {
            for rule in &self.layout.sentence.end_rules {
                let score = (rule.score + words.get(rule.left)) + boundary.get(rule.right);
                if score > f32::NEG_INFINITY {
                    let mut lanes = Lanes::NONE;
                    lanes.set(0, score);
                    sums.add(rule.parent, 1, &lanes);
                }
            }
        }
        sums.apply_chains(self.layout, false);
        sums.finish(std::array::from_mut(&mut self.whole));
    }
}

fn add_tags(
    tags: &impl Fn(usize, &mut dyn FnMut(u16, f32)),
    position: usize,
    lane: usize,
    sums: &mut Sums<1>,
) {
    tags(position, &mut |state, score| {
        let mut lanes = Lanes::NONE;
        lanes.set(lane, score);
        sums.add(state, 1 << lane, &lanes);
    });
}

impl Cells for SentenceChart<'_> {
    fn layout(&self) -> &Layout {
        self.layout
    }

    fn length(&self) -> usize {
        self.words + 1
    }

    fn scores(&self, start: usize, end: usize) -> Option<CellScores<'_>> {
        if end > self.words {
            return match start {
                0 => self.whole.lane(0),
                _ if start == self.words => self.boundary.lane(0),
                _ => None,
            };
        }
        let width = self.words.div_ceil(LANES);
        self.blocks[(end - start - 1) * width + start / LANES].block.lane(start % LANES)
    }
}
