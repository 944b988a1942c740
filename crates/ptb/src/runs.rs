//! What long runs of the automaton over a line came to, so that no stretch is run over again and again.
//!
//! A match attempt may run to the end of a line that has no spaces only to give back all but its first
//! symbol, and the attempt at the next symbol does the same. Yet two attempts in one state at one
//! place go on alike (Reps 1998). Each long attempt leaves its states at regular places, with what
//! came after; an attempt that gets to one of these needs to go no further.

use crate::automaton::{State, States};
use std::collections::HashMap;

/// So many symbols a match attempt goes before it looks for, and leaves, anything. Tokens of
/// ordinary text are shorter.
pub(crate) const SHORT: usize = 64;
/// The places at which attempts leave their states.
const PLACES: usize = 16;

/// The course of a match attempt from some place on.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// The state of the longest match and where it ends, if there is one.
    pub(crate) best: Option<(State, usize)>,
    /// The state in which the attempt ended: dead, or alive at the end of the line.
    pub(crate) last: State,
}

/// The runs of one line by state and place.
#[derive(Default)]
pub(crate) struct Runs {
    known: HashMap<(State, usize), Run>,
}

impl Runs {
    /// Goes on in `state` with the symbols of `line` from `start` on.
    #[cold]
    pub(crate) fn go_on(&mut self, states: &mut States, mut state: State, line: &[u8], start: usize) -> Run {
        let mut best = None;
        let mut passed = Vec::new();
        for (index, &symbol) in line.iter().enumerate().skip(start) {
            if index.is_multiple_of(PLACES) {
                if let Some(run) = self.known.get(&(state, index)) {
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
            // A match that ended before the place is none of the run from there.
            let best = best.filter(|&(_, end)| end > index);
            self.known.insert((from, index), Run { best, last: state });
        }
        Run { best, last: state }
    }
}
