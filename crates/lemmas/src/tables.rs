//! The lexer's tables: plain numbers and strings, validated before use.

use serde::{Deserialize, Serialize};

/// How the lemma is formed from the matched text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// The lemma is the matched text in lower case.
    LowerCase,
    /// The lemma is the matched text unchanged.
    AsWritten,
    /// Deletes the last `delete` characters, converts the rest to lower case, and appends `add`.
    Replace {
        /// Number of characters to delete.
        delete: i32,
        /// Text to append.
        add: String,
    },
    /// Like `Replace`, after removing the ending -s, -ed or -ing.
    ReplaceBeforeEnding {
        /// Number of characters to delete in addition to the ending.
        delete: i32,
        /// Text to append.
        add: String,
    },
    /// Deletes the ending, and the consonant before it if the remaining stem is in
    /// [`LexerRules::doubling_stems`].
    Undouble {
        /// Number of characters in the ending.
        delete: i32,
    },
    /// The matched text in lower case, followed by the lemma of the next token.
    LowerCaseAndNext,
    /// Matches the same text again in another lexer state.
    Enter {
        /// The state, an index into [`LexerRules::starts`].
        state: u32,
    },
    /// Ends a tag and returns to the state that reads words.
    EndTag {
        /// The lexer state for the next word.
        state: u32,
    },
    /// Skips the character and continues with the next token.
    Skip,
}

/// The end of a token whose rule has lookahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenEnd {
    /// The end of the match.
    Match,
    /// This many characters before the end of the match.
    BeforeEnd(u32),
    /// This many characters after the start of the match.
    AfterStart(u32),
}

/// The result of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The end of the token.
    pub end: TokenEnd,
    /// The action on the token.
    pub action: Action,
}

/// The lexer: an automaton over character classes, with the rules of its accepting states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// Character class of each UTF-16 unit.
    pub classes: Vec<u8>,
    /// Offset of each state's row in `transitions`.
    pub rows: Vec<u32>,
    /// The next state plus 1 by row and class, or 0 for none.
    pub transitions: Vec<u16>,
    /// The rule index plus 1 of each state, or 0 if the state is not accepting.
    pub accepted: Vec<u16>,
    /// The rules and their data.
    pub lexer: LexerRules,
}

/// Actions of the lexer on the text that its automaton accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LexerRules {
    /// First automaton state of each lexer state.
    pub starts: Vec<u32>,
    /// Lexer state at the beginning of a word.
    pub word_state: u32,
    /// The rules.
    pub rules: Vec<Rule>,
    /// Verb stems whose final consonant is doubled before an ending, sorted.
    pub doubling_stems: Vec<String>,
    /// Particles that may follow a verb after an underscore, sorted.
    pub particles: Vec<String>,
}

/// Error of invalid tables.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NumberError {
    /// A number is out of range.
    #[error("the lemma tables are damaged: {what} must be below {limit} (got {found})")]
    OutOfBounds {
        /// Name of the number.
        what: &'static str,
        /// Exclusive upper limit.
        limit: usize,
        /// The number found.
        found: usize,
    },
    /// A table has the wrong length.
    #[error("the lemma tables are damaged: there must be {expected} {what} (got {found})")]
    Length {
        /// Name of the table's entries.
        what: &'static str,
        /// Expected number of entries.
        expected: usize,
        /// Number of entries found.
        found: usize,
    },
}

const UNITS: usize = 0x1_0000;

impl Tables {
    /// Checks every number, so that using the tables cannot fail.
    ///
    /// # Errors
    /// Returns an error if a number is out of range or a table has the wrong length.
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
