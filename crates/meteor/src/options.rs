//! Options of METEOR. Their defaults are defined in Python, with the metric.

use crate::error::MeteorError;
use crate::language::Language;

/// Number of METEOR's stages.
pub(crate) const STAGES: usize = 4;

/// A stage of METEOR: a kind of match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Identical words.
    Exact,
    /// Different words with the same Snowball stem.
    Stem,
    /// Different words that share a WordNet synset, directly or through a base form.
    Synonym,
    /// Phrases that are paraphrases in the table, in either direction.
    Paraphrase,
}

impl Stage {
    /// All stages in METEOR 1.5's order, which is also their order in [`crate::Statistics`].
    pub const ALL: [Self; STAGES] = [Self::Exact, Self::Stem, Self::Synonym, Self::Paraphrase];

    /// Returns the index in [`Stage::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the lower-case English name of the stage.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Stem => "stem",
            Self::Synonym => "synonym",
            Self::Paraphrase => "paraphrase",
        }
    }
}

/// A stage and the weight of words matched by it, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedStage {
    /// The stage.
    pub stage: Stage,
    /// Weight of a matched word in precision and recall.
    pub weight: f64,
}

/// Options of the metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The language of the captions. As in METEOR, the function words are always English.
    pub language: Language,
    /// Stages in the order in which they find matches.
    ///
    /// The order decides ties between alignments. For identical sentences, only the first stage is used.
    pub stages: Vec<WeightedStage>,
    /// Weight of recall against precision in the harmonic mean, 0 to 1.
    pub alpha: f64,
    /// Exponent of the fragmentation penalty, also called theta in the papers.
    pub beta: f64,
    /// Maximum fragmentation penalty, 0 to 1.
    pub gamma: f64,
    /// Weight of content words. Function words have the weight `1 - delta`.
    pub delta: f64,
    /// Number of partial alignments kept at each reference word.
    pub beam_size: usize,
    /// Whether to apply METEOR's own normalization and lower-casing (`-norm`).
    ///
    /// For languages other than English, only lower-casing (`-lower`).
    pub normalize: bool,
    /// Whether to apply the fragmentation penalty also to candidates that match their reference word for word
    /// in one chunk.
    ///
    /// The formula in the papers does, METEOR 1.5 does not.
    pub penalize_perfect: bool,
}

impl Options {
    /// Returns the weight of each stage in the order of [`Stage::ALL`], with 0 for unused stages.
    pub(crate) fn weights(&self) -> [f64; STAGES] {
        let mut weights = [0.0; STAGES];
        for weighted in &self.stages {
            weights[weighted.stage.index()] = weighted.weight;
        }
        weights
    }

    /// Returns the position of each stage in the search order, with `None` for unused stages.
    pub(crate) fn places(&self) -> [Option<u8>; STAGES] {
        let mut places = [None; STAGES];
        for (place, weighted) in (0..).zip(&self.stages) {
            places[weighted.stage.index()] = Some(place);
        }
        places
    }

    /// Checks that every option is in range.
    ///
    /// # Errors
    /// Returns a [`MeteorError::Option`] for the first option that is not.
    pub fn validate(&self) -> Result<(), MeteorError> {
        let unit = [("alpha", self.alpha), ("gamma", self.gamma), ("delta", self.delta)];
        let weights = self.stages.iter().map(|weighted| ("weight", weighted.weight));
        for (name, value) in unit.into_iter().chain(weights) {
            if !(0.0..=1.0).contains(&value) {
                return Err(MeteorError::option(name, "a number from 0 to 1", value));
            }
        }
        if !(self.beta.is_finite() && self.beta >= 0.0) {
            return Err(MeteorError::option("beta", "a finite number of at least 0", self.beta));
        }
        if self.beam_size == 0 {
            return Err(MeteorError::option("beam_size", "at least 1", self.beam_size));
        }
        let used = self.places().iter().flatten().count();
        if used == 0 || used != self.stages.len() {
            let names: Vec<_> = self.stages.iter().map(|weighted| weighted.stage.name()).collect();
            return Err(MeteorError::option("stages", "one to four different stages", names.join(" ")));
        }
        let unknown = |stage: Stage| match stage {
            Stage::Exact => false,
            Stage::Stem => !self.language.has_stems(),
            Stage::Synonym | Stage::Paraphrase => self.language != Language::English,
        };
        if let Some(weighted) = self.stages.iter().find(|weighted| unknown(weighted.stage)) {
            return Err(MeteorError::option("stages", "stages of the language", weighted.stage.name()));
        }
        Ok(())
    }

    /// Returns the preparation of captions before they are split into words.
    pub(crate) fn preparation(&self) -> Preparation {
        match (self.normalize, self.language) {
            (false, _) => Preparation::None,
            (true, Language::English) => Preparation::Normalize,
            (true, _) => Preparation::Lowercase,
        }
    }
}

/// Preparation of captions before they are split into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preparation {
    None,
    Lowercase,
    Normalize,
}
