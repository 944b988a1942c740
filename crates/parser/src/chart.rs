//! The chart of a batch of sentences of the same length.
//!
//! A cell (a span of words) keeps a small table of its plain states and lists of its heads for the cells
//! above it (see [`crate::layout`]). The scores are in lists that are never moved. Only the cell under
//! construction has a table of all states. Cells are built column by column (spans that end with the same
//! word), and most heads are needed only by their own column or the next one.
//!
//! Skipping heads that are incompatible with every neighboring word (by the tags with which phrases begin and
//! end) was tried and made parsing 20% slower overall, because the lists must be rebuilt for every batch.

use crate::lanes::{Lanes, Mask};
use crate::layout::{HeadRules, KINDS, Kind, Layout, ListedRule};

/// The lanes that have a state, and the slot of its score in the cell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) mask: Mask,
    pub(crate) slot: u16,
}

/// The states of each cell: one bit per state, and the number of states before each block of 64 bits, from
/// which the slots of their scores follow.
#[derive(Debug, Default)]
struct Places {
    bits: Vec<u64>,
    before: Vec<u16>,
}

/// A state of a cell in the list of its kind, with its rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    rules: HeadRules,
    mask: Mask,
    slot: u16,
}

#[derive(Clone, Copy, Debug)]
struct Cell<L> {
    scores: ScoresPlace,
    /// The score of the best state in each lane.
    highest: L,
    /// Range of the heads of each kind in their list.
    heads: [(usize, usize); 4],
}

/// The list with a cell's scores, and their offset in it.
#[derive(Clone, Copy, Debug)]
struct ScoresPlace {
    list: usize,
    first: usize,
}

/// Size of a list in bytes.
///
/// Above 32 MB, the C library on Linux takes memory from the system and returns it when freed, instead of
/// keeping it for one thread. Pages that are not written to use no memory.
const LIST_BYTES: usize = 33 << 20;

/// The scores of all cells, in lists of the same size.
///
/// A single list would be copied whenever it grows, which needs twice the memory.
struct Scores<L> {
    lists: Vec<Vec<L>>,
    /// Number of lists in use.
    used: usize,
}

impl<L: Lanes> Scores<L> {
    fn clear(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
        self.used = 0;
    }

    /// Reserves a place for the scores of a cell with up to `most` states.
    fn begin_cell(&mut self, most: usize) -> ScoresPlace {
        let size = most.max(LIST_BYTES / size_of::<L>());
        if self.used == 0 || self.lists[self.used - 1].len() + most > size {
            if self.lists.len() == self.used {
                self.lists.push(Vec::with_capacity(size));
            }
            self.used += 1;
        }
        let list = self.used - 1;
        ScoresPlace { list, first: self.lists[list].len() }
    }

    fn of(&self, place: ScoresPlace) -> &[L] {
        &self.lists[place.list][place.first..]
    }

    fn bytes(&self) -> usize {
        self.lists.iter().map(|list| size_of_val(&list[..])).sum()
    }
}

/// The heads of the cells that other cells still need, one list per kind.
#[derive(Debug, Default)]
struct Heads {
    lists: [Vec<Head>; 4],
    /// Heads of the previous column. Left heads that combine with a tag are needed only with the next word.
    left_with_tag_before: Vec<Head>,
}

impl Heads {
    fn clear(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
        self.left_with_tag_before.clear();
    }

    /// Removes the heads that no cell of the next column needs.
    ///
    /// Right heads combine with their left neighbors in cells of the same column.
    fn begin_column(&mut self) {
        self.lists[Kind::RightWithPhrase as usize].clear();
        self.lists[Kind::RightWithTag as usize].clear();
        std::mem::swap(&mut self.lists[Kind::LeftWithTag as usize], &mut self.left_with_tag_before);
        self.lists[Kind::LeftWithTag as usize].clear();
    }

    /// Returns the list that cells of the current column read.
    fn list(&self, kind: Kind) -> &[Head] {
        match kind {
            Kind::LeftWithTag => &self.left_with_tag_before,
            _ => &self.lists[kind as usize],
        }
    }

    fn len(&self) -> usize {
        self.left_with_tag_before.len() + self.lists.iter().map(Vec::len).sum::<usize>()
    }
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
struct Current<L> {
    masks: Vec<Mask>,
    /// Slot of each state's score in the finished cell.
    slots: Vec<u16>,
    /// Minus infinity in every lane that does not have the state.
    scores: Vec<L>,
}

impl<L: Lanes> Current<L> {
    #[inline(always)]
    fn improve(&mut self, state: u16, mask: Mask, score: &L) {
        self.masks[usize::from(state)] |= mask;
        self.scores[usize::from(state)].improve(score);
    }

