//! The symbols that the lexer reads: one byte per UTF-16 code unit.
//!
//! An ASCII character is its own symbol, so plain text is lexed in place. Every other code unit belongs to
//! one of a few classes, numbered from 0x80. Only the Basic Multilingual Plane has letters and symbols.
//! Surrogates are [`OTHER`], which can occur only in addresses and tags.

use crate::letters::LETTERS;

pub(crate) const OTHER: u8 = 0x80;
/// A letter that is not upper-case.
pub(crate) const LETTER: u8 = 0x81;
pub(crate) const UPPER: u8 = 0x82;
/// A combining mark, vowel sign or point: part of words, but not a letter in Unicode 6.3.
pub(crate) const MARK: u8 = 0x83;
pub(crate) const SOFT_HYPHEN: u8 = 0x84;
pub(crate) const LONG_S: u8 = 0x85;
pub(crate) const KELVIN: u8 = 0x86;
pub(crate) const DOTLESS_I: u8 = 0x87;
pub(crate) const DOTTED_I: u8 = 0x88;
pub(crate) const DIGIT: u8 = 0x89;
/// The Arabic decimal and thousands separators.
pub(crate) const SEPARATOR: u8 = 0x8a;
pub(crate) const SUPERSCRIPT: u8 = 0x8b;
pub(crate) const SUBSCRIPT: u8 = 0x8c;
/// Superscript and subscript plus and minus.
pub(crate) const SMALL_SIGN: u8 = 0x8d;
pub(crate) const FRACTION: u8 = 0x8e;
pub(crate) const FRACTION_SLASH: u8 = 0x8f;
pub(crate) const CURRENCY: u8 = 0x90;
pub(crate) const DASH: u8 = 0x91;
pub(crate) const HYPHEN: u8 = 0x92;
pub(crate) const ELLIPSIS: u8 = 0x93;
/// U+0085: an ellipsis in Windows-1252, a line end in Unicode.
pub(crate) const NEXT_LINE: u8 = 0x94;
pub(crate) const APOSTROPHE: u8 = 0x95;
/// Single quotes that are used in place of the apostrophe.
pub(crate) const OPEN_QUOTE: u8 = 0x96;
pub(crate) const QUOTE: u8 = 0x97;
pub(crate) const SPACE: u8 = 0x98;
pub(crate) const NO_BREAK_SPACE: u8 = 0x99;
pub(crate) const LINE_END: u8 = 0x9a;
pub(crate) const COMMA: u8 = 0x9b;
pub(crate) const SYMBOL: u8 = 0x9c;
/// An upper-case symbol: a circled capital.
pub(crate) const UPPER_SYMBOL: u8 = 0x9d;
/// A Roman numeral, which is upper-case but neither a letter nor a symbol.
pub(crate) const UPPER_NUMERAL: u8 = 0x9e;
/// Zero-width characters and the byte order mark, skipped between tokens.
pub(crate) const IGNORED: u8 = 0x9f;
/// U+2043, which only later releases of the tokenizer recognize.
pub(crate) const HYPHEN_BULLET: u8 = 0xa0;
/// The bullet and the trademark sign of Windows-1252, which only later releases recognize.
pub(crate) const OLD_BULLET: u8 = 0xa1;
pub(crate) const OLD_TRADEMARK: u8 = 0xa2;

/// Returns the symbol of a character, or the two symbols of a character beyond the Basic Multilingual Plane.
pub(crate) fn symbols_of(character: char) -> (u8, Option<u8>) {
    match u16::try_from(u32::from(character)) {
        Ok(unit) => (symbol(unit), None),
        Err(_) => (OTHER, Some(OTHER)),
    }
}

/// Returns whether the reference tokenizer ends a line at this character.
///
/// U+0085 does not end a line, because it is read as the ellipsis of Windows-1252.
pub(crate) fn ends_line(character: char) -> bool {
    matches!(character, '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{2028}' | '\u{2029}')
}

