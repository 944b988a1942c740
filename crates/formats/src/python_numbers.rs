//! `NaN`, `Infinity` and `-Infinity`, which Python writes into JSON although they are not JSON.

use std::collections::HashSet;

/// The numbers, each with the length of its placeholder string without quotation marks.
const NUMBERS: [(&str, usize); 3] = [("-Infinity", 7), ("Infinity", 6), ("NaN", 1)];

/// Placeholders that let serde_json read text with Python's numbers.
///
/// A placeholder is a string of one repeated character that forms no other string of the text. It is as long
/// as the number, so positions do not change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PythonNumbers {
    character: char,
}

impl PythonNumbers {
    /// Replaces Python's numbers in a text by placeholders. Returns `None` if there are none.
    pub(crate) fn replaced_in(text: &str) -> Option<(Self, String)> {
        let places = places_in(text);
        if places.is_empty() {
            return None;
        }
        let character = unused_character(text)?;
        let mut replaced = String::with_capacity(text.len());
        let mut end = 0;
        for (start, length) in places {
            replaced.push_str(&text[end..start]);
            replaced.push('"');
            replaced.extend(std::iter::repeat_n(character, length));
            replaced.push('"');
            end = start + length + 2;
        }
        replaced.push_str(&text[end..]);
        Some((Self { character }, replaced))
    }

    /// Returns the number behind a placeholder, or `None` for any other string.
    pub(crate) fn number(self, string: &str) -> Option<&'static str> {
        let is_number = string.len() <= 7 && string.chars().all(|c| c == self.character);
        let found = NUMBERS.iter().find(|(_, length)| is_number && *length == string.len());
        found.map(|(number, _)| *number)
    }

    /// Returns the value of a number.
    pub(crate) fn value(number: &str) -> f64 {
        match number {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            _ => f64::NEG_INFINITY,
        }
    }
}

/// Returns the offsets of Python's numbers used as values, with their placeholder lengths.
fn places_in(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut places = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'N' | b'I' | b'-' => match number_at(text, at) {
                Some((number, length)) => {
                    places.push((at, length));
                    at += number.len();
                }
                None => at += 1,
            },
            _ => at += 1,
        }
    }
    places
}

fn number_at(text: &str, start: usize) -> Option<(&'static str, usize)> {
    let (number, length) = NUMBERS.into_iter().find(|(number, _)| text[start..].starts_with(number))?;
    let before = text[..start].trim_ascii_end().bytes().next_back();
    let after = text[start + number.len()..].trim_ascii_start().bytes().next();
    // Anywhere else, for example in place of a key, it stays invalid JSON.
    let is_value = matches!(before, None | Some(b':' | b',' | b'['))
        && matches!(after, None | Some(b',' | b']' | b'}' | b'{' | b'['));
    is_value.then_some((number, length))
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Returns a character that forms no placeholder-like string of the text.
fn unused_character(text: &str) -> Option<char> {
    let used: HashSet<u8> = NUMBERS
        .iter()
        .flat_map(|(_, length)| text.as_bytes().windows(length + 2))
        .filter(|window| {
            let [first, inside @ .., last] = window else { return false };
            [*first, *last] == [b'"', b'"'] && inside.iter().all(|byte| *byte == inside[0])
        })
        .map(|window| window[1])
        .collect();
    let is_unused = |byte: &u8| {
        let escapes = [format!("\\u{byte:04x}"), format!("\\u{byte:04X}")];
        !used.contains(byte)
            && !matches!(byte, b'"' | b'\\')
            && !escapes.iter().any(|escape| text.contains(escape))
    };
    (0x21..=0x7f).rev().find(is_unused).map(char::from)
}
