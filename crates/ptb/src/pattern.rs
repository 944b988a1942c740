//! Building blocks of token patterns: symbol sets, sequences, choices, repetitions.
//!
//! Patterns are written in Rust and compiled into the automaton. Literal text is case-insensitive. [`exact`]
//! and [`Set`]s are case-sensitive.

use crate::symbols::{DOTLESS_I, DOTTED_I, KELVIN, LONG_S};
use std::ops::{BitOr, Not, Sub};

/// A set of symbols.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Set([u64; 4]);

impl Set {
    pub(crate) const EMPTY: Set = Set([0; 4]);

    /// Returns the symbols from `first` to `last`, inclusive.
    pub(crate) fn range(first: u8, last: u8) -> Set {
        (first..=last).fold(Set::EMPTY, Set::with)
    }

    /// Returns the set of the listed symbols.
    pub(crate) fn of(symbols: &[u8]) -> Set {
        symbols.iter().copied().fold(Set::EMPTY, Set::with)
    }

    pub(crate) fn contains(self, symbol: u8) -> bool {
        self.0[usize::from(symbol >> 6)] >> (symbol & 63) & 1 == 1
    }

    fn with(mut self, symbol: u8) -> Set {
        self.0[usize::from(symbol >> 6)] |= 1 << (symbol & 63);
        self
    }
}

impl BitOr for Set {
    type Output = Set;
    fn bitor(self, other: Set) -> Set {
        Set(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }
}

impl Sub for Set {
    type Output = Set;
    fn sub(self, other: Set) -> Set {
        Set(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }
}

impl Not for Set {
    type Output = Set;
    fn not(self) -> Set {
        Set(self.0.map(|bits| !bits))
    }
}

/// The pattern of a token, or of a part of one.
#[derive(Clone)]
pub(crate) enum Pattern {
    One(Set),
    Sequence(Vec<Pattern>),
    Choice(Vec<Pattern>),
    Repeat { inner: Box<Pattern>, min: u32, max: Option<u32> },
}

impl From<Set> for Pattern {
    fn from(set: Set) -> Pattern {
        Pattern::One(set)
    }
}

/// Text is matched in any case.
impl From<&str> for Pattern {
    fn from(text: &str) -> Pattern {
        literal(text)
    }
}

/// Repetition of a set or pattern.
pub(crate) trait Repeat: Into<Pattern> {
    fn optional(self) -> Pattern {
        self.repeated(0, Some(1))
    }

    fn any_number(self) -> Pattern {
        self.repeated(0, None)
    }

    fn at_least_once(self) -> Pattern {
        self.repeated(1, None)
    }

    fn between(self, min: u32, max: u32) -> Pattern {
        self.repeated(min, Some(max))
    }

    fn repeated(self, min: u32, max: Option<u32>) -> Pattern {
        Pattern::Repeat { inner: Box::new(self.into()), min, max }
    }
}

impl Repeat for Set {}
impl Repeat for Pattern {}

/// Matches one of the given ASCII characters.
pub(crate) fn one_of(characters: &str) -> Set {
    Set::of(characters.as_bytes())
}

/// Matches one ASCII character, case-sensitively.
pub(crate) fn exact(character: char) -> Pattern {
    Set::of(&[character as u8]).into()
}

/// Matches ASCII text in any case. A letter preceded by `=` matches only in the given case.
///
/// Three letters have case variants beyond ASCII: the Kelvin sign for k, the long s for s, and the Turkish
/// dotted and dotless letters for i.
pub(crate) fn literal(text: &str) -> Pattern {
    let mut parts = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        parts.push(match byte {
            b'=' => bytes.next().map_or(Set::of(b"="), |next| Set::of(&[next])).into(),
            _ => any_case(byte).into(),
        });
    }
    Pattern::Sequence(parts)
}

fn any_case(byte: u8) -> Set {
    let both = Set::of(&[byte.to_ascii_lowercase(), byte.to_ascii_uppercase()]);
    match byte.to_ascii_lowercase() {
        b'i' => both | Set::of(&[DOTLESS_I, DOTTED_I]),
        b'k' => both | Set::of(&[KELVIN]),
        b's' => both | Set::of(&[LONG_S]),
        _ => both,
    }
}

/// Matches any word of a list separated by white space, each like [`literal`].
pub(crate) fn any_word(list: &str) -> Pattern {
    Pattern::Choice(list.split_whitespace().map(literal).collect())
}

/// A sequence of parts.
macro_rules! seq {
    ($($part:expr),+ $(,)?) => {
        $crate::pattern::Pattern::Sequence(vec![$($crate::pattern::Pattern::from($part)),+])
    };
}

/// A choice between parts.
macro_rules! choice {
    ($($part:expr),+ $(,)?) => {
        $crate::pattern::Pattern::Choice(vec![$($crate::pattern::Pattern::from($part)),+])
    };
}

pub(crate) use {choice, seq};
