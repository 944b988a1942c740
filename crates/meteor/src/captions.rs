//! Captions as numbered units: their words, and the phrases of the paraphrase table in them.

use std::ops::Range;

use capeval_tables::TableError;
use capeval_tokens::Vocabulary;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::error::MeteorError;
use crate::language::Language;
use crate::options::Options;
use crate::tables::{FUNCTION, Tables};
use crate::words::{Source, read_words};

/// Number of captions per task.
const CHUNK: usize = 1024;
/// A word that is not in the tables.
const UNKNOWN: u32 = u32::MAX;

/// The data of a distinct word for alignment.
pub(crate) struct Word {
    /// The 32-bit hash by which METEOR compares words. Words with the same hash match exactly.
    pub key: i32,
    /// The same hash of the stem.
    pub stem: i32,
    pub is_function: bool,
    /// The phrase that consists of this word, or 0 for none.
    pub node: u32,
    /// Sorted synset numbers of the word and its base forms.
    pub synsets: Vec<u32>,
    table_word: u32,
}

/// A unit and its position in a caption.
#[derive(Clone, Copy)]
pub(crate) struct Occurrence {
    pub start: u32,
    pub len: u32,
    /// A distinct word, or a distinct phrase of several words. Phrase numbers follow the word numbers.
    pub unit: u32,
}

/// Captions with their vocabulary. Units are numbered words first, then phrases.
#[derive(Default)]
pub(crate) struct Captions {
    pub vocabulary: Vec<Word>,
    /// Trie nodes of the distinct phrases of several words.
    pub phrases: Vec<u32>,
    texts: Vocabulary,
    /// Token row of each caption.
    rows: Vec<usize>,
    words: Vec<u32>,
    keys: Vec<i32>,
    functions: Vec<bool>,
    word_starts: Vec<u32>,
    /// Units of the captions, `CHUNK` captions per part.
    parts: Vec<Part>,
}

/// The units of some captions, and the end offset of each caption.
struct Part {
    occurrences: Vec<Occurrence>,
    ends: Vec<u32>,
}

impl Captions {
    /// Splits tokenized captions into METEOR's words and finds their phrases.
    pub(crate) fn read<B: AsRef<[u8]> + Sync>(
        tables: &Tables<B>,
        options: &Options,
        source: Source<'_>,
    ) -> Result<Self, MeteorError> {
        let read = read_words(tables, options.preparation(), source)?;
        let vocabulary = (0..read.texts.len() as u32).into_par_iter().with_min_len(64);
        let vocabulary =
            vocabulary.map(|word| Word::look_up(tables, options.language, read.texts.word(word)));
        let vocabulary = vocabulary.collect::<Result<Vec<_>, TableError>>()?;
        let of_word = |&word: &u32| (vocabulary[word as usize].key, vocabulary[word as usize].is_function);
        let (keys, functions) = read.words.par_iter().map(of_word).unzip();
        let mut captions = Self {
            vocabulary,
            texts: read.texts,
            rows: read.rows,
            words: read.words,
            keys,
            functions,
            word_starts: read.starts,
            ..Self::default()
        };
        captions.find_phrases(tables)?;
        Ok(captions)
    }

    fn find_phrases<B: AsRef<[u8]> + Sync>(&mut self, tables: &Tables<B>) -> Result<(), MeteorError> {
        let begins: Vec<Begin> =
            self.vocabulary.iter().map(|word| Begin { node: word.node, word: word.table_word }).collect();
        let ranges = self.word_starts.par_windows(2).map(|pair| pair[0] as usize..pair[1] as usize);
        let ranges: Vec<Range<usize>> = ranges.collect();
        let found = ranges
            .par_chunks(CHUNK)
            .map_init(|| Walk::new(tables, &begins), |walk, ranges| walk.all(&self.words, ranges));
        let found = found.collect::<Result<Vec<_>, MeteorError>>()?;
        let words = self.vocabulary.len() as u32;
        let mut units = FxHashMap::default();
        for (mut part, phrases) in found {
            for place in phrases {
                let unit = &mut part.occurrences[place as usize].unit;
                let next = words + self.phrases.len() as u32;
                let known = *units.entry(*unit).or_insert(next);
                if known == next {
                    self.phrases.push(*unit);
                }
                *unit = known;
            }
            self.parts.push(part);
        }
        Ok(())
    }

    /// Returns the number of distinct words and phrases.
    pub(crate) fn units(&self) -> usize {
        self.vocabulary.len() + self.phrases.len()
    }

    /// Returns the trie node of a unit, or 0 for none.
    pub(crate) fn node(&self, unit: u32) -> u32 {
        match self.vocabulary.get(unit as usize) {
            Some(word) => word.node,
            None => self.phrases[unit as usize - self.vocabulary.len()],
        }
    }

    fn words_of(&self, caption: usize) -> Range<usize> {
        self.word_starts[caption] as usize..self.word_starts[caption + 1] as usize
    }

    /// Returns whether each word of a caption is a function word.
    pub(crate) fn function_words(&self, caption: usize) -> &[bool] {
        &self.functions[self.words_of(caption)]
    }

