//! Scores of words with each tag.
//!
//! Words are looked up in American spelling, case-sensitively. A frequent word (seen more than 100 times) has
//! only the tags it was seen with. A rarer word may have any tag, and its counts are smoothed with those of
//! all rare words. An unseen word is scored by the signature of its shape, and may have any open-class tag.

use capeval_tables::{Section, TableError, TableFile};
use pxfm::f_log;

use crate::signature::signature;
use crate::spelling;

/// Words seen more often have only the tags they were seen with, and are not smoothed.
const FREQUENT: f64 = 100.0;
/// Minimum number of rare words of an open-class tag, which unseen words may have.
const OPEN_CLASS: f64 = 50.0;
/// Smoothing weight of all rare words, relative to a word's own counts and to a signature's counts.
const WORD_SMOOTHING: f64 = 0.2;
const SIGNATURE_SMOOTHING: f64 = 1.0;
/// Tags with lower scores are impossible.
const LOWEST: f64 = -100.0;
/// Word under which the model keeps the open-class tags.
///
/// In a sentence, it is treated as a rarer word without counts.
const UNKNOWN_WORD: &str = "UNK";

/// Class of a word by the number of its possible tags, which determines the density of its part of the chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WordClass {
    Unknown,
    Frequent,
    Rarer,
}

/// A tag, as a state of the grammar, and the score of a word with it.
pub(crate) type TagScore = (u16, f32);

/// Sorted strings of a table file.
#[derive(Clone, Copy, Debug)]
struct Strings {
    ends: Section<u32>,
    bytes: Section<u8>,
}

impl Strings {
    fn open<B: AsRef<[u8]>>(
        file: &TableFile<B>,
        ends: &'static str,
        bytes: &'static str,
    ) -> Result<Self, TableError> {
        Ok(Self { ends: file.section(ends)?, bytes: file.section(bytes)? })
    }

    fn get<'a, B: AsRef<[u8]>>(&self, file: &'a TableFile<B>, entry: usize) -> Result<&'a [u8], TableError> {
        let start = if entry == 0 { 0 } else { file.number(self.ends, entry - 1)? };
        file.range(self.bytes, start, file.number(self.ends, entry)?)
    }

    fn find<B: AsRef<[u8]>>(&self, file: &TableFile<B>, text: &str) -> Result<Option<usize>, TableError> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(file, middle)?.cmp(text.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }
}

/// Sections of strings with counts.
#[derive(Clone, Copy, Debug)]
struct Counts {
    strings: Strings,
    totals: Section<f64>,
    tag_ends: Section<u32>,
    tags: Section<u16>,
    counts: Section<f64>,
}

/// The counts of one word or signature.
#[derive(Clone, Copy, Debug, Default)]
struct Entry<'a> {
    total: f64,
    tags: &'a [u16],
    counts: &'a [f64],
}

impl Entry<'_> {
    fn count(&self, tag: usize) -> f64 {
        let place = self.tags.binary_search(&(tag as u16)).ok();
        place.and_then(|place| self.counts.get(place)).copied().unwrap_or(0.0)
    }
}

impl Counts {
    fn find<'a, B: AsRef<[u8]>>(
        &self,
        file: &'a TableFile<B>,
        text: &str,
    ) -> Result<Option<Entry<'a>>, TableError> {
        let Some(entry) = self.strings.find(file, text)? else { return Ok(None) };
        let start = if entry == 0 { 0 } else { file.number(self.tag_ends, entry - 1)? };
        let end = file.number(self.tag_ends, entry)?;
        Ok(Some(Entry {
            total: file.number(self.totals, entry)?,
            tags: file.range(self.tags, start, end)?,
            counts: file.range(self.counts, start, end)?,
        }))
    }
}

/// The lexicon of a model. Its words stay in the table file.
#[derive(Debug)]
pub(crate) struct Lexicon {
    words: Counts,
    signatures: Counts,
    spellings: Strings,
    lookups: Strings,
    our_words: Strings,
    /// State of each tag, and its counts among all words and among rare words.
    states: Vec<u16>,
    seen: Vec<f64>,
    unseen: Vec<f64>,
    all_seen: f64,
    all_unseen: f64,
    open_class: Vec<u16>,
}

