//! Character classes used in rules.

use crate::pattern::{Pattern, Set, any_word, choice, one_of, seq};
use crate::symbols::{
    APOSTROPHE, DIGIT, DOTLESS_I, DOTTED_I, KELVIN, LETTER, LINE_END, LONG_S, MARK, NEXT_LINE,
    NO_BREAK_SPACE, OPEN_QUOTE, SOFT_HYPHEN, SPACE, UPPER, UPPER_NUMERAL, UPPER_SYMBOL,
};

pub(super) fn latin_upper() -> Set {
    Set::range(b'A', b'Z')
}

pub(super) fn latin() -> Set {
    latin_upper() | Set::range(b'a', b'z')
}

pub(super) fn latin_digit() -> Set {
    Set::range(b'0', b'9')
}

pub(super) fn digit() -> Set {
    latin_digit() | Set::of(&[DIGIT])
}

pub(super) fn letter() -> Set {
    latin() | Set::of(&[LETTER, UPPER, LONG_S, KELVIN, DOTLESS_I, DOTTED_I])
}

pub(super) fn upper() -> Set {
    latin_upper() | Set::of(&[UPPER, KELVIN, DOTTED_I, UPPER_SYMBOL, UPPER_NUMERAL])
}

pub(super) fn space() -> Set {
    one_of(" \t") | Set::of(&[SPACE, NO_BREAK_SPACE])
}

pub(super) fn line_end() -> Pattern {
    let single = one_of("\n\r\u{b}\u{c}") | Set::of(&[LINE_END, NEXT_LINE]);
    choice![single, "\r\n"]
}

pub(super) fn space_or_line_end() -> Pattern {
    choice![space(), line_end()]
}

/// Matches a letter within a word, including marks, soft hyphens, and entities of accented vowels.
pub(super) fn word_letter() -> Pattern {
    let entity = seq!["&", one_of("aeiouAEIOU"), any_word("acute grave uml"), ";"];
    choice![letter() | Set::of(&[MARK, SOFT_HYPHEN]), entity]
}

pub(super) fn apostrophe() -> Pattern {
    choice![one_of("'") | Set::of(&[APOSTROPHE]), "&apos;"]
}

/// Matches an apostrophe, or another sign used as an apostrophe within words.
pub(super) fn apostrophe_like() -> Pattern {
    choice![apostrophe(), one_of("`") | Set::of(&[OPEN_QUOTE])]
}

/// Returns whether a symbol is white space within a line.
pub(crate) fn is_space(symbol: u8) -> bool {
    matches!(symbol, b' ' | b'\t' | SPACE | NO_BREAK_SPACE)
}

/// Returns whether a symbol is white space or a line end.
pub(crate) fn is_white_space(symbol: u8) -> bool {
    is_space(symbol) || matches!(symbol, b'\n'..=b'\r' | LINE_END | NEXT_LINE)
}

/// Returns whether a symbol can be the apostrophe of a contraction, or the final semicolon of its entity.
pub(crate) fn is_apostrophe(symbol: u8) -> bool {
    matches!(symbol, b'\'' | b'`' | b';' | APOSTROPHE | OPEN_QUOTE)
}
