//! The tables of the lexer: plain numbers and strings, checked before they are used.

use serde::{Deserialize, Serialize};

/// What becomes of the matched text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// The matched text is the lemma, in lower case.
    LowerCase,
    /// The matched text is the lemma as it stands.
    AsWritten,
    /// The last `delete` characters go, the rest is put into lower case, and `add` is appended.
    Replace {
        /// How many characters go.
        delete: i32,
        /// What is appended.
        add: String,
    },
    /// As `Replace`, for what is left without its ending -s, -ed or -ing.
    ReplaceBeforeEnding {
        /// How many characters go besides the ending.
        delete: i32,
        /// What is appended.
        add: String,
    },
    /// The ending goes, and the doubled consonant before it unless the stem has one of its own.
    Undouble {
        /// How many characters the ending has.
        delete: i32,
    },
    /// The matched text, in lower case, followed by the lemma of what comes next.
    LowerCaseAndNext,
    /// The same text is matched again in another state of the lexer.
    Enter {
        /// Which state, as a place in `Tables::starts`.
        state: u32,
    },
    /// A tag was read: back to the state in which words are read.
    EndTag {
        /// The state for the next word.
        state: u32,
    },
    /// A character of no use: the next token is looked for.
    Skip,
}

/// Where a token ends whose rule looked beyond its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenEnd {
    /// Where the match ends.
    Match,
    /// This many characters before the match ends.
    BeforeEnd(u32),
    /// This many characters after the match begins.
    AfterStart(u32),
}

/// One rule's consequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Where the token ends.
    pub end: TokenEnd,
    /// What becomes of it.
    pub action: Action,
}

/// The lexer: an automaton over classes of characters, and the rules of its accepting states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// The class of each UTF-16 unit.
    pub classes: Vec<u8>,
    /// Where each state's row begins in `transitions`.
    pub rows: Vec<u32>,
    /// The next state plus one by row and class, or 0.
    pub transitions: Vec<u16>,
    /// For each state its place in the rules plus one, or 0 where nothing is accepted.
    pub accepted: Vec<u16>,
    /// The rules and what they need.
    pub lexer: LexerRules,
}

/// What the lexer does with the texts that its automaton accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LexerRules {
    /// The automaton's first state for each lexer state.
    pub starts: Vec<u32>,
    /// The lexer state in which a word is begun.
    pub word_state: u32,
    /// The rules.
    pub rules: Vec<Rule>,
    /// Verb stems that end in one consonant which is doubled before an ending, sorted.
    pub doubling_stems: Vec<String>,
    /// Particles that may follow a verb after an underscore, sorted.
    pub particles: Vec<String>,
}

/// Why tables can't be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NumberError {
    /// A number points outside of the tables.
    #[error("the lemma tables are damaged: {what} must be below {limit} (got {found})")]
    OutOfBounds {
        /// Which number.
        what: &'static str,
        /// What it has to be below.
        limit: usize,
        /// The number found.
        found: usize,
    },
    /// A table has the wrong length.
    #[error("the lemma tables are damaged: there must be {expected} {what} (got {found})")]
    Length {
        /// What the table holds.
        what: &'static str,
        /// How many there must be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
}

const UNITS: usize = 0x1_0000;

impl Tables {
    /// Checks every number, so that reading the tables can't fail.
    ///
    /// # Errors
    /// When a number points outside of the tables.
    pub fn check(&self) -> Result<(), NumberError> {
        let states = self.rows.len();
        let class_count = self.classes.iter().max().map_or(0, |&class| usize::from(class) + 1);
        for (what, found, expected) in
            [("character classes", self.classes.len(), UNITS), ("states", self.accepted.len(), states)]
        {
            if found != expected {
                return Err(NumberError::Length { what, expected, found });
            }
        }
        let rows = self.rows.iter().map(|&row| row as usize + class_count.saturating_sub(1));
        below("a row", self.transitions.len(), rows)?;
        below("a next state", states + 1, self.transitions.iter().map(|&next| usize::from(next)))?;
        below("a rule", self.lexer.rules.len() + 1, self.accepted.iter().map(|&rule| usize::from(rule)))?;
        below("a first state", states, self.lexer.starts.iter().map(|&start| start as usize))?;
        let entered = self.lexer.rules.iter().filter_map(|rule| match rule.action {
            Action::Enter { state } | Action::EndTag { state } => Some(state as usize),
            _ => None,
        });
        below("a lexer state", self.lexer.starts.len(), entered.chain([self.lexer.word_state as usize]))
    }
}

fn below(
    what: &'static str,
    limit: usize,
    mut numbers: impl Iterator<Item = usize>,
) -> Result<(), NumberError> {
    match numbers.find(|&number| number >= limit) {
        Some(found) => Err(NumberError::OutOfBounds { what, limit, found }),
        None => Ok(()),
    }
}
