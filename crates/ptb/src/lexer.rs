//! The longest match at a position of a line.

use crate::automaton::{Automaton, State, States};
use crate::release::Release;
use crate::rules::{self, Action, End, is_apostrophe, is_white_space};
use crate::runs::{Runs, SHORT};
use std::ops::ControlFlow;
use std::sync::OnceLock;

/// Passes the symbols after the line, starting with the line end, one by one to a callback until it stops.
pub(crate) type Following<'a> = &'a dyn Fn(&mut dyn FnMut(u8) -> ControlFlow<()>);

/// A token, or symbols without a token. It starts at the end of the previous lexeme.
pub(crate) struct Lexeme {
    pub(crate) end: usize,
    /// End of the token's text.
    ///
    /// For an abbreviation that ends a sentence, this includes the period of the next lexeme.
    pub(crate) text_end: usize,
    pub(crate) action: Action,
}

struct Rules {
    automaton: Automaton,
    outcomes: Vec<(End, Action)>,
}

fn compiled(release: Release) -> &'static Rules {
    static RULES: [OnceLock<Rules>; 2] = [OnceLock::new(), OnceLock::new()];
    RULES[release as usize].get_or_init(|| {
        let rules = rules::all(release);
        Rules {
            automaton: Automaton::new(rules.iter().map(|rule| &rule.pattern)),
            outcomes: rules.iter().map(|rule| (rule.end, rule.action)).collect(),
        }
    })
}

pub(crate) struct Lexer {
    states: States,
    outcomes: &'static [(End, Action)],
}

impl Lexer {
    pub(crate) fn new(release: Release) -> Lexer {
        let rules = compiled(release);
        Lexer { states: States::new(&rules.automaton), outcomes: &rules.outcomes }
    }

    /// Returns the lexeme at `start`, which must be within the line. `runs` must belong to this line.
    pub(crate) fn next(
        &mut self,
        line: &[u8],
        start: usize,
        following: Following,
        runs: &mut Runs,
    ) -> Lexeme {
        let mut state = self.states.start();
        let mut best = None;
        let short = &line[..line.len().min(start + SHORT)];
        for (index, &symbol) in short.iter().enumerate().skip(start) {
            state = self.states.next(state, symbol);
            if state == State::DEAD {
                break;
            }
            if state.accepts() {
                best = Some((state, index + 1));
            }
        }
        if state != State::DEAD && short.len() < line.len() {
            let run = runs.continue_run(&mut self.states, state, line, short.len());
            best = run.best.or(best);
            state = run.last;
        }
        let within = best.and_then(|(state, end)| self.lexeme(state, line, start, end));
        if state == State::DEAD { within } else { self.beyond(state, line, start, following).or(within) }
            // Unreachable, because the last rule matches any symbol.
            .unwrap_or(Lexeme { end: start + 1, text_end: start + 1, action: Action::Skip })
    }

    /// Returns the longest match that ends after the line and whose token ends within it.
    ///
    /// In the reference tokenizer, a tag with a line end between quotes extends into the next line. Here a
    /// token never extends beyond its line, so such a match is ignored.
    #[cold]
    fn beyond(
        &mut self,
        mut state: State,
        line: &[u8],
        start: usize,
        following: Following,
    ) -> Option<Lexeme> {
        let mut best = None;
        let mut end = line.len();
        following(&mut |symbol| {
            state = self.states.next(state, symbol);
            end += 1;
            if state == State::DEAD {
                return ControlFlow::Break(());
            }
            if state.accepts() {
                best = self.lexeme(state, line, start, end).or(best.take());
            }
            ControlFlow::Continue(())
        });
        best
    }

    /// Returns the lexeme of the rule that matched from `start` to `end`, if its token ends within the line.
    fn lexeme(&self, state: State, line: &[u8], start: usize, end: usize) -> Option<Lexeme> {
        let (rule_end, action) = self.outcomes[self.states.rule(state)?];
        let inside = &line[start..end.min(line.len())];
        let end = match rule_end {
            End::Match => end,
            End::Before(count) => end - count,
            End::First => start + 1,
            End::Space(otherwise) => match inside.iter().position(|&s| is_white_space(s)) {
                Some(offset) => start + offset,
                None if end > line.len() => line.len(),
                None => end - otherwise,
            },
            End::Period(before) => {
                let last = inside.iter().rposition(|&symbol| symbol == b'.');
                start + last.unwrap_or(inside.len()) - before
            }
            End::Apostrophe(before) => start + last_apostrophe(inside) - before,
        };
        let (end, text_end) = match action {
            Action::FinalAcronym if end == start + 2 => (end - 1, end - 1),
            Action::FinalAcronym | Action::FinalAbbreviation => (end - 1, end),
            _ => (end, end),
        };
        (text_end <= line.len()).then_some(Lexeme { end, text_end, action })
    }
}

/// Returns the start of the last apostrophe, which is a character or a six-character entity that ends with
/// `;`.
fn last_apostrophe(symbols: &[u8]) -> usize {
    match symbols.iter().rposition(|&symbol| is_apostrophe(symbol)) {
        Some(index) if symbols[index] == b';' => index - 5,
        Some(index) => index,
        None => symbols.len(),
    }
}
