//! Rows of words as numbers.

use capeval_ptb::is_python_space;
use hashbrown::HashMap;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use crate::tokenization::Tokenization;
use crate::vocabulary::Vocabulary;

/// The most captions of one parallel task: enough that merging vocabularies costs little, and few
/// enough that all threads finish at about the same time.
pub(crate) const CHUNK: usize = 8192;
/// The fewest captions of one parallel task: fewer cost more to start than they save.
const SMALL_CHUNK: usize = 128;

/// Rows of words in one block of memory.
///
/// The reference splits a tokenised caption on Python's white space for BLEU and CIDEr-D, and on single
/// spaces for ROUGE-L. The two agree unless a token holds other white space ("25 1/2" with a
/// no-break space) or is empty, so only rows that differ are kept twice.
#[derive(Clone)]
pub struct TokenRows {
    words: Vec<u32>,
    ends: Vec<usize>,
    spaced: HashMap<u32, Box<[u32]>, FxBuildHasher>,
}

impl TokenRows {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            words: Vec::with_capacity(rows * 12),
            ends: Vec::with_capacity(rows),
            spaced: HashMap::default(),
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The words of all rows, one row after the other, split on any white space.
    pub fn all_words(&self) -> &[u32] {
        &self.words
    }

    /// Where the words of a row stand in [`Self::all_words`].
    #[inline]
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        start..self.ends[row]
    }

    /// The words of a row, split on any white space.
    #[inline]
    pub fn words(&self, row: usize) -> &[u32] {
        &self.words[self.range(row)]
    }

    /// The words of a row, split on single spaces (an empty caption is one empty word).
    #[inline]
    pub fn spaced(&self, row: usize) -> &[u32] {
        if !self.spaced.is_empty()
            && let Some(words) = self.spaced.get(&(row as u32))
        {
            return words;
        }
        self.words(row)
    }

    fn push(
        &mut self,
        split: impl FnOnce(&mut dyn FnMut(&str)),
        scratch: &mut Vec<u32>,
        mut id: impl FnMut(&str) -> u32,
    ) {
        let start = self.words.len();
        let mut differs = false;
        let mut tokens = 0;
        scratch.clear();
        split(&mut |token| {
            tokens += 1;
            let plain = !token.is_empty() && token.bytes().all(|b| b > b' ' && b < 0x80);
            if plain || !(token.is_empty() || token.contains(is_python_space)) {
                let word = id(token);
                self.words.push(word);
                scratch.push(word);
            } else {
                differs = true;
                scratch.push(id(token));
                let parts = token.split(is_python_space).filter(|part| !part.is_empty());
                self.words.extend(parts.map(&mut id));
            }
        });
        if tokens == 0 {
            scratch.push(id(""));
        }
        if differs || self.words.len() == start {
            self.spaced.insert(self.ends.len() as u32, scratch.as_slice().into());
        }
        self.ends.push(self.words.len());
    }

    pub(crate) fn append(&mut self, other: &Self, id: impl Fn(u32) -> u32) {
        let (rows, words) = (self.ends.len() as u32, self.words.len());
        self.words.extend(other.words.iter().map(|&word| id(word)));
        self.ends.extend(other.ends.iter().map(|end| end + words));
        let spaced = other.spaced.iter();
        let moved = spaced.map(|(row, words)| (row + rows, words.iter().map(|&word| id(word)).collect()));
        self.spaced.extend(moved);
    }

    pub(crate) fn map(&self, id: impl Fn(u32) -> u32) -> Self {
        Self {
            words: self.words.iter().map(|&word| id(word)).collect(),
            ends: self.ends.clone(),
            spaced: self
                .spaced
                .iter()
                .map(|(row, words)| (*row, words.iter().map(|&word| id(word)).collect()))
                .collect(),
        }
    }
}

/// Tokenises captions in parallel. Words that `known` has keep its numbers; the others are numbered
/// on from its length, in the order of the captions, whatever the number of threads.
pub(crate) fn tokenize(
    captions: &[&str],
    known: &Vocabulary,
    tokenization: Tokenization,
) -> (TokenRows, Vocabulary) {
    let base = known.len() as u32;
    let size = captions.len().div_ceil(rayon::current_num_threads()).clamp(SMALL_CHUNK, CHUNK);
    let parts: Vec<(TokenRows, Vocabulary)> = captions
        .par_chunks(size)
        .enumerate()
        .map(|(number, chunk)| {
            let mut rows = TokenRows::with_capacity(chunk.len());
            let mut new = Vocabulary::default();
            let mut splitter = tokenization.splitter();
            let mut scratch = Vec::new();
            for (i, caption) in chunk.iter().enumerate() {
                let following = &captions[number * size + i + 1..];
                let id = |word: &str| match base {
                    0 => new.intern(word),
                    _ => known.id(word).unwrap_or_else(|| base + new.intern(word)),
                };
                rows.push(|sink| splitter.split(caption, following, sink), &mut scratch, id);
            }
            (rows, new)
        })
        .collect();
    merge(parts, base, captions.len())
}

fn merge(mut parts: Vec<(TokenRows, Vocabulary)>, base: u32, rows: usize) -> (TokenRows, Vocabulary) {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let mut vocabulary = Vocabulary::default();
    let mut all = TokenRows {
        words: vec![0; parts.iter().map(|(part, _)| part.words.len()).sum()],
        ends: vec![0; rows],
        spaced: HashMap::default(),
    };
    // Where each part goes, so that threads copy them at the same time.
    let (mut words, mut ends) = (&mut all.words[..], &mut all.ends[..]);
    let (mut first_row, mut first_word) = (0, 0);
    let mut copies = Vec::new();
    for (part, new) in &parts {
        let ids: Vec<u32> = new.words().map(|word| base + vocabulary.intern(word)).collect();
        let id = move |word: u32| if word < base { word } else { ids[(word - base) as usize] };
        for (row, words) in &part.spaced {
            all.spaced.insert(first_row + row, words.iter().map(|&word| id(word)).collect());
        }
        let words = words.split_off_mut(..part.words.len()).unwrap_or_default();
        let ends = ends.split_off_mut(..part.ends.len()).unwrap_or_default();
        copies.push((part, first_word, words, ends, id));
        first_row += part.len() as u32;
        first_word += part.words.len();
    }
    copies.into_par_iter().for_each(|(part, first_word, words, ends, id)| {
        words.iter_mut().zip(&part.words).for_each(|(to, &word)| *to = id(word));
        ends.iter_mut().zip(&part.ends).for_each(|(to, end)| *to = first_word + end);
    });
    (all, vocabulary)
}
