//! Lower case as in Java.
//!
//! There are two differences from Rust's `to_lowercase`. Letters whose lower case was added after Unicode 13
//! (the version of Java 17) are not changed. And Java has its own rules for the final form of a capital
//! sigma: hyphens, periods and quotes join letters into one word, so the sigma in "ΟΔΟΣ-A" is not final.

use crate::symbols::{MARK, symbols_of};

/// Converts a text to lower case like Java's `String.toLowerCase`.
#[must_use]
pub fn lowercase(text: &str) -> String {
    let mut lower = String::with_capacity(text.len());
    push_lowercase(text, &mut lower);
    lower
}

/// Appends a text in lower case.
pub(crate) fn push_lowercase(text: &str, out: &mut String) {
    if text.is_ascii() {
        let start = out.len();
        out.push_str(text);
        out[start..].make_ascii_lowercase();
        return;
    }
    for (offset, character) in text.char_indices() {
        match character {
            'Σ' if is_final(text, offset) => out.push('ς'),
            _ if is_newer(character) => out.push(character),
            _ => out.extend(character.to_lowercase()),
        }
    }
}

/// Returns whether the lower case of an upper-case letter was added in Unicode 14 or later.
fn is_newer(character: char) -> bool {
    matches!(
        character,
        '\u{1c89}' | '\u{2c2f}' | '\u{a7c0}' | '\u{a7cb}'..='\u{a7dc}'
            | '\u{10570}'..='\u{10595}' | '\u{10d50}'..='\u{10d65}' | '\u{16ea0}'..='\u{16eb8}'
    )
}

/// Returns whether the capital sigma at `offset` is preceded by a cased letter of its word, and not followed
/// by one.
fn is_final(text: &str, offset: usize) -> bool {
    let before = text[..offset].chars().rev();
    let after = text[offset + 'Σ'.len_utf8()..].chars();
    has_cased(before, true) && !has_cased(after, false)
}

/// The role of a character in a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Letter,
    Number,
    /// A mark or invisible character, which belongs to the preceding character.
    Mark,
    /// Joins letters.
    Joint,
    /// Joins letters, and also numbers.
    AnyJoint,
    /// Joins numbers.
    NumberJoint,
    /// A full stop of Indic scripts. It ends a word unless a number follows.
    Danda,
    Other,
}

/// Returns whether the word of a sigma has a cased letter on one side.
///
/// `characters` are the characters on that side, nearest first.
fn has_cased(characters: impl Iterator<Item = char>, backwards: bool) -> bool {
    let mut last = Part::Letter;
    // A joining character since the last letter or number, if any.
    let mut joint = None;
    for character in characters {
        let part = part_of(character);
        let goes_on = match (joint, last, part) {
            (_, _, Part::Mark) => true,
            (None, Part::Letter | Part::Number, Part::Letter | Part::Number) => true,
            (Some(Part::Joint | Part::AnyJoint), Part::Letter, Part::Letter) => true,
            (Some(Part::AnyJoint | Part::NumberJoint), Part::Number, Part::Number) => true,
            (Some(Part::Danda), Part::Letter, Part::Number) => !backwards,
            (Some(Part::Danda), Part::Number, Part::Letter) => backwards,
            (None, _, Part::Other) | (Some(_), ..) => false,
            (None, ..) => true,
        };
        if !goes_on {
            return false;
        }
        match part {
            Part::Mark => {}
            Part::Letter | Part::Number => (last, joint) = (part, None),
            _ => joint = Some(part),
        }
        if matches!(part, Part::Letter | Part::Number | Part::Mark) && is_cased(character) {
            return true;
        }
    }
    false
}