    #[inline(always)]
    fn combine<const HEAD_IS_LEFT: bool>(
        &mut self,
        edges: Edges,
        rules: &[ListedRule],
        heads: Side<'_, L>,
        others: Table<'_, L>,
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
                    self.improve(rule.parent, mask, &L::sum(rule.score, left, right));
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

/// Reusable memory for charts, one batch after another.
pub(crate) struct Chart<'a, L> {
    pub(crate) layout: &'a Layout,
    /// Number of words of each sentence in the batch, including the boundary.
    pub(crate) length: usize,
    cells: Vec<Cell<L>>,
    cell_numbers: Vec<u32>,
    plain: Vec<Entry>,
    heads: Heads,
    places: Places,
    scores: Scores<L>,
    current: Current<L>,
    /// Bytes requested so far, for the largest chart.
    taken: usize,
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
            heads: Heads::default(),
            places: Places::default(),
            scores: Scores { lists: Vec::new(), used: 0 },
            current: Current {
                masks: vec![0; layout.states],
                slots: vec![0; layout.states],
                scores: vec![L::NONE; layout.states],
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
        self.places.bits.clear();
        self.places.before.clear();
        self.scores.clear();
        let add_tags = |start| {
            let tags = &tags;
            move |_: &Finished<'_, L>, current: &mut Current<L>| {
                tags(start, &mut |lane, state, score| {
                    let mut lanes = L::NONE;
                    lanes.set(lane, score);
                    current.improve(state, 1 << lane, &lanes);
                });
            }
        };
        // In the order of their ends, because the right parts of a column's cells are cells of the same
        // column that are still in the cache. The boundary is combined only with whole sentences.
        let mut column_bytes = 0;
        for end in 1..length {
            let bytes = self.bytes();
            // Estimate: as much as the last column, and one cell more.
            next_column(self.more(bytes + column_bytes + column_bytes / end))?;
            self.heads.begin_column();
            self.build(end - 1, end, add_tags(end - 1));
            for start in (0..end - 1).rev() {
                self.build(start, end, |cells, current| cells.combine_all(start, end, current));
            }
            column_bytes = self.bytes().saturating_sub(bytes);
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

    fn build(&mut self, start: usize, end: usize, add: impl FnOnce(&Finished<'_, L>, &mut Current<L>)) {
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
        let mut highest = L::NONE;
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
                let score = std::mem::replace(&mut self.current.scores[state], L::NONE);
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

    fn bytes(&self) -> usize {
        let places = size_of_val(&self.places.bits[..]) + size_of_val(&self.places.before[..]);
        let tables = size_of_val(&self.plain[..]) + self.heads.len() * size_of::<Head>();
        places + tables + self.scores.bytes()
    }
}

/// The finished cells.
pub(crate) struct Finished<'a, L> {
    pub(crate) layout: &'a Layout,
    pub(crate) length: usize,
    cells: &'a [Cell<L>],
    cell_numbers: &'a [u32],
    plain: &'a [Entry],
    heads: &'a Heads,
    places: &'a Places,
    scores: &'a Scores<L>,
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
        let scores = self.scores.of(self.cells[cell].scores);
        Table { plain: &self.plain[cell * plain..(cell + 1) * plain], scores }
    }

    fn side(&self, cell: usize, kind: Kind) -> Side<'_, L> {
        let Cell { scores, heads, .. } = &self.cells[cell];
        let (first, end) = heads[kind as usize];
        let heads = &self.heads.list(kind)[first..end];
        Side { heads, scores: self.scores.of(*scores) }
    }

    fn combine_all(&self, start: usize, end: usize, current: &mut Current<L>) {
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

    /// Returns the scores of one lane in a cell, if the span has a cell.
    pub(crate) fn scores(&self, start: usize, end: usize, lane: usize) -> Option<CellScores<'_, L>> {
        let number = self.cell(start, end)?;
        let words = self.layout.states.div_ceil(64);
        Some(CellScores {
            table: self.table(number),
            bits: &self.places.bits[number * words..(number + 1) * words],
            before: &self.places.before[number * words..(number + 1) * words],
            highest: self.cells[number].highest.get(lane),
            lane,
        })
    }
}

/// The scores of one lane in a cell.
pub(crate) struct CellScores<'a, L> {
    table: Table<'a, L>,
    bits: &'a [u64],
    before: &'a [u16],
    highest: f32,
    lane: usize,
}

impl<L: Lanes> CellScores<'_, L> {
    /// Returns the score of the lane's best state.
    pub(crate) fn highest(&self) -> f32 {
        self.highest
    }

    /// Returns the score of a plain state, or minus infinity if the lane does not have it.
    #[inline(always)]
    pub(crate) fn get_plain(&self, state: u16) -> f32 {
        let entry = self.table.plain[usize::from(state)];
        match entry.mask >> self.lane & 1 {
            0 => f32::NEG_INFINITY,
            _ => self.table.scores[usize::from(entry.slot)].get(self.lane),
        }
    }

    /// Returns the score of any state, or minus infinity if the lane does not have it.
    #[inline(always)]
    pub(crate) fn get(&self, state: u16) -> f32 {
        let (word, bit) = (usize::from(state / 64), state % 64);
        let bits = self.bits[word];
        if bits >> bit & 1 == 0 {
            return f32::NEG_INFINITY;
        }
        let before = usize::from(self.before[word]) + (bits & ((1 << bit) - 1)).count_ones() as usize;
        self.table.scores[before].get(self.lane)
    }
}
