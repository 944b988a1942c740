//! Tokens as passed to the caller.

/// A token of a caption.
#[derive(Clone, Copy, Debug)]
pub enum Token<'a> {
    /// A short word of Latin letters without accents, like most tokens.
    Latin(Short),
    /// Any token.
    Text(&'a str),
}

impl Token<'_> {
    /// Calls `make` with the token as text.
    pub fn with_str<T>(self, make: impl FnOnce(&str) -> T) -> T {
        match self {
            Token::Latin(word) => word.with_str(make),
            Token::Text(text) => make(text),
        }
    }

    /// Returns whether the token is equal to a text.
    pub fn is(self, text: &str) -> bool {
        self.with_str(|token| token == text)
    }
}

/// Text of at most 15 bytes as a number, for fast comparison.
///
/// The lowest byte is the first byte of the text, and the highest byte is its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short(u128);

impl Short {
    /// Maximum number of bytes of a short text.
    pub const LONGEST: usize = 15;

    /// Returns the text as a number, if it is short.
    pub fn of(text: &str) -> Option<Short> {
        let text = text.as_bytes();
        let byte = |at: usize| u128::from(text[at]) << (8 * at);
        let four = |at: usize| {
            let bytes = std::array::from_fn(|byte| text[at + byte]);
            u128::from(u32::from_le_bytes(bytes)) << (8 * at)
        };
        let eight = |at: usize| {
            let bytes = std::array::from_fn(|byte| text[at + byte]);
            u128::from(u64::from_le_bytes(bytes)) << (8 * at)
        };
        // Read in parts of fixed lengths that may overlap. Overlapping bytes are the same in both parts.
        let bytes = match text.len() {
            0 => 0,
            length @ 1..4 => byte(0) | byte(length / 2) | byte(length - 1),
            length @ 4..8 => four(0) | four(length - 4),
            length @ 8..=Short::LONGEST => eight(0) | eight(length - 8),
            _ => return None,
        };
        Some(Short(bytes | (text.len() as u128) << (8 * Short::LONGEST)))
    }

    /// Creates a short text from the first `length` letters (at most 15) of a number, starting with the
    /// lowest byte.
    #[inline]
    pub(crate) fn of_letters(letters: u128, length: usize) -> Short {
        let kept = letters & ((1 << (8 * length)) - 1);
        Short(kept | (length as u128) << (8 * Short::LONGEST))
    }

    /// Returns a number that no other short text has.
    #[inline]
    pub fn number(self) -> u128 {
        self.0
    }

    /// Calls `make` with the text.
    pub fn with_str<T>(self, make: impl FnOnce(&str) -> T) -> T {
        let bytes = self.0.to_le_bytes();
        let length = usize::from(bytes[Short::LONGEST]);
        // The bytes are valid UTF-8, because they were created from text.
        make(std::str::from_utf8(&bytes[..length]).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_round_trip() {
        let all = "fifteen letters";
        for text in (0..=all.len()).map(|end| &all[..end]).chain(["\0", "a\0", "caf\u{e9}"]) {
            let short = Short::of(text).unwrap();
            assert_eq!(short.with_str(str::to_owned), text);
            assert_eq!(short, Short::of(text).unwrap());
        }
        assert!(Short::of("sixteen  letters").is_none());
        assert_ne!(Short::of("").unwrap().number(), Short::of("\0").unwrap().number());
    }

    #[test]
    fn letters_after_the_word_are_ignored() {
        let letters = u128::from_le_bytes(*b"a dog and a cat ");
        assert_eq!(Short::of_letters(letters, 1), Short::of("a").unwrap());
        assert_eq!(Short::of_letters(letters, 15), Short::of("a dog and a cat").unwrap());
    }
}
