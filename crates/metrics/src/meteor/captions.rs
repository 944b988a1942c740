//! Captions as numbered units: their words, and the phrases of the paraphrase table in them.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::FxHashMap;

use super::error::{MeteorError, TableError};
use super::intern::Words;
use super::normalise::{is_plain, normalise};
use super::tables::{FUNCTION, Tables};

/// Captions that one task handles at a time.
const CHUNK: usize = 1024;
/// A word that no table holds.
const UNKNOWN: u32 = u32::MAX;

/// What the alignment needs to know about a distinct word.
pub(super) struct Word {
    /// METEOR tells words apart by this 32-bit hash, so words that collide match exactly.
    pub key: i32,
    /// The same hash of the stem.
    pub stem: i32,
    pub is_function: bool,
    /// The phrase that is this word alone, 0 if there is none.
    pub node: u32,
    /// Sorted numbers of the synsets of the word and its base forms.
    pub synsets: Vec<u32>,
    table_word: u32,
}

/// A unit and where it occurs in a caption.
#[derive(Clone, Copy)]
pub(super) struct Occurrence {
    pub start: u32,
    pub len: u32,
    /// A distinct word, or (counted on from the words) a distinct phrase of several words.
    pub unit: u32,
}

/// Captions with their vocabulary. Units are numbered words first, then phrases.
#[derive(Default)]
pub(super) struct Captions {
    pub vocabulary: Vec<Word>,
    /// Trie nodes of the distinct phrases of several words.
    pub phrases: Vec<u32>,
    texts: Words,
    words: Vec<u32>,
    keys: Vec<i32>,
    word_starts: Vec<u32>,
    occurrences: Vec<Occurrence>,
    occurrence_starts: Vec<u32>,
}

impl Captions {
    /// Split captions into words and find their phrases.
    pub(super) fn read<B, S>(tables: &Tables<B>, normalised: bool, texts: &[S]) -> Result<Self, MeteorError>
    where
        B: AsRef<[u8]> + Sync,
        S: AsRef<str> + Sync,
    {
        let chunks = texts.par_chunks(CHUNK).map(|texts| Chunk::read(tables, normalised, texts));
        let chunks = chunks.collect::<Result<Vec<_>, TableError>>()?;
        let mut captions = Self::merge(&chunks)?;
        let vocabulary = (0..captions.texts.len() as u32).into_par_iter().with_min_len(64);
        let vocabulary = vocabulary.map(|word| Word::look_up(tables, captions.texts.text(word)));
        captions.vocabulary = vocabulary.collect::<Result<_, TableError>>()?;
        captions.keys =
            captions.words.par_iter().map(|&word| captions.vocabulary[word as usize].key).collect();
        captions.find_phrases(tables)?;
        Ok(captions)
    }

    fn merge(chunks: &[Chunk]) -> Result<Self, MeteorError> {
        let too_large = || MeteorError::TooLarge { what: "words", limit: u32::MAX };
        let total = chunks.iter().map(|chunk| chunk.words.len()).sum();
        u32::try_from(total).map_err(|_| too_large())?;
        let mut captions = Self { word_starts: vec![0], words: Vec::with_capacity(total), ..Self::default() };
        for chunk in chunks {
            let global: Vec<u32> = (0..chunk.texts.len() as u32)
                .map(|word| captions.texts.intern(chunk.texts.text(word)))
                .collect();
            let start = captions.words.len() as u32;
            captions.words.extend(chunk.words.iter().map(|&word| global[word as usize]));
            captions.word_starts.extend(chunk.ends.iter().map(|end| start + end));
        }
        Ok(captions)
    }

    fn find_phrases<B: AsRef<[u8]> + Sync>(&mut self, tables: &Tables<B>) -> Result<(), MeteorError> {
        let ranges = self.word_starts.par_windows(2).map(|pair| pair[0] as usize..pair[1] as usize);
        let ranges: Vec<Range<usize>> = ranges.collect();
        let found =
            ranges.par_chunks(CHUNK).map_init(Steps::new, |steps, ranges| self.walk(tables, steps, ranges));
        let found = found.collect::<Result<Vec<_>, TableError>>()?;
        let words = self.vocabulary.len() as u32;
        let mut units = FxHashMap::default();
        self.occurrence_starts = vec![0];
        for (mut occurrences, ends) in found {
            for occurrence in occurrences.iter_mut().filter(|occurrence| occurrence.len > 1) {
                let next = words + self.phrases.len() as u32;
                let unit = *units.entry(occurrence.unit).or_insert(next);
                if unit == next {
                    self.phrases.push(occurrence.unit);
                }
                occurrence.unit = unit;
            }
            let start = self.occurrences.len() as u32;
            self.occurrences.extend(occurrences);
            self.occurrence_starts.extend(ends.iter().map(|end| start + end));
        }
        let limit = MeteorError::TooLarge { what: "phrases", limit: u32::MAX };
        u32::try_from(self.occurrences.len()).map(|_| ()).map_err(|_| limit)
    }

