//! The chart of a batch of sentences of the same length.
//!
//! A cell (a span of words) keeps a small table of its plain states and lists of its heads for the cells
//! above it (see [`crate::layout`]). The scores are in lists that are never moved. Only the cell under
//! construction has a table of all states. Cells are built column by column (spans that end with the same
//! word), and most heads are needed only by their own column or the next one.
//!
//! Skipping heads that are incompatible with every neighboring word (by the tags with which phrases begin and
//! end) was tried and made parsing 20% slower overall, because the lists must be rebuilt for every batch.

mod heads;
mod scores;

use crate::cells::{CellScores, Cells, Places};
use crate::grammar::{KINDS, Kind, ListedRule};
use crate::lanes::{Lanes, Mask};
use crate::layout::Layout;
use heads::{Head, Heads};
use scores::{Scores, ScoresPlace};

/// The lanes that have a state, and the slot of its score in the cell.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    mask: Mask,
    slot: u16,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    scores: ScoresPlace,
    /// The score of the best state in each lane.
    highest: Lanes,
    /// Range of the heads of each kind in their list.
    heads: [(usize, usize); 4],
}

/// Whether a span begins or ends with the words of its sentence.
#[derive(Clone, Copy, Debug)]
struct Edges {
    at_start: bool,
    at_end: bool,
}

/// The states of the cell under construction, by number.
///
/// All cells reuse this memory, so it stays in the cache, and frequent score updates cause no memory traffic.
struct Current {
    masks: Vec<Mask>,
    /// Slot of each state's score in the finished cell.
    slots: Vec<u16>,
    /// Minus infinity in every lane that does not have the state.
    scores: Vec<Lanes>,
}

impl Current {
    #[inline(always)]
    fn improve(&mut self, state: u16, mask: Mask, score: &Lanes) {
        self.masks[usize::from(state)] |= mask;
        self.scores[usize::from(state)].improve(score);
    }

    #[inline(always)]
    fn combine<const HEAD_IS_LEFT: bool>(
        &mut self,
        edges: Edges,
        rules: &[ListedRule],
        heads: Side<'_>,
        others: Table<'_>,
    ) {
        for head in heads.heads {
            let head_score = &heads.scores[usize::from(head.slot)];
            for rule in &rules[head.rules.range(edges.at_start, edges.at_end)] {
                let other = others.plain[usize::from(rule.other)];
                let mask = head.mask & other.mask;
                if mask != 0 {
                    let other_score = &others.scores[usize::from(other.slot)];
                    let (left, right) =
                        if HEAD_IS_LEFT { (head_score, other_score) } else { (other_score, head_score) };
                    self.improve(rule.parent, mask, &Lanes::sum(rule.score, left, right));
                }
            }
        }
    }

    /// Children are in increasing order, and each uses the scores left by the previous ones.
    fn apply_chains(&mut self, layout: &Layout, is_word: bool) {
        for child in &layout.children {
            if child.is_word_tag && !is_word {
                continue;
            }
            let mask = self.masks[usize::from(child.state)];
            if mask != 0 {
                let score = self.scores[usize::from(child.state)];
                for &(parent, rule) in &child.chains {
                    self.improve(parent, mask, &score.plus(rule));
                }
            }
        }
    }
}

/// The heads of a cell, with the cell's scores.
#[derive(Clone, Copy)]
struct Side<'a> {
    heads: &'a [Head],
    scores: &'a [Lanes],
}

/// The plain states of a cell, with the cell's scores.
#[derive(Clone, Copy)]
struct Table<'a> {
    plain: &'a [Entry],
    scores: &'a [Lanes],
}

/// Reusable memory for charts, one batch after another.
pub(crate) struct BatchChart<'a> {
    pub(crate) layout: &'a Layout,
    /// Number of words of each sentence in the batch, including the boundary.
    pub(crate) length: usize,
    cells: Vec<Cell>,
    cell_numbers: Vec<u32>,
    plain: Vec<Entry>,
    heads: Heads,
    places: Places,
    scores: Scores,
    current: Current,
    /// Bytes requested so far, for the largest chart.
    taken: usize,
}

const NO_CELL: u32 = u32::MAX;

impl<'a> BatchChart<'a> {
    pub(crate) fn new(layout: &'a Layout) -> Self {
        Self {
            layout,
            length: 0,
            cells: Vec::new(),
            cell_numbers: Vec::new(),
            plain: Vec::new(),
            heads: Heads::default(),
            places: Places::default(),
            scores: Scores::default(),
            current: Current {
                masks: vec![0; layout.states],
                slots: vec![0; layout.states],
                scores: vec![Lanes::NONE; layout.states],
            },
            taken: 0,
        }
    }

