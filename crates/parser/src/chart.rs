//! The chart of a batch of sentences of one length.
//!
//! A cell (a span of words) keeps, for the cells above it, a small table of its plain states and
//! lists of its heads (see [`crate::layout`]); the scores stand in one long list that grows from
//! cell to cell. The table of all states is needed for the cell that is being built only.
//!
//! Tried and left: leaving out heads that no neighbouring word can go with (by the tags with which
//! phrases begin and end) costs more than it saves, 20 % in all, since the lists are made anew for
//! every batch.

use crate::lanes::{Lanes, Mask};
use crate::layout::{KINDS, Kind, Layout, ListedRule};

/// Which lanes have a state, and where in its cell's scores the state stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) mask: Mask,
    pub(crate) slot: u16,
}

/// All states of a cell by their number: a bit each, the number of states before each 64 bits, and
/// the states that are there.
#[derive(Debug, Default)]
struct Places {
    bits: Vec<u64>,
    before: Vec<u16>,
    entries: Vec<Entry>,
}

/// A state of a cell in the list of its kind, with its rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    first_rule: u32,
    rules: u32,
    mask: Mask,
    slot: u16,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    first_score: usize,
    /// Where the heads of each kind start, and one end.
    heads: [usize; 5],
    /// Where the cell's entries start in [`Places`].
    first_entry: usize,
}

/// The states of the cell that is being built.
struct Current<'a, L> {
    entries: &'a mut [Entry],
    active: &'a mut [u64],
    scores: &'a mut [L],
    used: u16,
}

impl<L: Lanes> Current<'_, L> {
    #[inline(always)]
    fn improve(&mut self, state: u16, mask: Mask, score: &L) {
        let entry = &mut self.entries[usize::from(state)];
        if entry.mask == 0 {
            entry.slot = self.used;
            self.used += 1;
            self.active[usize::from(state / 64)] |= 1 << (state % 64);
            self.scores[usize::from(entry.slot)] = *score;
        } else {
            self.scores[usize::from(entry.slot)].improve(score);
        }
        entry.mask |= mask;
    }

    #[inline(always)]
    fn combine<const HEAD_IS_LEFT: bool>(
        &mut self,
        rules: &[ListedRule],
        heads: Side<'_, L>,
        others: Table<'_, L>,
    ) {
        for head in heads.heads {
            let head_score = &heads.scores[usize::from(head.slot)];
            let first = head.first_rule as usize;
            for rule in &rules[first..first + head.rules as usize] {
                let other = others.plain[usize::from(rule.other)];
                let mask = head.mask & other.mask;
                if mask != 0 {
                    let other_score = &others.scores[usize::from(other.slot)];
                    let (left, right) =
                        if HEAD_IS_LEFT { (head_score, other_score) } else { (other_score, head_score) };
                    self.improve(rule.parent, mask, &L::sum(rule.score, left, right));
                }
            }
        }
    }

    /// Children ascend, and each reads what the ones before it have left.
    fn apply_chains(&mut self, layout: &Layout, is_word: bool) {
        for child in &layout.children {
            if child.is_word_tag && !is_word {
                continue;
            }
            let entry = self.entries[usize::from(child.state)];
            if entry.mask != 0 {
                let score = self.scores[usize::from(entry.slot)];
                for &(parent, rule) in &child.chains {
                    self.improve(parent, entry.mask, &score.plus(rule));
                }
            }
        }
    }
}

/// The heads of a cell, with the cell's scores.
#[derive(Clone, Copy)]
struct Side<'a, L> {
    heads: &'a [Head],
    scores: &'a [L],
}

/// The plain states of a cell, with the cell's scores.
#[derive(Clone, Copy)]
struct Table<'a, L> {
    plain: &'a [Entry],
    scores: &'a [L],
}

/// Room for charts, used again from batch to batch.
pub(crate) struct Chart<'a, L> {
    pub(crate) layout: &'a Layout,
    /// The number of words of the batch, the boundary included.
    pub(crate) length: usize,
    cells: Vec<Cell>,
    cell_numbers: Vec<u32>,
    plain: Vec<Entry>,
    heads: Vec<Head>,
    places: Places,
    scores: Vec<L>,
    used_scores: usize,
    entries: Vec<Entry>,
    active: Vec<u64>,
}

const NO_CELL: u32 = u32::MAX;