    /// Returns the token row of each caption.
    pub(crate) fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Iterates over the texts of a caption's words.
    pub(crate) fn texts(&self, caption: usize) -> impl Iterator<Item = &str> {
        self.words[self.words_of(caption)].iter().map(|&word| self.texts.word(word))
    }

    /// Returns the keys of a caption's words.
    pub(crate) fn keys(&self, caption: usize) -> &[i32] {
        &self.keys[self.words_of(caption)]
    }

    /// Returns the units of a caption, sorted by start, then by length.
    pub(crate) fn occurrences(&self, caption: usize) -> &[Occurrence] {
        let (part, place) = (&self.parts[caption / CHUNK], caption % CHUNK);
        let start = if place == 0 { 0 } else { part.ends[place - 1] };
        &part.occurrences[start as usize..part.ends[place] as usize]
    }
}

/// The phrase that consists of a word (0 for none), and the word's number in the tables.
struct Begin {
    node: u32,
    word: u32,
}

/// Finds the phrases of captions.
struct Walk<'a, B> {
    tables: &'a Tables<B>,
    begins: &'a [Begin],
    /// Cache of recent steps: key (node and word) and result of [`Walk::step`].
    ///
    /// Captions share many word pairs, and a step takes a dozen reads in a mapped file of many megabytes.
    known: Vec<(u64, u32, bool)>,
    /// First node of each word of a caption, or 0 if no longer phrase starts with the word.
    nodes: Vec<u32>,
}

impl<'a, B: AsRef<[u8]>> Walk<'a, B> {
    const KNOWN: usize = 1 << 14;

    fn new(tables: &'a Tables<B>, begins: &'a [Begin]) -> Self {
        Self { tables, begins, known: vec![(0, 0, false); Self::KNOWN], nodes: Vec::new() }
    }

    /// Returns the units of some captions, with trie nodes in place of phrase units, and the positions of
    /// these.
    fn all(&mut self, words: &[u32], captions: &[Range<usize>]) -> Result<(Part, Vec<u32>), MeteorError> {
        let mut part = Part { occurrences: Vec::new(), ends: Vec::with_capacity(captions.len()) };
        let mut places = Vec::new();
        for caption in captions {
            self.one(&words[caption.clone()], &mut part.occurrences, &mut places)?;
            let end = u32::try_from(part.occurrences.len());
            part.ends.push(end.map_err(|_| MeteorError::TooLarge { what: "phrases", limit: u32::MAX })?);
        }
        Ok((part, places))
    }

    fn one(
        &mut self,
        words: &[u32],
        occurrences: &mut Vec<Occurrence>,
        places: &mut Vec<u32>,
    ) -> Result<(), TableError> {
        // All first steps of a caption in one loop, so that the processor overlaps the memory accesses.
        self.nodes.clear();
        for pair in words.windows(2) {
            let Begin { node, .. } = self.begins[pair[0] as usize];
            let may_step = self.tables.may_step(node, self.begins[pair[1] as usize].word)?;
            self.nodes.push(if may_step { node } else { 0 });
        }
        self.nodes.push(0);
        for (start, &unit) in words.iter().enumerate() {
            occurrences.push(Occurrence { start: start as u32, len: 1, unit });
            let mut node = self.nodes[start];
            for (len, &next) in (2..).zip(&words[start + 1..]) {
                if node == 0 {
                    break;
                }
                let is_phrase;
                (node, is_phrase) = self.step(node, self.begins[next as usize].word)?;
                if is_phrase {
                    places.push(occurrences.len() as u32);
                    occurrences.push(Occurrence { start: start as u32, len, unit: node });
                }
            }
        }
        Ok(())
    }

    /// Returns the node that extends `node` by a word (0 for none), and whether it is a phrase.
    fn step(&mut self, node: u32, word: u32) -> Result<(u32, bool), TableError> {
        let key = u64::from(node) << 32 | u64::from(word);
        let slot = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::KNOWN.trailing_zeros());
        let known = &mut self.known[slot as usize];
        // No key is 0, because no step starts at the root.
        if known.0 != key {
            let child = self.tables.child(node, word)?;
            *known = (key, child, child != 0 && self.tables.is_phrase(child)?);
        }
        Ok((known.1, known.2))
    }
}

/// Computes Java's `String.hashCode`, a polynomial in 31 over UTF-16 units.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

impl Word {
    fn look_up<B: AsRef<[u8]>>(
        tables: &Tables<B>,
        language: Language,
        text: &str,
    ) -> Result<Self, TableError> {
        let table_word = tables.word(text)?;
        let mut synsets = Vec::new();
        tables.synsets(text, table_word, &mut synsets)?;
        synsets.sort_unstable();
        synsets.dedup();
        Ok(Self {
            key: java_hash(text),
            stem: java_hash(&language.stem(text)),
            is_function: tables.flags_of(&text.to_lowercase())? & FUNCTION != 0,
            node: table_word.map_or(Ok(0), |word| tables.first_node(word))?,
            synsets,
            table_word: table_word.unwrap_or(UNKNOWN),
        })
    }
}