    /// Fills the chart for sentences of `length` words, including the boundary.
    ///
    /// `tags` calls its callback with each lane, state and score of the word at a position. `next_column` is
    /// called before each column with the number of bytes that the chart needs in addition to earlier
    /// requests, and can stop the work.
    pub(crate) fn fill<E>(
        &mut self,
        length: usize,
        tags: impl Fn(usize, &mut dyn FnMut(usize, u16, f32)),
        mut next_column: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        self.length = length;
        self.cells.clear();
        self.cell_numbers.clear();
        self.cell_numbers.resize(length * (length + 1), NO_CELL);
        self.plain.clear();
        self.heads.clear();
        self.places.clear();
        self.scores.clear();
        let add_tags = |start| {
            let tags = &tags;
            move |_: &Finished<'_>, current: &mut Current| {
                tags(start, &mut |lane, state, score| {
                    let mut lanes = Lanes::NONE;
                    lanes.set(lane, score);
                    current.improve(state, 1 << lane, &lanes);
                });
            }
        };
        // In the order of their ends, because the right parts of a column's cells are cells of the same
        // column that are still in the cache. The boundary is combined only with whole sentences.
        let mut column_bytes = 0;
        for end in 1..length {
            let bytes = self.used();
            // Estimate: as much as the last column, and one cell more.
            next_column(self.more(bytes + column_bytes + column_bytes / end))?;
            self.heads.begin_column();
            self.build(end - 1, end, add_tags(end - 1));
            for start in (0..end - 1).rev() {
                self.build(start, end, |cells, current| cells.combine_all(start, end, current));
            }
            column_bytes = self.used().saturating_sub(bytes);
        }
        self.heads.begin_column();
        self.build(length - 1, length, add_tags(length - 1));
        if length > 1 {
            self.build(0, length, |cells, current| cells.combine_all(0, length, current));
        }
        Ok(())
    }

    /// Returns the bytes that a chart of a size needs in addition to earlier requests.
    fn more(&mut self, bytes: usize) -> usize {
        let more = bytes.saturating_sub(self.taken);
        self.taken += more;
        more
    }

    fn build(&mut self, start: usize, end: usize, add: impl FnOnce(&Finished<'_>, &mut Current)) {
        let finished = Finished {
            layout: self.layout,
            length: self.length,
            cells: &self.cells,
            cell_numbers: &self.cell_numbers,
            plain: &self.plain,
            heads: &self.heads,
            places: &self.places,
            scores: &self.scores,
        };
        add(&finished, &mut self.current);
        self.current.apply_chains(self.layout, end == start + 1);
        self.finish(start, end);
    }

    /// Stores the data that the cells above need, in the order of the states, and clears the cell under
    /// construction.
    fn finish(&mut self, start: usize, end: usize) {
        let place = self.scores.begin_cell(self.layout.states);
        let scores = &mut self.scores.lists[place.list];
        let mut highest = Lanes::NONE;
        let (first_plain, first_word) = (self.plain.len(), self.places.bits.len());
        self.plain.resize(first_plain + self.layout.plain, Entry::default());
        for (word, masks) in self.current.masks.chunks(64).enumerate() {
            let mut bits = 0_u64;
            for (bit, &mask) in masks.iter().enumerate() {
                bits |= u64::from(mask != 0) << bit;
            }
            self.places.bits.push(bits);
            self.places.before.push((scores.len() - place.first) as u16);
            while bits != 0 {
                let state = 64 * word + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let slot = (scores.len() - place.first) as u16;
                self.current.slots[state] = slot;
                if state < self.layout.plain {
                    self.plain[first_plain + state] = Entry { mask: self.current.masks[state], slot };
                }
                let score = std::mem::replace(&mut self.current.scores[state], Lanes::NONE);
                highest.improve(&score);
                scores.push(score);
            }
        }
        let heads = KINDS.map(|kind| {
            let first = self.heads.lists[kind as usize].len();
            if self.is_used(start, end, kind) {
                self.push_heads(kind, first_word);
            }
            (first, self.heads.lists[kind as usize].len())
        });
        self.current.masks.fill(0);
        self.cell_numbers[start * (self.length + 1) + end] = self.cells.len() as u32;
        self.cells.push(Cell { scores: place, highest, heads });
    }

    /// Returns whether a cell's heads are used.
    ///
    /// A cell at an edge of the sentence has no neighbor there, and the boundary is a neighbor only of the
    /// whole sentence.
    fn is_used(&self, start: usize, end: usize, kind: Kind) -> bool {
        match kind.head_is_left() {
            true => end + 1 < self.length || (start == 0 && end < self.length),
            false => start > 0,
        }
    }

    fn push_heads(&mut self, kind: Kind, first_word: usize) {
        let list = &self.layout.lists[kind as usize];
        for (word, (&bits, &is_head)) in self.places.bits[first_word..].iter().zip(&list.is_head).enumerate()
        {
            let mut bits = bits & is_head;
            while bits != 0 {
                let state = 64 * word + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let (mask, slot) = (self.current.masks[state], self.current.slots[state]);
                self.heads.lists[kind as usize].push(Head { rules: list.heads[state], mask, slot });
            }
        }
    }

    pub(crate) fn finished(&self) -> Finished<'_> {
        Finished {
            layout: self.layout,
            length: self.length,
            cells: &self.cells,
            cell_numbers: &self.cell_numbers,
            plain: &self.plain,
            heads: &self.heads,
            places: &self.places,
            scores: &self.scores,
        }
    }

    /// Returns the bytes that the last batch needed.
    pub(crate) fn used(&self) -> usize {
        let places = self.places.bytes();
        let tables = size_of_val(&self.plain[..]) + self.heads.len() * size_of::<Head>();
        places + tables + self.scores.bytes()
    }
}