    /// Occurrences of some captions; the unit of a phrase is still its trie node.
    fn walk<B: AsRef<[u8]>>(
        &self,
        tables: &Tables<B>,
        steps: &mut Steps,
        captions: &[Range<usize>],
    ) -> Result<(Vec<Occurrence>, Vec<u32>), TableError> {
        let (mut occurrences, mut ends) = (Vec::new(), Vec::with_capacity(captions.len()));
        for caption in captions {
            let words = &self.words[caption.clone()];
            for (start, &word) in words.iter().enumerate() {
                occurrences.push(Occurrence { start: start as u32, len: 1, unit: word });
                let mut node = self.vocabulary[word as usize].node;
                for (len, &next) in (2..).zip(&words[start + 1..]) {
                    if node == 0 {
                        break;
                    }
                    let is_phrase;
                    (node, is_phrase) =
                        steps.next(tables, node, self.vocabulary[next as usize].table_word)?;
                    if is_phrase {
                        occurrences.push(Occurrence { start: start as u32, len, unit: node });
                    }
                }
            }
            ends.push(occurrences.len() as u32);
        }
        Ok((occurrences, ends))
    }

    /// Number of distinct words and phrases.
    pub(super) fn units(&self) -> usize {
        self.vocabulary.len() + self.phrases.len()
    }

    /// The trie node of a unit, 0 if there is none.
    pub(super) fn node(&self, unit: u32) -> u32 {
        match self.vocabulary.get(unit as usize) {
            Some(word) => word.node,
            None => self.phrases[unit as usize - self.vocabulary.len()],
        }
    }

    fn words_of(&self, caption: usize) -> Range<usize> {
        self.word_starts[caption] as usize..self.word_starts[caption + 1] as usize
    }

    /// Whether each word of a caption is a function word.
    pub(super) fn function_words(&self, caption: usize) -> impl ExactSizeIterator<Item = bool> + '_ {
        self.words[self.words_of(caption)].iter().map(|&word| self.vocabulary[word as usize].is_function)
    }

    /// Texts of the words of a caption.
    pub(super) fn texts(&self, caption: usize) -> impl Iterator<Item = &str> {
        self.words[self.words_of(caption)].iter().map(|&word| self.texts.text(word))
    }

    /// Keys of the words of a caption.
    pub(super) fn keys(&self, caption: usize) -> &[i32] {
        &self.keys[self.words_of(caption)]
    }

    /// Units of a caption, by start, then by length.
    pub(super) fn occurrences(&self, caption: usize) -> &[Occurrence] {
        let range = self.occurrence_starts[caption] as usize..self.occurrence_starts[caption + 1] as usize;
        &self.occurrences[range]
    }
}

/// Recent steps in the trie. Captions repeat each other's word pairs, and a step in a mapped file
/// of many megabytes is a dozen cache misses.
struct Steps {
    slots: Vec<(u64, u32, bool)>,
}

impl Steps {
    const SLOTS: usize = 1 << 13;

    fn new() -> Self {
        Self { slots: vec![(0, 0, false); Self::SLOTS] }
    }

    /// The node after `node` by a word, 0 if there is none, and whether it is a phrase.
    fn next<B: AsRef<[u8]>>(
        &mut self,
        tables: &Tables<B>,
        node: u32,
        word: u32,
    ) -> Result<(u32, bool), TableError> {
        let key = u64::from(node) << 32 | u64::from(word);
        let slot = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::SLOTS.trailing_zeros());
        let known = &mut self.slots[slot as usize];
        // No key is 0: the root is never stepped from.
        if known.0 != key {
            let child = tables.child(node, word)?;
            *known = (key, child, child != 0 && tables.is_phrase(child)?);
        }
        Ok((known.1, known.2))
    }
}

/// Words of some captions, numbered for themselves.
struct Chunk {
    texts: Words,
    words: Vec<u32>,
    ends: Vec<u32>,
}

impl Chunk {
    fn read<B: AsRef<[u8]>, S: AsRef<str>>(
        tables: &Tables<B>,
        normalised: bool,
        texts: &[S],
    ) -> Result<Self, TableError> {
        let mut chunk =
            Self { texts: Words::default(), words: Vec::new(), ends: Vec::with_capacity(texts.len()) };
        for text in texts {
            let text = prepare_text(tables, normalised, text.as_ref())?;
            let words = text.split_ascii_whitespace().map(|word| chunk.texts.intern(word));
            chunk.words.extend(words);
            chunk.ends.push(chunk.words.len() as u32);
        }
        Ok(chunk)
    }
}

fn prepare_text<'a, B: AsRef<[u8]>>(
    tables: &Tables<B>,
    normalised: bool,
    text: &'a str,
) -> Result<Cow<'a, str>, TableError> {
    if !normalised {
        return Ok(Cow::Borrowed(text));
    }
    if !is_plain(text) {
        return normalise(text, tables).map(Cow::Owned);
    }
    let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
    Ok(if lower { Cow::Borrowed(text) } else { Cow::Owned(text.to_ascii_lowercase()) })
}

/// Java's `String.hashCode`: a polynomial in 31 over UTF-16 units.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

impl Word {
    fn look_up<B: AsRef<[u8]>>(tables: &Tables<B>, text: &str) -> Result<Self, TableError> {
        let table_word = tables.word(text)?;
        let mut synsets = Vec::new();
        tables.synsets(text, table_word, &mut synsets)?;
        synsets.sort_unstable();
        synsets.dedup();
        Ok(Self {
            key: java_hash(text),
            stem: java_hash(&Stemmer::create(Algorithm::English).stem(text)),
            is_function: tables.flags_of(&text.to_lowercase())? & FUNCTION != 0,
            node: table_word.map_or(Ok(0), |word| tables.first_node(word))?,
            synsets,
            table_word: table_word.unwrap_or(UNKNOWN),
        })
    }
}