impl<'a, L: Lanes> Chart<'a, L> {
    pub(crate) fn new(layout: &'a Layout) -> Self {
        Self {
            layout,
            length: 0,
            cells: Vec::new(),
            cell_numbers: Vec::new(),
            plain: Vec::new(),
            heads: Vec::new(),
            places: Places::default(),
            scores: Vec::new(),
            used_scores: 0,
            entries: vec![Entry::default(); layout.states],
            active: vec![0; layout.states.div_ceil(64)],
        }
    }

    /// Fill the chart for sentences of `length` words, the boundary included. `tag` calls back for
    /// each lane, state and score of the word at a place.
    pub(crate) fn fill(&mut self, length: usize, tags: impl Fn(usize, &mut dyn FnMut(usize, u16, f32))) {
        self.length = length;
        self.cells.clear();
        self.cell_numbers.clear();
        self.cell_numbers.resize(length * (length + 1), NO_CELL);
        self.plain.clear();
        self.heads.clear();
        self.places.bits.clear();
        self.places.before.clear();
        self.places.entries.clear();
        self.used_scores = 0;
        for start in 0..length {
            self.build(start, start + 1, |_, current| {
                tags(start, &mut |lane, state, score| {
                    let mut lanes = L::NONE;
                    lanes.set(lane, score);
                    current.improve(state, 1 << lane, &lanes);
                });
            });
        }
        // The boundary is joined to whole sentences only, so no other span ends with it.
        for width in 2..length {
            for start in 0..length - width {
                self.build(start, start + width, |cells, current| {
                    cells.combine_all(start, start + width, current)
                });
            }
        }
        if length > 1 {
            self.build(0, length, |cells, current| cells.combine_all(0, length, current));
        }
    }

    fn build(&mut self, start: usize, end: usize, add: impl FnOnce(&Finished<'_, L>, &mut Current<'_, L>)) {
        let most = self.used_scores + self.layout.states;
        if self.scores.len() < most {
            self.scores.resize(most, L::NONE);
        }
        let (finished_scores, scores) = self.scores.split_at_mut(self.used_scores);
        let finished = Finished {
            layout: self.layout,
            length: self.length,
            cells: &self.cells,
            cell_numbers: &self.cell_numbers,
            plain: &self.plain,
            heads: &self.heads,
            places: &self.places,
            scores: finished_scores,
        };
        let mut current = Current { entries: &mut self.entries, active: &mut self.active, scores, used: 0 };
        add(&finished, &mut current);
        current.apply_chains(self.layout, end == start + 1);
        let used = usize::from(current.used);
        self.finish(start, end);
        self.used_scores += used;
    }

    /// Keep what the cells above need, and clear the table of all states.
    fn finish(&mut self, start: usize, end: usize) {
        let layout = self.layout;
        self.plain.extend_from_slice(&self.entries[..layout.plain]);
        let mut heads = [self.heads.len(); 5];
        for kind in KINDS {
            if self.is_used(start, end, kind) {
                self.push_heads(kind);
            }
            heads[kind as usize + 1] = self.heads.len();
        }
        let first_entry = self.places.entries.len();
        self.places.bits.extend_from_slice(&self.active);
        for (word, bits) in self.active.iter_mut().enumerate() {
            self.places.before.push((self.places.entries.len() - first_entry) as u16);
            while *bits != 0 {
                let entry = &mut self.entries[64 * word + bits.trailing_zeros() as usize];
                self.places.entries.push(std::mem::take(entry));
                *bits &= *bits - 1;
            }
        }
        self.cell_numbers[start * (self.length + 1) + end] = self.cells.len() as u32;
        self.cells.push(Cell { first_score: self.used_scores, heads, first_entry });
    }

    /// A cell at an edge of the sentence has no neighbour there; the boundary is the neighbour of
    /// the whole sentence only.
    fn is_used(&self, start: usize, end: usize, kind: Kind) -> bool {
        match kind.head_is_left() {
            true => end + 1 < self.length || (start == 0 && end < self.length),
            false => start > 0,
        }
    }