fn symbol(unit: u16) -> u8 {
    match unit {
        0x00..=0x7f => unit as u8,
        0x80..=0xff => latin1(unit),
        0x0130 => DOTTED_I,
        0x0131 => DOTLESS_I,
        0x017f => LONG_S,
        0x212a => KELVIN,
        _ if within(LETTERS, unit) => letter(unit),
        0x2000..=0x206f => punctuation(unit),
        0x058a => HYPHEN,
        0x066b | 0x066c => SEPARATOR,
        0x2070 | 0x2074..=0x2079 => SUPERSCRIPT,
        0x207a | 0x207b | 0x208a | 0x208b => SMALL_SIGN,
        0x2080..=0x2089 => SUBSCRIPT,
        0x060b | 0x0e3f | 0x20a0 | 0x20a4 | 0x20ac => CURRENCY,
        0xffe0 | 0xffe1 | 0xffe5 | 0xffe6 => CURRENCY,
        0x2153..=0x215e => FRACTION,
        0x2160..=0x216f => UPPER_NUMERAL,
        0x24b6..=0x24cf => UPPER_SYMBOL,
        0x3000 => SPACE,
        0x3001 => COMMA,
        0xfeff => IGNORED,
        _ if within(DIGITS, unit) => DIGIT,
        _ if within(MARKS, unit) => MARK,
        _ if within(SYMBOLS, unit) => SYMBOL,
        _ => OTHER,
    }
}

fn latin1(unit: u16) -> u8 {
    match unit {
        0x80 | 0xa2..=0xa5 => CURRENCY,
        0x85 => NEXT_LINE,
        0x91 => OPEN_QUOTE,
        0x92 => APOSTROPHE,
        0x93 | 0x94 | 0xab | 0xbb => QUOTE,
        0x95 => OLD_BULLET,
        0x96 | 0x97 => DASH,
        0x99 => OLD_TRADEMARK,
        0x81..=0x9f => OTHER,
        0xa0 => NO_BREAK_SPACE,
        0xad => SOFT_HYPHEN,
        0xb2 | 0xb3 | 0xb9 => SUPERSCRIPT,
        0xbc..=0xbe => FRACTION,
        0xd7 | 0xf7 => SYMBOL,
        0xaa | 0xb5 | 0xba | 0xc0..=0xff => letter(unit),
        _ => SYMBOL,
    }
}

/// Returns the symbol of a code unit in the General Punctuation block.
fn punctuation(unit: u16) -> u8 {
    match unit {
        0x2000..=0x200a => SPACE,
        0x200b | 0x200e | 0x200f => IGNORED,
        0x2010 | 0x2011 => HYPHEN,
        0x2013..=0x2015 => DASH,
        0x2018 | 0x201b => OPEN_QUOTE,
        0x2019 => APOSTROPHE,
        0x201a | 0x201c..=0x201f | 0x2039 | 0x203a => QUOTE,
        0x2026 => ELLIPSIS,
        0x2028 | 0x2029 => LINE_END,
        0x2043 => HYPHEN_BULLET,
        0x2044 => FRACTION_SLASH,
        _ if within(SYMBOLS, unit) => SYMBOL,
        _ => OTHER,
    }
}

/// Returns the symbol of a letter. Cherokee letters had no case in Unicode 6.3.
fn letter(unit: u16) -> u8 {
    let upper = char::from_u32(u32::from(unit)).is_some_and(char::is_uppercase);
    match unit {
        0x13a0..=0x13f4 => LETTER,
        _ if upper => UPPER,
        _ => LETTER,
    }
}

fn within(ranges: &[(u16, u16)], unit: u16) -> bool {
    let after = ranges.partition_point(|&(first, _)| first <= unit);
    after > 0 && unit <= ranges[after - 1].1
}