impl Lexicon {
    /// Opens the lexicon. `new_state` maps the states of the file to those of the chart.
    pub(crate) fn open<B: AsRef<[u8]>>(file: &TableFile<B>, new_state: &[u16]) -> Result<Self, TableError> {
        let tag_states = file.section::<u16>("parser.tag_states")?;
        let states = file.numbers(tag_states)?.iter().enumerate().map(|(tag, &state)| {
            let state = new_state.get(usize::from(state)).copied();
            state.ok_or_else(|| file.out_of_bounds(tag_states, tag))
        });
        let states = states.collect::<Result<Vec<u16>, _>>()?;
        let (seen_section, unseen_section) =
            (file.section("parser.tag_seen")?, file.section("parser.tag_unseen")?);
        let seen: Vec<f64> = file.numbers(seen_section)?.to_vec();
        let unseen: Vec<f64> = file.numbers(unseen_section)?.to_vec();
        if seen.len() != states.len() {
            return Err(file.out_of_bounds(seen_section, states.len()));
        }
        if unseen.len() != states.len() {
            return Err(file.out_of_bounds(unseen_section, states.len()));
        }
        let is_open = |&tag: &usize| seen[tag] > 0.0 && unseen[tag] > OPEN_CLASS;
        let open_class = (0..states.len()).filter(is_open).map(|tag| tag as u16).collect();
        let totals = file.section("parser.totals")?;
        Ok(Self {
            words: word_sections(file)?,
            signatures: signature_sections(file)?,
            spellings: Strings::open(file, "parser.spell_ends", "parser.spell_bytes")?,
            lookups: Strings::open(file, "parser.lookup_ends", "parser.lookup_bytes")?,
            our_words: Strings::open(file, "parser.our_ends", "parser.our_bytes")?,
            all_seen: file.number(totals, 0)?,
            all_unseen: file.number(totals, 1)?,
            states,
            seen,
            unseen,
            open_class,
        })
    }

    pub(crate) fn class<B: AsRef<[u8]>>(
        &self,
        file: &TableFile<B>,
        word: &str,
    ) -> Result<WordClass, TableError> {
        let word = self.lookup(file, word)?;
        Ok(match self.words.find(file, &word)? {
            Some(entry) if entry.total > FREQUENT => WordClass::Frequent,
            Some(_) => WordClass::Rarer,
            None if word == UNKNOWN_WORD => WordClass::Rarer,
            None => WordClass::Unknown,
        })
    }

    /// Returns the spelling under which a word is looked up.
    fn lookup<B: AsRef<[u8]>>(&self, file: &TableFile<B>, word: &str) -> Result<String, TableError> {
        if spelling::is_too_short(word) {
            return Ok(word.to_owned());
        }
        match self.spellings.find(file, word)? {
            Some(entry) => Ok(String::from_utf8_lossy(self.lookups.get(file, entry)?).into_owned()),
            None => {
                let mut kept = Ok(false);
                let respelled = spelling::respell(word, || {
                    kept = self.contains_our_word(file, word);
                    kept.clone().unwrap_or(true)
                });
                kept.map(|_| respelled)
            }
        }
    }

