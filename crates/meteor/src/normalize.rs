//! METEOR's own normalization (`-norm` for English) and lower-casing.
//!
//! It separates symbols, commas and apostrophes, unifies quotes and dashes, splits hyphenated words, and
//! splits off final periods of words that do not keep them. The order of the steps, and the left-to-right
//! replacement within a step, follow METEOR 1.5 including its quirks. For example, the second comma in
//! "a,b,c" is kept, because the first replacement consumes the "b".

use capeval_tables::TableError;

use crate::tables::{NUMERIC_PREFIX, PREFIX, Tables};

/// Returns whether normalization can only lower-case the text.
pub(crate) fn is_plain(text: &str) -> bool {
    // Without early exit, the loop is vectorized.
    text.bytes().fold(true, |plain, byte| plain & (byte.is_ascii_alphanumeric() | (byte == b' ')))
}

/// Returns whether a character is a Latin or Cyrillic letter. Letters of other scripts count as symbols.
fn is_letter(c: char) -> bool {
    matches!(c,
        'A'..='Z' | 'a'..='z' | 'Š' | 'š' | 'Ž' | 'ž' | 'Ÿ'
        | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{17e}'
        | '\u{400}'..='\u{527}' | '\u{a640}'..='\u{a66e}' | '\u{a67e}'..='\u{a697}'
        | '\u{1d00}'..='\u{1d7f}')
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn is_alphanumeric(c: char) -> bool {
    is_digit(c) || is_letter(c)
}

/// Returns whether a character is not separated as a symbol: word characters, ASCII spaces, and characters
/// with rules below.
fn is_inline(c: char) -> bool {
    is_alphanumeric(c)
        || matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
        || matches!(c, '.' | '\'' | '`' | ',' | '-' | '‘' | '’')
}

/// Returns whether a character is a non-ASCII space that separates words.
fn is_unicode_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Normalizes and lower-cases a caption. Words in the result are separated by ASCII white space.
pub(crate) fn normalize<B: AsRef<[u8]>>(text: &str, tables: &Tables<B>) -> Result<String, TableError> {
    let mut text = escape_dots(separate_symbols(text));
    for (before, after) in [(false, false), (true, false), (false, true)] {
        text = between(&text, |a| is_digit(a) == before, ',', |b| is_digit(b) == after, " , ");
    }
    text = text.replace(['`', '‘', '’'], "'").replace(['“', '”'], " \" ").replace("''", " \" ");
    text = text.replace('–', "-").replace("--", "-");
    text = between(&text, |a| is_alphanumeric(a) || a == '.', '-', is_alphanumeric, " ");
    text = split_words(&separate_apostrophes(text), tables)?;
    text = unescape_dots(text).replace(is_unicode_space, " ");
    Ok(capeval_ptb::lowercase(text.trim_matches(|c| c <= ' ')))
}

fn separate_symbols(text: &str) -> String {
    let mut separated = String::with_capacity(text.len() + 16);
    separated.push(' ');
    for c in text.chars() {
        if is_inline(c) {
            separated.push(c);
        } else {
            separated.extend([' ', c, ' ']);
        }
    }
    separated.push(' ');
    separated
}

/// Replaces `middle` between two characters that satisfy `left` and `right`.
///
/// Both are consumed, so the right character cannot be the left one of the next replacement.
fn between(
    text: &str,
    left: impl Fn(char) -> bool,
    middle: char,
    right: impl Fn(char) -> bool,
    by: &str,
) -> String {
    if !text.contains(middle) {
        return text.to_owned();
    }
    let mut replaced = String::with_capacity(text.len() + 16);
    let mut rest = text.chars();
    while let Some(a) = rest.next() {
        replaced.push(a);
        let mut ahead = rest.clone();
        if ahead.next() == Some(middle)
            && left(a)
            && let Some(b) = ahead.next().filter(|&b| right(b))
        {
            replaced.push_str(by);
            replaced.push(b);
            rest = ahead;
        }
    }
    replaced
}

fn separate_apostrophes(text: String) -> String {
    if !text.contains('\'') {
        return text;
    }
    let other = |c| !is_letter(c);
    let symbol = |c| !is_alphanumeric(c);
    let text = between(&text, other, '\'', other, " ' ");
    let text = between(&text, symbol, '\'', is_letter, " ' ");
    let text = between(&text, is_letter, '\'', other, " ' ");
    let text = between(&text, is_letter, '\'', is_letter, " '");
    between(&text, is_digit, '\'', |b| b == 's', " '")
}

const ESCAPE: &str = "DOTMULTI";
const ESCAPED_DOT: &str = "DOTMULTI.";
const DOT_ESCAPE: &str = "DOTDOTMULTI";

/// Hides runs of periods from the rule for final periods by replacing each period of a run by "DOT" before
/// the marker.
///
/// METEOR's markers are plain words, so text that contains them is changed too.
fn escape_dots(text: String) -> String {
    if !text.contains("..") && !text.contains(ESCAPE) {
        return text;
    }
    let mut text = escape_runs(&text);
    while text.contains(ESCAPED_DOT) {
        text = escape_last_dots(&text).replace(ESCAPED_DOT, DOT_ESCAPE);
    }
    text
}

/// Replaces the first period of each run of two or more by the marker.
fn escape_runs(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(start) = rest.find("..") {
        let end = rest[start..].find(|c| c != '.').map_or(rest.len(), |run| start + run);
        escaped.extend([&rest[..start], " ", ESCAPE, &rest[start + 1..end]]);
        rest = &rest[end..];
    }
    escaped + rest
}

/// Separates a marker and the last period of its run from the following text.
fn escape_last_dots(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(start) = rest.find(ESCAPED_DOT) {
        let after = &rest[start + ESCAPED_DOT.len()..];
        escaped.push_str(&rest[..start]);
        match after.chars().next().filter(|&next| next != '.') {
            Some(next) => {
                escaped.extend([DOT_ESCAPE, " "]);
                escaped.push(next);
                rest = &after[next.len_utf8()..];
            }
            None => {
                escaped.push_str(ESCAPED_DOT);
                rest = after;
            }
        }
    }
    escaped + rest
}

fn unescape_dots(mut text: String) -> String {
    while text.contains(DOT_ESCAPE) {
        text = text.replace(DOT_ESCAPE, ESCAPED_DOT);
    }
    text.replace(ESCAPE, ".")
}

/// Splits final periods off words, except abbreviations.
fn split_words<B: AsRef<[u8]>>(text: &str, tables: &Tables<B>) -> Result<String, TableError> {
    let mut words = text.split_ascii_whitespace().peekable();
    let mut split = String::with_capacity(text.len() + 16);
    while let Some(word) = words.next() {
        match word.strip_suffix('.').filter(|stem| !stem.is_empty()) {
            Some(stem) => push_dotted(&mut split, word, stem, words.peek().copied(), tables)?,
            None => split.push_str(word),
        }
        split.push(' ');
    }
    Ok(split)
}

/// Appends a word that ends with a period.
///
/// If it has inner periods, all of them are removed. A known abbreviation, or any word before a lower-case
/// letter, keeps its period. Otherwise the period becomes a separate word.
fn push_dotted<B: AsRef<[u8]>>(
    split: &mut String,
    word: &str,
    stem: &str,
    next: Option<&str>,
    tables: &Tables<B>,
) -> Result<(), TableError> {
    if stem.contains('.') && stem.contains(is_letter) {
        split.extend(word.split('.'));
        return Ok(());
    }
    let flags = tables.flags_of(stem)?;
    let next_starts = |kind: fn(&u8) -> bool| next.and_then(|next| next.as_bytes().first()).is_some_and(kind);
    let keeps = flags & PREFIX != 0
        || next_starts(u8::is_ascii_lowercase)
        || flags & NUMERIC_PREFIX != 0 && next_starts(u8::is_ascii_digit);
    split.push_str(if keeps { word } else { stem });
    if !keeps {
        split.push_str(" .");
    }
    Ok(())
}
