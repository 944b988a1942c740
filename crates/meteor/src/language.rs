//! Languages with stemming in METEOR 1.5, and their stems.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// A language of the captions.
///
/// Synonyms, paraphrases and METEOR's normalization exist only for English. Other languages are only
/// lower-cased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// No stemming.
    Czech,
    /// With stemming.
    Danish,
    /// With stemming, synonyms and paraphrases.
    English,
    /// With stemming.
    French,
    /// With stemming.
    German,
    /// With stemming.
    Italian,
    /// With stemming.
    Norwegian,
    /// With stemming.
    Romanian,
    /// With stemming.
    Russian,
    /// With stemming.
    Spanish,
    /// With stemming.
    Swedish,
    /// With stemming.
    Turkish,
}

impl Language {
    /// Returns the language with a two-letter code.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        Some(match code {
            "cs" => Self::Czech,
            "da" => Self::Danish,
            "de" => Self::German,
            "en" => Self::English,
            "es" => Self::Spanish,
            "fr" => Self::French,
            "it" => Self::Italian,
            "no" => Self::Norwegian,
            "ro" => Self::Romanian,
            "ru" => Self::Russian,
            "sv" => Self::Swedish,
            "tr" => Self::Turkish,
            _ => return None,
        })
    }

    /// Returns the Snowball algorithm, or `None` if METEOR has none.
    const fn algorithm(self) -> Option<Algorithm> {
        Some(match self {
            Self::Czech => return None,
            Self::Danish => Algorithm::Danish,
            Self::English => Algorithm::English,
            Self::French => Algorithm::French,
            Self::German => Algorithm::German,
            Self::Italian => Algorithm::Italian,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Romanian => Algorithm::Romanian,
            Self::Russian => Algorithm::Russian,
            Self::Spanish => Algorithm::Spanish,
            Self::Swedish => Algorithm::Swedish,
            Self::Turkish => Algorithm::Turkish,
        })
    }

    /// Returns whether METEOR has a stemmer for the language.
    #[must_use]
    pub const fn has_stems(self) -> bool {
        self.algorithm().is_some()
    }

    /// Returns the stem of a word as in METEOR 1.5, or the word itself if there is no stemmer.
    pub(crate) fn stem(self, word: &str) -> Cow<'_, str> {
        let Some(algorithm) = self.algorithm() else { return Cow::Borrowed(word) };
        let stem = Stemmer::create(algorithm).stem(word).into_owned();
        if self == Self::German && lost_a_letter(word, &stem) {
            Cow::Owned(stem + "s")
        } else {
            Cow::Owned(stem)
        }
    }
}

/// Returns whether a German stem lost the last letter of -niss, by a rule added to Snowball after METEOR 1.5.
fn lost_a_letter(word: &str, stem: &str) -> bool {
    let word = word.replace('ß', "ss");
    stem.ends_with("nis") && ["nisse", "nissen", "nisses"].iter().any(|ending| word.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_match_the_snowball_version_of_meteor() {
        let of = |language: Language, word| language.stem(word).into_owned();
        assert_eq!(of(Language::German, "laufenden"), "laufend");
        assert_eq!(of(Language::German, "bedürfnissen"), "bedurfniss");
        assert_eq!(of(Language::German, "fußballereignisse"), "fussballereigniss");
        assert_eq!(of(Language::German, "bedürfnis"), "bedurfnis");
        assert_eq!(of(Language::French, "continuellement"), "continuel");
        assert_eq!(of(Language::Russian, "собаки"), "собак");
        assert_eq!(of(Language::Czech, "psi"), "psi");
        assert!(!Language::Czech.has_stems());
    }

    #[test]
    fn codes_name_languages() {
        assert_eq!(Language::of_code("de"), Some(Language::German));
        assert_eq!(Language::of_code("xx"), None);
    }
}
