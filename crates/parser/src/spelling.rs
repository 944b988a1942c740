//! American spellings of words that are not in the list of spellings.
//!
//! The lexicon is looked up with American spellings. Trees keep the original words.

/// Minimum length of words with another spelling.
const SHORTEST: usize = 4;
/// Minimum length of words that are respelled by their endings.
const SHORTEST_RESPELLED: usize = 6;

fn length(word: &str) -> usize {
    word.encode_utf16().count()
}

pub(crate) fn is_too_short(word: &str) -> bool {
    length(word) < SHORTEST
}

/// Returns the American spelling of a word by the first matching rule.
///
/// `is_american_our` is called to check whether a word in -our is not a British spelling ("contour").
pub(crate) fn respell(word: &str, is_american_our: impl FnOnce() -> bool) -> String {
    if length(word) < SHORTEST_RESPELLED {
        return word.to_owned();
    }
    if word.contains("haemo") || word.contains("haemato") {
        return word.replace("haemo", "hemo").replace("haemato", "hemato");
    }
    if let Some(start) = word.strip_suffix("aemia") {
        return format!("{start}emia");
    }
    if word.contains("leukaem") || word.contains("Leukaem") {
        return word.replace("leukaem", "leukem").replace("Leukaem", "Leukem");
    }
    let (singular, plural) = word.strip_suffix('s').map_or((word, ""), |singular| (singular, "s"));
    if let Some(start) = singular.strip_suffix("programme") {
        return format!("{start}program{plural}");
    }
    match singular.strip_suffix("our") {
        Some(start) if is_british_our(start) && !is_american_our() => {
            format!("{start}or{plural}")
        }
        _ => word.to_owned(),
    }
}

fn is_british_our(start: &str) -> bool {
    start.len() >= 3 && start.bytes().all(|letter| letter.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::respell;

    #[test]
    fn british_spellings_become_american() {
        let cases = [
            ("haemoglobin", "hemoglobin"),
            ("haematology", "hematology"),
            ("anaemia", "anemia"),
            ("Leukaemic", "Leukemic"),
            ("programmes", "programs"),
            ("favours", "favors"),
            ("Favours", "Favours"),
            ("honour", "honor"),
            ("hours", "hours"),
            ("flour", "flour"),
        ];
        for (word, expected) in cases {
            assert_eq!(respell(word, || false), expected, "{word}");
        }
        assert_eq!(respell("contours", || true), "contours");
    }
}
