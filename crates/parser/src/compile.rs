//! Compilation of plain lists into the sections of a table file.

use std::collections::BTreeMap;

use capeval_tables::{Contents, Kind, write};

use crate::error::ModelError;
use crate::source::{Count, Source, UnaryRule};
use crate::unaries;

/// The kind of table file that contains only a parser model.
pub const KIND: Kind = Kind { name: "PARSER", version: 1 };

/// Name of the root state of every parse.
pub(crate) const GOAL: &str = "ROOT";
/// The token that ends every sentence, and its tag.
pub(crate) const BOUNDARY: &str = ".$.";
pub(crate) const BOUNDARY_TAG: &str = ".$$.";

/// Sorted strings: end offsets and bytes.
#[derive(Debug, Default)]
struct Strings {
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl Strings {
    fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len() as u32);
    }
}

/// Strings with their total counts, and their counts with each tag.
#[derive(Debug, Default)]
struct Counts {
    strings: Strings,
    totals: Vec<f64>,
    /// End offset of the tags of each string.
    tag_ends: Vec<u32>,
    tags: Vec<u16>,
    tag_counts: Vec<f64>,
}

/// A model as sections of a table file, which may contain more sections.
#[derive(Debug, Default)]
pub struct Compiled {
    states: Strings,
    tag_states: Vec<u16>,
    tag_seen: Vec<f64>,
    tag_unseen: Vec<f64>,
    totals: Vec<f64>,
    binary_states: Vec<u16>,
    binary_scores: Vec<f32>,
    unary_states: Vec<u16>,
    unary_scores: Vec<f32>,
    chain_states: Vec<u16>,
    chain_scores: Vec<f32>,
    words: Counts,
    signatures: Counts,
    spellings: Strings,
    lookups: Strings,
    our_words: Strings,
}

impl Compiled {
    /// Checks a model and converts it to sections.
    ///
    /// # Errors
    /// Returns a [`ModelError`] if a number or name in the source does not refer to one of its states, tags
    /// or words.
    pub fn new(source: &Source) -> Result<Self, ModelError> {
        let mut compiled = Self::default();
        compiled.add_states(source)?;
        compiled.add_rules(source)?;
        compiled.add_lexicon(source)?;
        compiled.add_spellings(source)?;
        Ok(compiled)
    }

    /// Returns the sections. Their names all begin with `parser.`.
    #[must_use]
    pub fn contents(&self) -> Vec<Contents<'_>> {
        vec![
            Contents::of("parser.state_ends", &self.states.ends),
            Contents::of("parser.state_bytes", &self.states.bytes),
            Contents::of("parser.tag_states", &self.tag_states),
            Contents::of("parser.tag_seen", &self.tag_seen),
            Contents::of("parser.tag_unseen", &self.tag_unseen),
            Contents::of("parser.totals", &self.totals),
            Contents::of("parser.binary_states", &self.binary_states),
            Contents::of("parser.binary_scores", &self.binary_scores),
            Contents::of("parser.unary_states", &self.unary_states),
            Contents::of("parser.unary_scores", &self.unary_scores),
            Contents::of("parser.chain_states", &self.chain_states),
            Contents::of("parser.chain_scores", &self.chain_scores),
            Contents::of("parser.word_ends", &self.words.strings.ends),
            Contents::of("parser.word_bytes", &self.words.strings.bytes),
            Contents::of("parser.word_totals", &self.words.totals),
            Contents::of("parser.word_tag_ends", &self.words.tag_ends),
            Contents::of("parser.word_tags", &self.words.tags),
            Contents::of("parser.word_counts", &self.words.tag_counts),
            Contents::of("parser.sign_ends", &self.signatures.strings.ends),
            Contents::of("parser.sign_bytes", &self.signatures.strings.bytes),
            Contents::of("parser.sign_totals", &self.signatures.totals),
            Contents::of("parser.sign_tag_ends", &self.signatures.tag_ends),
            Contents::of("parser.sign_tags", &self.signatures.tags),
            Contents::of("parser.sign_counts", &self.signatures.tag_counts),
            Contents::of("parser.spell_ends", &self.spellings.ends),
            Contents::of("parser.spell_bytes", &self.spellings.bytes),
            Contents::of("parser.lookup_ends", &self.lookups.ends),
            Contents::of("parser.lookup_bytes", &self.lookups.bytes),
            Contents::of("parser.our_ends", &self.our_words.ends),
            Contents::of("parser.our_bytes", &self.our_words.bytes),
        ]
    }

    fn add_states(&mut self, source: &Source) -> Result<(), ModelError> {
        if source.states.len() > usize::from(u16::MAX) {
            let found = source.states.len().to_string();
            return Err(ModelError::content("the states", "at most 65535", found));
        }
        for state in &source.states {
            self.states.push(state);
        }
        for tag in &source.tags {
            self.tag_states.push(state_of(source, tag, "a tag")?);
        }
        state_of(source, GOAL, "the goal")?;
        state_of(source, BOUNDARY_TAG, "the boundary's tag")?;
        Ok(())
    }

    fn add_rules(&mut self, source: &Source) -> Result<(), ModelError> {
        let state = |number: u32| match (number as usize) < source.states.len() {
            true => Ok(number as u16),
            false => Err(ModelError::content("a rule", "the number of a state", number.to_string())),
        };
        for rule in &source.binary_rules {
            self.binary_states.extend([state(rule.parent)?, state(rule.left)?, state(rule.right)?]);
            self.binary_scores.push(rule.score);
        }
        for rule in &source.unary_rules {
            self.unary_states.extend([state(rule.parent)?, state(rule.child)?]);
            self.unary_scores.push(rule.score);
        }
        for UnaryRule { parent, child, score } in unaries::close(&source.unary_rules, source.states.len()) {
            self.chain_states.extend([state(parent)?, state(child)?]);
            self.chain_scores.push(score);
        }
        Ok(())
    }

    fn add_lexicon(&mut self, source: &Source) -> Result<(), ModelError> {
        let (words, tag_seen, seen) = group("the counts of words", source, &source.seen)?;
        let (signatures, tag_unseen, unseen) = group("the counts of signatures", source, &source.unseen)?;
        self.words = words;
        self.signatures = signatures;
        (self.tag_seen, self.tag_unseen) = (tag_seen, tag_unseen);
        self.totals = vec![seen, unseen];
        Ok(())
    }

    fn add_spellings(&mut self, source: &Source) -> Result<(), ModelError> {
        let pairs: BTreeMap<&str, &str> =
            source.spellings.iter().map(|(spelling, lookup)| (spelling.as_str(), lookup.as_str())).collect();
        if pairs.len() != source.spellings.len() {
            let found = "duplicate spellings".to_owned();
            return Err(ModelError::content("the spellings", "different spellings", found));
        }
        for (spelling, lookup) in pairs {
            self.spellings.push(spelling);
            self.lookups.push(lookup);
        }
        for word in &source.our_words {
            self.our_words.push(word);
        }
        Ok(())
    }
}

