//! The options of METEOR. Their defaults are in Python, with the metric.

use crate::error::MeteorError;
use crate::language::Language;

/// Number of stages that METEOR knows.
pub(crate) const STAGES: usize = 4;

/// The kinds of match METEOR knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// The same word.
    Exact,
    /// Different words with the same Snowball English stem.
    Stem,
    /// Different words that share a WordNet synset, directly or by their base form.
    Synonym,
    /// Phrases that the paraphrase table pairs, in either direction.
    Paraphrase,
}

impl Stage {
    /// Every stage, in METEOR 1.5's order, which is also their order in [`crate::Statistics`].
    pub const ALL: [Self; STAGES] = [Self::Exact, Self::Stem, Self::Synonym, Self::Paraphrase];

    /// Position in [`Stage::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The stage's lower-case English name.
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

/// One stage and what a word matched by it is worth, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedStage {
    /// The kind of match.
    pub stage: Stage,
    /// Worth of a matched word in precision and recall.
    pub weight: f64,
}

/// Options of the metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The language of the captions. Function words are the tables' English ones whatever it is, as in METEOR.
    pub language: Language,
    /// Stages in the order in which they look for matches. The order decides ties between
    /// alignments; of two identical sentences only the first stage is used.
    pub stages: Vec<WeightedStage>,
    /// Weight of recall against precision in the harmonic mean, 0 to 1.
    pub alpha: f64,
    /// Exponent of the fragmentation penalty; the papers also write theta.
    pub beta: f64,
    /// Largest fragmentation penalty, 0 to 1.
    pub gamma: f64,
    /// Weight of content words; function words weigh `1 - delta`.
    pub delta: f64,
    /// Partial alignments kept at each reference word.
    pub beam_size: usize,
    /// Apply METEOR's own normalization and lower-casing (`-norm`); lower-casing alone (`-lower`) for other
    /// languages than English.
    pub normalize: bool,
    /// Charge the fragmentation penalty also to a candidate that matches its reference word for
    /// word in one chunk. METEOR 1.5 does not; the formula of the papers does.
    pub penalize_perfect: bool,
}

impl Options {
    /// Weight of each stage in the order of [`Stage::ALL`], 0 for one that is not used.
    pub(crate) fn weights(&self) -> [f64; STAGES] {
        let mut weights = [0.0; STAGES];
        for weighted in &self.stages {
            weights[weighted.stage.index()] = weighted.weight;
        }
        weights
    }

    /// Place of each stage in the search order, `None` for one that is not used.
    pub(crate) fn places(&self) -> [Option<u8>; STAGES] {
        let mut places = [None; STAGES];
        for (place, weighted) in (0..).zip(&self.stages) {
            places[weighted.stage.index()] = Some(place);
        }
        places
    }

    /// Check that every option is in its range.
    ///
    /// # Errors
    /// [`MeteorError::Option`] names the first option that is not.
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

    /// What is done to captions before they are cut into words.
    pub(crate) fn preparation(&self) -> Preparation {
        match (self.normalize, self.language) {
            (false, _) => Preparation::None,
            (true, Language::English) => Preparation::Normalize,
            (true, _) => Preparation::Lowercase,
        }
    }
}

/// What is done to captions before they are cut into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preparation {
    None,
    Lowercase,
    Normalize,
}