    fn push_heads(&mut self, kind: Kind) {
        let list = &self.layout.lists[kind as usize];
        for (word, &bits) in self.active.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let state = 64 * word + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let (first_rule, end) = (list.starts[state], list.starts[state + 1]);
                if first_rule < end {
                    let Entry { mask, slot } = self.entries[state];
                    let rules = end - first_rule;
                    self.heads.push(Head { first_rule, rules, mask, slot });
                }
            }
        }
    }

    pub(crate) fn finished(&self) -> Finished<'_, L> {
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

    /// The bytes that the chart keeps between batches.
    pub(crate) fn size(&self) -> usize {
        self.scores.len() * size_of::<L>()
    }
}

/// The cells that are built.
pub(crate) struct Finished<'a, L> {
    pub(crate) layout: &'a Layout,
    pub(crate) length: usize,
    cells: &'a [Cell],
    cell_numbers: &'a [u32],
    plain: &'a [Entry],
    heads: &'a [Head],
    places: &'a Places,
    scores: &'a [L],
}

impl<L: Lanes> Finished<'_, L> {
    fn cell(&self, start: usize, end: usize) -> Option<usize> {
        match self.cell_numbers[start * (self.length + 1) + end] {
            NO_CELL => None,
            cell => Some(cell as usize),
        }
    }

    fn table(&self, cell: usize) -> Table<'_, L> {
        let plain = self.layout.plain;
        let scores = &self.scores[self.cells[cell].first_score..];
        Table { plain: &self.plain[cell * plain..(cell + 1) * plain], scores }
    }

    fn side(&self, cell: usize, kind: Kind) -> Side<'_, L> {
        let Cell { first_score, heads, .. } = &self.cells[cell];
        let heads = &self.heads[heads[kind as usize]..heads[kind as usize + 1]];
        Side { heads, scores: &self.scores[*first_score..] }
    }

    fn combine_all(&self, start: usize, end: usize, current: &mut Current<'_, L>) {
        let rules = |kind: Kind| &self.layout.lists[kind as usize].rules[..];
        for split in start + 1..end {
            let (Some(left), Some(right)) = (self.cell(start, split), self.cell(split, end)) else {
                continue;
            };
            let (left_table, right_table) = (self.table(left), self.table(right));
            let kind = Kind::LeftWithPhrase;
            current.combine::<true>(rules(kind), self.side(left, kind), right_table);
            let kind = Kind::RightWithPhrase;
            current.combine::<false>(rules(kind), self.side(right, kind), left_table);
            if split + 1 == end {
                let kind = Kind::LeftWithTag;
                current.combine::<true>(rules(kind), self.side(left, kind), right_table);
            }
            if split == start + 1 {
                let kind = Kind::RightWithTag;
                current.combine::<false>(rules(kind), self.side(right, kind), left_table);
            }
        }
    }

    /// A cell for looking up scores of one lane, if its span has one.
    pub(crate) fn scores(&self, start: usize, end: usize, lane: usize) -> Option<CellScores<'_, L>> {
        let number = self.cell(start, end)?;
        let words = self.layout.states.div_ceil(64);
        let Cell { first_score, first_entry, .. } = self.cells[number];
        Some(CellScores {
            table: self.table(number),
            bits: &self.places.bits[number * words..(number + 1) * words],
            before: &self.places.before[number * words..(number + 1) * words],
            entries: &self.places.entries[first_entry..],
            scores: &self.scores[first_score..],
            lane,
        })
    }
}

/// The scores of one lane in a cell.
pub(crate) struct CellScores<'a, L> {
    table: Table<'a, L>,
    bits: &'a [u64],
    before: &'a [u16],
    entries: &'a [Entry],
    scores: &'a [L],
    lane: usize,
}

impl<L: Lanes> CellScores<'_, L> {
    /// Whether the lane has a plain state, which is quickly asked.
    #[inline(always)]
    pub(crate) fn has_plain(&self, state: u16) -> bool {
        self.table.plain[usize::from(state)].mask >> self.lane & 1 != 0
    }

    /// The score of any state, minus infinity if the lane has none.
    #[inline(always)]
    pub(crate) fn get(&self, state: u16) -> f32 {
        let (word, bit) = (usize::from(state / 64), state % 64);
        let bits = self.bits[word];
        if bits >> bit & 1 == 0 {
            return f32::NEG_INFINITY;
        }
        let before = usize::from(self.before[word]) + (bits & ((1 << bit) - 1)).count_ones() as usize;
        let entry = self.entries[before];
        if entry.mask >> self.lane & 1 == 0 {
            return f32::NEG_INFINITY;
        }
        self.scores[usize::from(entry.slot)].get(self.lane)
    }
}