    fn contains_our_word<B: AsRef<[u8]>>(&self, file: &TableFile<B>, word: &str) -> Result<bool, TableError> {
        for entry in 0..self.our_words.ends.len() {
            let our_word = self.our_words.get(file, entry)?;
            if !our_word.is_empty() && word.as_bytes().windows(our_word.len()).any(|part| part == our_word) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the possible tags of a word with their scores.
    ///
    /// `first` marks the first word of a sentence, whose capital letter is less informative.
    pub(crate) fn tag_scores<B: AsRef<[u8]>>(
        &self,
        file: &TableFile<B>,
        word: &str,
        first: bool,
    ) -> Result<Vec<TagScore>, TableError> {
        let word = self.lookup(file, word)?;
        let known = self.words.find(file, &word)?;
        let every = || (0..self.states.len() as u16).filter(|&tag| self.seen[usize::from(tag)] > 0.0);
        let tags: Vec<u16> = match known {
            Some(entry) if entry.total > FREQUENT => entry.tags.to_vec(),
            Some(_) => every().collect(),
            None if word == UNKNOWN_WORD => every().collect(),
            None => self.open_class.clone(),
        };
        self.score_all(file, &word, known, first, &tags)
    }

    /// Returns the scores with every tag, for a sentence without a parse with likely tags.
    ///
    /// Impossible tags have the score `impossible`.
    pub(crate) fn all_tag_scores<B: AsRef<[u8]>>(
        &self,
        file: &TableFile<B>,
        word: &str,
        first: bool,
        impossible: f32,
    ) -> Result<Vec<TagScore>, TableError> {
        let word = self.lookup(file, word)?;
        let tags: Vec<u16> = (0..self.states.len() as u16).collect();
        let known = self.words.find(file, &word)?;
        let mut scores: Vec<TagScore> = self.states.iter().map(|&state| (state, impossible)).collect();
        for (state, score) in self.score_all(file, &word, known, first, &tags)? {
            if let Some(entry) = scores.iter_mut().find(|(other, _)| *other == state) {
                entry.1 = score;
            }
        }
        Ok(scores)
    }

    fn score_all<B: AsRef<[u8]>>(
        &self,
        file: &TableFile<B>,
        word: &str,
        known: Option<Entry<'_>>,
        first: bool,
        tags: &[u16],
    ) -> Result<Vec<TagScore>, TableError> {
        let shape = match known {
            Some(_) => Entry::default(),
            None => self.signatures.find(file, &signature(word, first))?.unwrap_or_default(),
        };
        let mut scores = Vec::with_capacity(tags.len());
        for &tag in tags {
            let tag = usize::from(tag);
            let Some(&state) = self.states.get(tag) else {
                return Err(file.out_of_bounds(self.words.tags, tag));
            };
            let score = match known {
                Some(entry) => self.known_score(entry, tag),
                None => self.unknown_score(shape, tag),
            };
            if score > LOWEST {
                scores.push((state, score as f32));
            }
        }
        Ok(scores)
    }

    /// The operations are in the order of the reference implementation, so that results are bit-identical.
    fn known_score(&self, word: Entry<'_>, tag: usize) -> f64 {
        let count = word.count(tag);
        let tag_given_word = if word.total > FREQUENT && count > 0.0 {
            count / word.total
        } else {
            let tag_given_rare = self.unseen[tag] / self.all_unseen;
            (count + WORD_SMOOTHING * tag_given_rare) / (word.total + WORD_SMOOTHING)
        };
        let (tag_share, word_share) = (self.seen[tag] / self.all_seen, word.total / self.all_seen);
        f_log(tag_given_word * word_share / tag_share)
    }

    fn unknown_score(&self, shape: Entry<'_>, tag: usize) -> f64 {
        let tag_given_rare = self.unseen[tag] / self.all_unseen;
        let tag_given_shape =
            (shape.count(tag) + SIGNATURE_SMOOTHING * tag_given_rare) / (shape.total + SIGNATURE_SMOOTHING);
        let (tag_share, word_share) = (self.seen[tag] / self.all_seen, 1.0 / self.all_seen);
        f_log(tag_given_shape * word_share / tag_share)
    }
}

fn word_sections<B: AsRef<[u8]>>(file: &TableFile<B>) -> Result<Counts, TableError> {
    Ok(Counts {
        strings: Strings::open(file, "parser.word_ends", "parser.word_bytes")?,
        totals: file.section("parser.word_totals")?,
        tag_ends: file.section("parser.word_tag_ends")?,
        tags: file.section("parser.word_tags")?,
        counts: file.section("parser.word_counts")?,
    })
}

fn signature_sections<B: AsRef<[u8]>>(file: &TableFile<B>) -> Result<Counts, TableError> {
    Ok(Counts {
        strings: Strings::open(file, "parser.sign_ends", "parser.sign_bytes")?,
        totals: file.section("parser.sign_totals")?,
        tag_ends: file.section("parser.sign_tag_ends")?,
        tags: file.section("parser.sign_tags")?,
        counts: file.section("parser.sign_counts")?,
    })
}
