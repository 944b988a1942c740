//! Tokens as they are passed on.

/// A token of a caption.
#[derive(Clone, Copy, Debug)]
pub enum Token<'a> {
    /// A word of few letters, all of them Latin without accents: most tokens are such words.
    Latin(Short),
    /// Any token.
    Text(&'a str),
}

impl Token<'_> {
    /// Makes something of the token as text.
    pub fn with_str<T>(self, make: impl FnOnce(&str) -> T) -> T {
        match self {
            Token::Latin(word) => word.with_str(make),
            Token::Text(text) => make(text),
        }
    }

    /// Whether the token is this text.
    pub fn is(self, text: &str) -> bool {
        self.with_str(|token| token == text)
    }
}

/// Text of at most 15 bytes as a number, which is compared at once: its lowest byte is the first of the text, its
/// highest one says how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short(u128);

impl Short {
    /// The most bytes of a short text.
    pub const LONGEST: usize = 15;

    /// The text, if it is short.
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
        // By parts of fixed lengths, which overlap: a byte of both is the same in both.
        let bytes = match text.len() {
            0 => 0,
            length @ 1..4 => byte(0) | byte(length / 2) | byte(length - 1),
            length @ 4..8 => four(0) | four(length - 4),
            length @ 8..=Short::LONGEST => eight(0) | eight(length - 8),
            _ => return None,
        };
        Some(Short(bytes | (text.len() as u128) << (8 * Short::LONGEST)))
    }

    /// The first `length` letters, at most 15, of those in a number, of which the lowest byte is the first.
    #[inline]
    pub(crate) fn of_letters(letters: u128, length: usize) -> Short {
        let kept = letters & ((1 << (8 * length)) - 1);
        Short(kept | (length as u128) << (8 * Short::LONGEST))
    }

    /// A number that no other short text has.
    #[inline]
    pub fn number(self) -> u128 {
        self.0
    }

    /// Makes something of the text.
    pub fn with_str<T>(self, make: impl FnOnce(&str) -> T) -> T {
        let bytes = self.0.to_le_bytes();
        let length = usize::from(bytes[Short::LONGEST]);
        // It was made of text.
        make(std::str::from_utf8(&bytes[..length]).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_what_they_were_made_of() {
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
    fn letters_after_the_word_are_not_its_own() {
        let letters = u128::from_le_bytes(*b"a dog and a cat ");
        assert_eq!(Short::of_letters(letters, 1), Short::of("a").unwrap());
        assert_eq!(Short::of_letters(letters, 15), Short::of("a dog and a cat").unwrap());
    }
}