fn part_of(character: char) -> Part {
    match character {
        '"' | '\'' | '.' => Part::AnyJoint,
        // Punctuation and signs that are parts of words for the tokenizer, but not for Java.
        '\u{2c2}'..='\u{2c5}' | '\u{2d2}'..='\u{2df}' | '\u{2e5}'..='\u{2eb}' => Part::Other,
        '\u{2ed}' | '\u{2ef}'..='\u{2ff}' | '\u{375}' | '\u{378}' | '\u{379}' | '\u{384}' => Part::Other,
        '\u{385}' | '\u{3f6}' | '\u{55a}'..='\u{55f}' | '\u{6de}' | '\u{6e9}' | '\u{6fd}' | '\u{6fe}' => {
            Part::Other
        }
        '-' | '_' | '\u{58a}' | '\u{5be}' | '\u{1400}' | '\u{1806}' | '\u{2010}'..='\u{2015}' => Part::Joint,
        '\u{2e17}' | '\u{2e1a}' | '\u{301c}' | '\u{3030}' | '\u{ff0d}' | '\u{ff3f}' => Part::Joint,
        '\u{ad}' | '\u{2027}' | '\u{203f}' | '\u{2040}' | '\u{2054}' => Part::Joint,
        ',' | '\u{66b}' => Part::NumberJoint,
        '\u{964}' | '\u{965}' => Part::Danda,
        _ if is_ideographic(character) => Part::Other,
        _ if is_mark(character) => Part::Mark,
        _ if character.is_numeric() => Part::Number,
        _ if character.is_alphabetic() => Part::Letter,
        _ => Part::Other,
    }
}

/// Returns whether a character belongs to a script without spaces, whose characters are separate words for
/// Java.
fn is_ideographic(character: char) -> bool {
    matches!(
        character,
        '\u{3005}' | '\u{3041}'..='\u{3094}' | '\u{3099}'..='\u{309e}' | '\u{30a1}'..='\u{30fe}'
            | '\u{4e00}'..='\u{9fa5}' | '\u{f900}'..='\u{fa2d}'
    )
}

fn is_mark(character: char) -> bool {
    let (symbol, _) = symbols_of(character);
    symbol == MARK
        || matches!(
            character,
            '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{1ab0}'..='\u{1abe}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20f0}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}'
        )
}

/// Returns whether a letter has upper, lower or title case.
///
/// Of the letters that only look cased, such as superscript letters, Java counts some.
fn is_cased(character: char) -> bool {
    match character {
        'ª' | 'º' | '\u{10fc}' | '\u{1d62}'..='\u{1d6a}' | '\u{1d78}' => false,
        '\u{1d9b}'..='\u{1dbf}' | '\u{2071}' | '\u{207f}' | '\u{2090}'..='\u{209c}' => false,
        '\u{2c7c}' | '\u{2c7d}' | '\u{a69c}' | '\u{a69d}' | '\u{a770}' => false,
        '\u{a7f2}'..='\u{a7f9}' | '\u{ab5c}'..='\u{ab5f}' | '\u{ab69}' => false,
        '\u{1c5}' | '\u{1c8}' | '\u{1cb}' | '\u{1f2}' | '\u{295}' => true,
        '\u{1f88}'..='\u{1faf}' | '\u{1fbc}' | '\u{1fcc}' | '\u{1ffc}' => true,
        _ => character.is_lowercase() || character.is_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::lowercase;

    /// The expected values are Java 17's.
    #[test]
    fn a_final_sigma_has_its_own_form() {
        let cases = [
            ("ΑΣ", "ας"),
            ("ΑΣ's", "ασ's"),
            ("Σ", "σ"),
            ("Α4Σ:", "α4ς:"),
            ("I`Σ", "i`σ"),
            ("P.Σ", "p.ς"),
            ("ΟΔΟΣ-A", "οδοσ-a"),
            (".a\u{200d}Σ@", ".a\u{200d}ς@"),
            ("\"ªΣ::", "\"ªσ::"),
        ];
        for (text, lower) in cases {
            assert_eq!(lowercase(text), lower, "{text}");
        }
    }
}
