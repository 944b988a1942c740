//! Finished cells as tree extraction reads them.

use crate::lanes::Lanes;
use crate::layout::Layout;

/// The states of cells: one bit per state, and the number of states before each block of 64 bits, from which
/// the slots of their scores follow.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) bits: Vec<u64>,
    pub(crate) before: Vec<u16>,
}

impl Places {
    pub(crate) fn clear(&mut self) {
        self.bits.clear();
        self.before.clear();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bits.capacity() * size_of::<u64>() + self.before.capacity() * size_of::<u16>()
    }
}

/// A filled chart of one sentence.
pub(crate) trait Cells {
    fn layout(&self) -> &Layout;

    /// Returns the number of words, including the boundary.
    fn length(&self) -> usize;

    /// Returns the scores of a span, if it has a cell.
    fn scores(&self, start: usize, end: usize) -> Option<CellScores<'_>>;
}

/// The scores of one lane in a cell.
pub(crate) struct CellScores<'a> {
    pub(crate) bits: &'a [u64],
    pub(crate) before: &'a [u16],
    /// The scores of the states, in their order.
    pub(crate) scores: &'a [Lanes],
    /// The score of the lane's best state.
    pub(crate) highest: f32,
    pub(crate) lane: usize,
}

impl CellScores<'_> {
    /// Returns the score of a state, or minus infinity if the lane does not have it.
    #[inline(always)]
    pub(crate) fn get(&self, state: u16) -> f32 {
        let (word, bit) = (usize::from(state / 64), state % 64);
        let bits = self.bits[word];
        if bits >> bit & 1 == 0 {
            return f32::NEG_INFINITY;
        }
        let before = usize::from(self.before[word]) + (bits & ((1 << bit) - 1)).count_ones() as usize;
        self.scores[before].get(self.lane)
    }
}