/// Marks that the reference tokenizer includes in words, by script.
#[rustfmt::skip]
const MARKS: &[(u16, u16)] = &[
    (0x02c2, 0x02c5), (0x02d2, 0x02df), (0x02e5, 0x02eb), (0x02ed, 0x02ed), (0x02ef, 0x036f),
    (0x0375, 0x0375), (0x0378, 0x0379), (0x0384, 0x0385), (0x03f6, 0x03f6), (0x0483, 0x0487),
    (0x055a, 0x055f), (0x0591, 0x05bd), (0x05bf, 0x05bf), (0x05c1, 0x05c2), (0x05c4, 0x05c5),
    (0x05c7, 0x05c7), (0x0615, 0x061a), (0x064b, 0x065e), (0x0670, 0x0670), (0x06d6, 0x06e4),
    (0x06e7, 0x06ed), (0x06fd, 0x06fe), (0x070f, 0x070f), (0x0711, 0x0711), (0x0730, 0x074c),
    (0x07a6, 0x07b0), (0x07eb, 0x07f3), (0x0900, 0x0903), (0x093c, 0x093c), (0x093e, 0x094e),
    (0x0951, 0x0955), (0x0962, 0x0963), (0x0981, 0x0983), (0x09bc, 0x09bc), (0x09be, 0x09c4),
    (0x09c7, 0x09c8), (0x09cb, 0x09cd), (0x09d7, 0x09d7), (0x09e2, 0x09e3), (0x0a01, 0x0a03),
    (0x0a3c, 0x0a3c), (0x0a3e, 0x0a4f), (0x0a81, 0x0a83), (0x0abc, 0x0abc), (0x0abe, 0x0acf),
    (0x0b82, 0x0b82), (0x0bbe, 0x0bc2), (0x0bc6, 0x0bc8), (0x0bca, 0x0bcd), (0x0c01, 0x0c03),
    (0x0c3e, 0x0c56), (0x0d3e, 0x0d44), (0x0d46, 0x0d48), (0x0e31, 0x0e31), (0x0e34, 0x0e3a),
    (0x0e47, 0x0e4e), (0x0eb1, 0x0eb1), (0x0eb4, 0x0ebc), (0x0ec8, 0x0ecd),
];

/// Decimal digits (general category Nd) of Unicode 6.3 in the Basic Multilingual Plane.
#[rustfmt::skip]
const DIGITS: &[(u16, u16)] = &[
    (0x0660, 0x0669), (0x06f0, 0x06f9), (0x07c0, 0x07c9), (0x0966, 0x096f), (0x09e6, 0x09ef),
    (0x0a66, 0x0a6f), (0x0ae6, 0x0aef), (0x0b66, 0x0b6f), (0x0be6, 0x0bef), (0x0c66, 0x0c6f),
    (0x0ce6, 0x0cef), (0x0d66, 0x0d6f), (0x0e50, 0x0e59), (0x0ed0, 0x0ed9), (0x0f20, 0x0f29),
    (0x1040, 0x1049), (0x1090, 0x1099), (0x17e0, 0x17e9), (0x1810, 0x1819), (0x1946, 0x194f),
    (0x19d0, 0x19d9), (0x1a80, 0x1a89), (0x1a90, 0x1a99), (0x1b50, 0x1b59), (0x1bb0, 0x1bb9),
    (0x1c40, 0x1c49), (0x1c50, 0x1c59), (0xa620, 0xa629), (0xa8d0, 0xa8d9), (0xa900, 0xa909),
    (0xa9d0, 0xa9d9), (0xaa50, 0xaa59), (0xabf0, 0xabf9), (0xff10, 0xff19),
];

/// Marks and symbols that are separate tokens.
#[rustfmt::skip]
const SYMBOLS: &[(u16, u16)] = &[
    (0x037e, 0x037e), (0x0387, 0x0387), (0x0589, 0x0589), (0x05be, 0x05be), (0x05c0, 0x05c0),
    (0x05c3, 0x05c3), (0x05c6, 0x05c6), (0x05f3, 0x05f4), (0x0600, 0x0603), (0x0606, 0x060a),
    (0x060c, 0x060c), (0x0614, 0x0614), (0x061b, 0x061b), (0x061e, 0x061f), (0x066a, 0x066a),
    (0x066d, 0x066d), (0x06d4, 0x06d4), (0x0700, 0x070d), (0x07f6, 0x07f8), (0x0964, 0x0965),
    (0x0e4f, 0x0e4f), (0x1fbd, 0x1fbd), (0x2016, 0x2017), (0x2020, 0x2023), (0x2030, 0x2038),
    (0x203b, 0x203b), (0x203e, 0x2042), (0x207c, 0x207e), (0x208c, 0x208e), (0x2100, 0x2101),
    (0x2103, 0x2106), (0x2108, 0x2109), (0x2114, 0x2114), (0x2116, 0x2118), (0x211e, 0x2123),
    (0x2125, 0x2125), (0x2127, 0x2127), (0x2129, 0x2129), (0x212e, 0x212e), (0x213a, 0x213b),
    (0x2140, 0x2144), (0x214a, 0x214d), (0x214f, 0x214f), (0x2190, 0x24b5), (0x24d0, 0x2bff),
    (0x3002, 0x3002), (0x3012, 0x3012), (0x30fb, 0x30fb), (0xff01, 0xff0f), (0xff1a, 0xff20),
    (0xff3b, 0xff40), (0xff5b, 0xff65),
];