/// Compiles a model into its own table file.
///
/// # Errors
/// Returns the errors of [`Compiled::new`].
pub fn compile(source: &Source) -> Result<Vec<u8>, ModelError> {
    Ok(write(KIND, &Compiled::new(source)?.contents()))
}

fn state_of(source: &Source, name: &str, place: &'static str) -> Result<u16, ModelError> {
    let state = source.states.iter().position(|state| state == name);
    let state = state.and_then(|state| u16::try_from(state).ok());
    state.ok_or_else(|| ModelError::content(place, "the name of a state", format!("{name:?}")))
}

/// Groups the counts by word in the words' order, and returns them with the counts of tags and the total
/// count.
fn group(
    place: &'static str,
    source: &Source,
    counts: &[Count],
) -> Result<(Counts, Vec<f64>, f64), ModelError> {
    let mut words: BTreeMap<&str, (f64, BTreeMap<u16, f64>)> = BTreeMap::new();
    let mut tags = vec![0.0; source.tags.len()];
    let mut all = 0.0;
    let text = |word: u32| {
        let found = || ModelError::content(place, "the number of a word", word.to_string());
        source.words.get(word as usize).map(String::as_str).ok_or_else(found)
    };
    let wrong_tag = |tag: u32| ModelError::content(place, "the number of a tag", tag.to_string());
    for &Count { word, tag, count } in counts {
        if let Some(tag) = tag.filter(|&tag| tag as usize >= tags.len()) {
            return Err(wrong_tag(tag));
        }
        match (word, tag) {
            (None, None) => all = count,
            (None, Some(tag)) => tags[tag as usize] = count,
            (Some(word), None) => words.entry(text(word)?).or_default().0 = count,
            (Some(word), Some(tag)) => {
                words.entry(text(word)?).or_default().1.insert(tag as u16, count);
            }
        }
    }
    let mut grouped = Counts::default();
    for (word, (total, tag_counts)) in words {
        if total <= 0.0 || tag_counts.is_empty() {
            let found = format!("{total} in all, {} tags for {word:?}", tag_counts.len());
            return Err(ModelError::content(place, "a count in all and at least one tag", found));
        }
        grouped.strings.push(word);
        grouped.totals.push(total);
        grouped.tags.extend(tag_counts.keys());
        grouped.tag_counts.extend(tag_counts.values());
        grouped.tag_ends.push(grouped.tags.len() as u32);
    }
    Ok((grouped, tags, all))
}
