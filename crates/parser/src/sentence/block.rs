//! Blocks: the finished cells of one length at 16 neighboring starts, one lane each.

use crate::cells::{CellScores, Places};
use crate::lanes::{LANES, Lanes, Mask};
use crate::sentence_rules::States;

/// The states of 16 spans of one length, with their scores in the order of the states.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) places: Places,
    pub(crate) masks: Vec<Mask>,
    pub(crate) scores: Vec<Lanes>,
    /// The score of the best state in each lane.
    pub(crate) highest: Lanes,
}

impl Default for Block {
    fn default() -> Self {
        Self::NONE
    }
}

impl Block {
    /// A block without states.
    pub(crate) const NONE: Self = Self {
        places: Places { bits: Vec::new(), before: Vec::new() },
        masks: Vec::new(),
        scores: Vec::new(),
        highest: Lanes::NONE,
    };

    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.masks.clear();
        self.scores.clear();
        self.highest = Lanes::NONE;
    }

    /// Calls a function with each state.
    pub(crate) fn visit(&self, mut visit: impl FnMut(u16, Mask, &Lanes)) {
        let mut slot = 0;
        for (word, &bits) in self.places.bits.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let state = 64 * word + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                visit(state as u16, self.masks[slot], &self.scores[slot]);
                slot += 1;
            }
        }
    }

    pub(crate) fn lane(&self, lane: usize) -> Option<CellScores<'_>> {
        let Self { places, scores, highest, .. } = self;
        let highest = highest.get(lane);
        (highest > f32::NEG_INFINITY).then(|| CellScores {
            bits: &places.bits,
            before: &places.before,
            scores,
            highest,
            lane,
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.places.bytes()
            + self.masks.capacity() * size_of::<Mask>()
            + self.scores.capacity() * size_of::<Lanes>()
    }
}

/// 16 neighboring starts that do not begin at a block: the last lanes of one block and the first lanes of the
/// next.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    left: &'a Block,
    right: &'a Block,
    offset: usize,
}

static NO_BLOCK: Block = Block::NONE;

impl<'a> Window<'a> {
    /// The window whose first lane is `start` lanes after the first block's first lane. Lanes outside of the
    /// blocks have no states.
    pub(crate) fn new(start: isize, block: impl Fn(usize) -> Option<&'a Block>) -> Self {
        let number = start.div_euclid(LANES as isize);
        let block = |number: isize| usize::try_from(number).ok().and_then(&block).unwrap_or(&NO_BLOCK);
        let offset = start.rem_euclid(LANES as isize) as usize;
        Self { left: block(number), right: block(number + 1), offset }
    }

    /// Returns the number of wanted states in the blocks, of which the window may have fewer.
    pub(crate) fn count(&self, wanted: &States) -> usize {
        let states = |word| Slots::new(self.left, word).bits | Slots::new(self.right, word).bits;
        wanted.words().map(|word| (states(word) & wanted.bits(word)).count_ones() as usize).sum()
    }

    /// Calls a function with each of the wanted states that the window has.
    pub(crate) fn visit(&self, wanted: &States, visit: impl FnMut(u16, Mask, Lanes)) {
        match self.offset {
            0 => self.visit_at::<0>(wanted, visit),
            1 => self.visit_at::<1>(wanted, visit),
            2 => self.visit_at::<2>(wanted, visit),
            3 => self.visit_at::<3>(wanted, visit),
            4 => self.visit_at::<4>(wanted, visit),
            5 => self.visit_at::<5>(wanted, visit),
            6 => self.visit_at::<6>(wanted, visit),
            7 => self.visit_at::<7>(wanted, visit),
            8 => self.visit_at::<8>(wanted, visit),
            9 => self.visit_at::<9>(wanted, visit),
            10 => self.visit_at::<10>(wanted, visit),
            11 => self.visit_at::<11>(wanted, visit),
            12 => self.visit_at::<12>(wanted, visit),
            13 => self.visit_at::<13>(wanted, visit),
            14 => self.visit_at::<14>(wanted, visit),
            _ => self.visit_at::<15>(wanted, visit),
        }
    }

    /// One function per offset, because lanes are moved by fast instructions only if the compiler knows it.
    fn visit_at<const OFFSET: usize>(&self, wanted: &States, mut visit: impl FnMut(u16, Mask, Lanes)) {
        for word in wanted.words() {
            let (mut left, mut right) = (Slots::new(self.left, word), Slots::new(self.right, word));
            let mut states = left.bits | right.bits;
            while states != 0 {
                let bit = states & states.wrapping_neg();
                states ^= bit;
                let ((left_mask, left), (right_mask, right)) = (left.take(bit), right.take(bit));
                let mask = ((u32::from(right_mask) << LANES | u32::from(left_mask)) >> OFFSET) as Mask;
                if mask != 0 && wanted.bits(word) & bit != 0 {
                    let state = 64 * word + bit.trailing_zeros() as usize;
                    visit(state as u16, mask, Lanes::shifted::<OFFSET>(left, right));
                }
            }
        }
    }
}

/// The states of a block in one word of 64 bits.
struct Slots<'a> {
    bits: u64,
    /// Slot of the next state.
    slot: usize,
    block: &'a Block,
}

impl<'a> Slots<'a> {
    #[inline(always)]
    fn new(block: &'a Block, word: usize) -> Self {
        let bits = block.places.bits.get(word).copied().unwrap_or(0);
        let before = block.places.before.get(word).copied().unwrap_or(0);
        Self { bits, slot: usize::from(before), block }
    }

    /// Returns the mask and the scores of a state. The states must be taken in their order.
    #[inline(always)]
    fn take(&mut self, bit: u64) -> (Mask, &'a Lanes) {
        if self.bits & bit == 0 {
            return (0, &Lanes::NONE);
        }
        let slot = self.slot;
        self.slot += 1;
        (self.block.masks[slot], &self.block.scores[slot])
    }
}
