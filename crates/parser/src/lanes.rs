//! Lanes: 16 scores that are computed in parallel.
//!
//! In a batch of sentences of the same length, each sentence has a lane. In the chart of one sentence, each of
//! 16 neighboring starts has a lane.

/// Number of lanes.
pub(crate) const LANES: usize = 16;

/// A set of lanes. Bit `l` stands for lane `l`.
pub(crate) type Mask = u16;

/// The scores of one state, one per lane. Minus infinity stands for no score.
///
/// The operations are plain loops, which the compiler vectorizes.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Lanes([f32; LANES]);

impl Lanes {
    pub(crate) const NONE: Self = Self([f32::NEG_INFINITY; LANES]);

    /// Computes `(rule + left) + right` in this order in every lane.
    #[inline(always)]
    pub(crate) fn sum(rule: f32, left: &Self, right: &Self) -> Self {
        left.plus(rule).plus_lanes(right)
    }

    #[inline(always)]
    pub(crate) fn plus(&self, rule: f32) -> Self {
        let mut sum = *self;
        sum.0.iter_mut().for_each(|score| *score += rule);
        sum
    }

    #[inline(always)]
    pub(crate) fn plus_lanes(&self, other: &Self) -> Self {
        let mut sum = *self;
        for lane in 0..LANES {
            sum.0[lane] += other.0[lane];
        }
        sum
    }

    /// Returns the larger score of each lane.
    #[inline(always)]
    pub(crate) fn max(&self, other: &Self) -> Self {
        let mut best = *self;
        for lane in 0..LANES {
            let (old, new) = (self.0[lane], other.0[lane]);
            best.0[lane] = if new > old { new } else { old };
        }
        best
    }

    /// Keeps the larger score of each lane.
    #[inline(always)]
    pub(crate) fn improve(&mut self, other: &Self) {
        *self = self.max(other);
    }

    /// Returns the 16 scores from lane `BY` on in the 32 lanes of `left` and `right`.
    #[inline(always)]
    pub(crate) fn shifted<const BY: usize>(left: &Self, right: &Self) -> Self {
        let mut scores = [0.0; LANES];
        for (lane, score) in scores.iter_mut().enumerate() {
            let from = lane + BY;
            *score = if from < LANES { left.0[from] } else { right.0[from - LANES] };
        }
        Self(scores)
    }

    #[inline(always)]
    pub(crate) fn get(&self, lane: usize) -> f32 {
        self.0[lane]
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, lane: usize, score: f32) {
        self.0[lane] = score;
    }
}