/// The finished cells.
pub(crate) struct Finished<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) length: usize,
    cells: &'a [Cell],
    cell_numbers: &'a [u32],
    plain: &'a [Entry],
    heads: &'a Heads,
    places: &'a Places,
    scores: &'a Scores,
}

impl Finished<'_> {
    fn cell(&self, start: usize, end: usize) -> Option<usize> {
        match self.cell_numbers[start * (self.length + 1) + end] {
            NO_CELL => None,
            cell => Some(cell as usize),
        }
    }

    fn table(&self, cell: usize) -> Table<'_> {
        let plain = self.layout.plain;
        let scores = self.scores.of(self.cells[cell].scores);
        Table { plain: &self.plain[cell * plain..(cell + 1) * plain], scores }
    }

    fn side(&self, cell: usize, kind: Kind) -> Side<'_> {
        let Cell { scores, heads, .. } = &self.cells[cell];
        let (first, end) = heads[kind as usize];
        let heads = &self.heads.list(kind)[first..end];
        Side { heads, scores: self.scores.of(*scores) }
    }

    fn combine_all(&self, start: usize, end: usize, current: &mut Current) {
        let edges = Edges { at_start: start == 0, at_end: end + 1 >= self.length };
        let rules = |kind: Kind| &self.layout.lists[kind as usize].rules[..];
        for split in start + 1..end {
            let (Some(left), Some(right)) = (self.cell(start, split), self.cell(split, end)) else {
                continue;
            };
            let (left_table, right_table) = (self.table(left), self.table(right));
            let kind = Kind::LeftWithPhrase;
            current.combine::<true>(edges, rules(kind), self.side(left, kind), right_table);
            let kind = Kind::RightWithPhrase;
            current.combine::<false>(edges, rules(kind), self.side(right, kind), left_table);
            if split + 1 == end {
                let kind = Kind::LeftWithTag;
                current.combine::<true>(edges, rules(kind), self.side(left, kind), right_table);
            }
            if split == start + 1 {
                let kind = Kind::RightWithTag;
                current.combine::<false>(edges, rules(kind), self.side(right, kind), left_table);
            }
        }
    }
}

/// One sentence of a finished batch.
pub(crate) struct SentenceOfBatch<'a> {
    pub(crate) chart: &'a Finished<'a>,
    pub(crate) lane: usize,
}

impl Cells for SentenceOfBatch<'_> {
    fn layout(&self) -> &Layout {
        self.chart.layout
    }

    fn length(&self) -> usize {
        self.chart.length
    }

    fn scores(&self, start: usize, end: usize) -> Option<CellScores<'_>> {
        let number = self.chart.cell(start, end)?;
        let words = self.chart.layout.states.div_ceil(64);
        let cell = &self.chart.cells[number];
        Some(CellScores {
            bits: &self.chart.places.bits[number * words..(number + 1) * words],
            before: &self.chart.places.before[number * words..(number + 1) * words],
            scores: self.chart.scores.of(cell.scores),
            highest: cell.highest.get(self.lane),
            lane: self.lane,
        })
    }
}
