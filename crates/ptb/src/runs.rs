//! Recorded results of long match attempts in a line, so that no part is read repeatedly.
//!
//! In a line without spaces, a match attempt may read to the end of the line and match only its first symbol,
//! and the attempt at the next symbol does the same. Two attempts in the same state at the same position
//! continue identically (Reps 1998). Each long attempt therefore records its states at regular positions with
//! the result, and a later attempt that reaches one of them stops there.

use crate::automaton::{State, States};
use std::collections::HashMap;

/// Number of symbols after which a match attempt looks up and records results.
///
/// Tokens of ordinary text are shorter.
pub(crate) const SHORT: usize = 64;
/// An attempt looks up and records its state at positions that are multiples of this.
const INTERVAL: usize = 16;

/// The result of a match attempt from a recorded position on.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// State and end of the longest match, if any.
    pub(crate) best: Option<(State, usize)>,
    /// The last state of the attempt: dead, or alive at the end of the line.
    pub(crate) last: State,
}

/// The runs of one line, by their first state and position.
#[derive(Default)]
pub(crate) struct Runs {
    recorded: HashMap<(State, usize), Run>,
}

impl Runs {
    /// Continues an attempt that is in `state` with the symbols of `line` from `start` on.
    #[cold]
    pub(crate) fn continue_run(
        &mut self,
        states: &mut States,
        mut state: State,
        line: &[u8],
        start: usize,
    ) -> Run {
        let mut best = None;
        let mut passed = Vec::new();
        for (index, &symbol) in line.iter().enumerate().skip(start) {
            if index.is_multiple_of(INTERVAL) {
                if let Some(run) = self.recorded.get(&(state, index)) {
                    best = run.best.or(best);
                    state = run.last;
                    break;
                }
                passed.push((state, index));
            }
            state = states.next(state, symbol);
            if state == State::DEAD {
                break;
            }
            if state.accepts() {
                best = Some((state, index + 1));
            }
        }
        for (from, index) in passed {
            // A match that ended before this position is not a match of the run from it.
            let best = best.filter(|&(_, end)| end > index);
            self.recorded.insert((from, index), Run { best, last: state });
        }
        Run { best, last: state }
    }
}
