//! Sentence boundaries among the tokens of a text.

use std::ops::Range;

/// Quotes and brackets that belong to the sentence that ended before them.
const CLOSING: [&str; 11] =
    [")", "]", "}", "\"", "'", "''", "\u{2019}", "\u{201d}", "-RRB-", "-RSB-", "-RCB-"];

/// Returns the tokens of each sentence of a text, as ranges of token indices.
///
/// A period, or a token of question and exclamation marks, ends a sentence, as in CoreNLP 3.6.0. Line ends do
/// not.
///
/// ```
/// let tokens = ["Look", "!", "''", "A", "dog", "."];
/// assert_eq!(capeval_ptb::sentences(&tokens), [0..3, 3..6]);
/// ```
pub fn sentences<T: AsRef<str>>(tokens: &[T]) -> Vec<Range<usize>> {
    let mut sentences: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for (place, token) in tokens.iter().enumerate() {
        let token = token.as_ref();
        match sentences.last_mut() {
            Some(last) if start == place && CLOSING.contains(&token) => {
                last.end = place + 1;
                start = place + 1;
            }
            _ if ends_sentence(token) => {
                sentences.push(start..place + 1);
                start = place + 1;
            }
            _ => {}
        }
    }
    if start < tokens.len() {
        sentences.push(start..tokens.len());
    }
    sentences
}

fn ends_sentence(token: &str) -> bool {
    token == "." || (!token.is_empty() && token.bytes().all(|byte| matches!(byte, b'!' | b'?')))
}

#[cfg(test)]
mod tests {
    use super::sentences;

    #[test]
    fn closing_marks_belong_to_the_previous_sentence() {
        let tokens = ["-RRB-", "A", "dog", "?!", "-RRB-", "''", "It", "runs"];
        assert_eq!(sentences(&tokens), [0..6, 6..8]);
    }

    #[test]
    fn every_final_mark_ends_a_sentence() {
        assert_eq!(sentences(&["Hm", "...", ".", ".", "..."]), [0..3, 3..4, 4..5]);
        assert!(sentences::<&str>(&[]).is_empty());
    }
}
