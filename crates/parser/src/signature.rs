//! Signatures of unseen words: capitals, dashes, digits and last character.

/// Maximum length of words without a last character in their signature.
const SHORT: usize = 3;

/// Returns the signature of a word.
///
/// Java examines UTF-16 units one by one, so a character beyond U+FFFF is neither a letter nor a digit, and
/// counts as two in the length.
pub(crate) fn signature(word: &str, first: bool) -> String {
    let basic = || word.chars().filter(|&letter| (letter as u32) < 0x1_0000);
    let has_digit = basic().any(is_digit);
    let has_other = word.chars().any(|letter| !is_digit(letter) || letter as u32 >= 0x1_0000);
    let has_lower = basic().any(|letter| !is_digit(letter) && (is_lower_letter(letter) || is_title(letter)));
    let starts_upper = word
        .chars()
        .next()
        .is_some_and(|letter| (letter as u32) < 0x1_0000 && (is_upper(letter) || is_title(letter)));
    let mut signature = "UNK".to_owned();
    signature += match (starts_upper, has_lower) {
        (true, false) => "-ALLC",
        (true, true) if first => "-INIT",
        (true, true) => "-UC",
        (false, true) => "-LC",
        (false, false) => "",
    };
    if word.contains('-') {
        signature += "-DASH";
    }
    if has_digit {
        signature += if has_other { "-DIG" } else { "-NUM" };
    } else if word.encode_utf16().count() > SHORT {
        signature.extend(word.chars().next_back().map(lower));
    }
    signature
}

/// Returns whether a character is a decimal digit of any script (general category Nd).
fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit() || (letter as u32 >= 0x80 && DIGIT_ZEROS.iter().any(|&zero| in_ten(letter, zero)))
}

fn in_ten(letter: char, zero: u32) -> bool {
    (zero..zero + 10).contains(&(letter as u32))
}

/// The digit zero of each script in the Basic Multilingual Plane.
const DIGIT_ZEROS: [u32; 36] = [
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6,
    0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0,
    0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
];

/// Returns whether a letter is in title case: a capital combined with a lower-case letter (category Lt).
fn is_title(letter: char) -> bool {
    matches!(letter as u32,
        0x01C5 | 0x01C8 | 0x01CB | 0x01F2 | 0x1F88..=0x1F8F | 0x1F98..=0x1F9F | 0x1FA8..=0x1FAF | 0x1FBC
        | 0x1FCC | 0x1FFC)
}

fn is_upper(letter: char) -> bool {
    letter.is_uppercase()
}

/// Returns whether a character is a lower-case letter.
///
/// Unicode also classifies some marks and symbols as lower case.
fn is_lower_letter(letter: char) -> bool {
    letter.is_lowercase()
        && letter != '\u{0345}'
        && !matches!(letter as u32, 0x24D0..=0x24E9 | 0x2170..=0x217F)
}

/// Returns the lower case of a character if it is a single character.
fn lower(letter: char) -> char {
    let mut small = letter.to_lowercase();
    match (small.next(), small.next()) {
        (Some(small), None) => small,
        // Only U+0130 has two characters in lower case, and Java uses the first (a plain i).
        (Some(small), Some(_)) => small,
        _ => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::signature;

    #[test]
    fn a_signature_encodes_capitals_dashes_digits_and_the_last_letter() {
        let cases = [
            ("skateborder", "UNK-LCr"),
            ("Zorbing", "UNK-UCg"),
            ("ZORB", "UNK-ALLCb"),
            ("sk8er", "UNK-LC-DIG"),
            ("12", "UNK-NUM"),
            ("12-34", "UNK-DASH-DIG"),
            ("x-y", "UNK-LC-DASH"),
            ("@@@@", "UNK@"),
            ("日本日本", "UNK本"),
            ("İİİİ", "UNK-ALLCi"),
            ("", "UNK"),
        ];
        for (word, expected) in cases {
            assert_eq!(signature(word, false), expected, "{word}");
        }
        assert_eq!(signature("Zorbing", true), "UNK-INITg");
    }
}
