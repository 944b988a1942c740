//! Lanes: several sentences parsed in parallel, with one float each.

/// A set of lanes. Bit `l` stands for lane `l`.
pub(crate) type Mask = u16;

/// The scores of one state over one span, one lane per sentence. Minus infinity stands for no score.
///
/// The operations are plain loops, which the compiler vectorizes.
pub(crate) trait Lanes: Copy + Send {
    const COUNT: usize;
    const NONE: Self;

    /// Computes `(rule + left) + right` in this order in every lane.
    fn sum(rule: f32, left: &Self, right: &Self) -> Self;
    fn plus(&self, rule: f32) -> Self;
    /// Keeps the larger score of each lane.
    fn improve(&mut self, other: &Self);
    fn get(&self, lane: usize) -> f32;
    fn set(&mut self, lane: usize, score: f32);
}

macro_rules! lanes {
    ($name:ident, $count:literal, $bytes:literal) => {
        #[derive(Clone, Copy, Debug)]
        #[repr(align($bytes))]
        pub(crate) struct $name([f32; $count]);

        impl Lanes for $name {
            const COUNT: usize = $count;
            const NONE: Self = Self([f32::NEG_INFINITY; $count]);

            #[inline(always)]
            fn sum(rule: f32, left: &Self, right: &Self) -> Self {
                let mut sum = Self::NONE;
                for lane in 0..$count {
                    sum.0[lane] = (rule + left.0[lane]) + right.0[lane];
                }
                sum
            }

            #[inline(always)]
            fn plus(&self, rule: f32) -> Self {
                let mut sum = Self::NONE;
                for lane in 0..$count {
                    sum.0[lane] = self.0[lane] + rule;
                }
                sum
            }

            #[inline(always)]
            fn improve(&mut self, other: &Self) {
                for lane in 0..$count {
                    let (old, new) = (self.0[lane], other.0[lane]);
                    self.0[lane] = if new > old { new } else { old };
                }
            }

            #[inline(always)]
            fn get(&self, lane: usize) -> f32 {
                self.0[lane]
            }

            #[inline(always)]
            fn set(&mut self, lane: usize, score: f32) {
                self.0[lane] = score;
            }
        }
    };
}

lanes!(Lanes16, 16, 64);
lanes!(Lanes4, 4, 16);
lanes!(Lanes1, 1, 4);
