//! Rows of word ids.

use capeval_ptb::{Short, Token, is_python_space};
use hashbrown::HashMap;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use crate::tokenization::{Splitter, Tokenization};
use crate::vocabulary::Vocabulary;

/// Maximum number of captions per parallel task.
///
/// It is large enough that a task sees most of the vocabulary, and small enough that all threads finish at
/// about the same time.
pub(crate) const CHUNK: usize = 4096;
/// Minimum number of captions per parallel task, below which starting a task costs more than it saves.
const SMALL_CHUNK: usize = 128;

/// Rows of words in one block of memory.
///
/// The reference implementation splits tokenized captions on Python's white space for BLEU and CIDEr-D, and
/// on single spaces for ROUGE-L. The results differ only if a token contains other white space ("25 1/2" with
/// a no-break space) or is empty, so only such rows are stored twice.
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

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the words of all rows, concatenated, split on any white space.
    pub fn all_words(&self) -> &[u32] {
        &self.words
    }

    /// Returns the range of a row's words in [`Self::all_words`].
    #[inline]
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        start..self.ends[row]
    }

    /// Returns the words of a row, split on any white space.
    #[inline]
    pub fn words(&self, row: usize) -> &[u32] {
        &self.words[self.range(row)]
    }

    /// Returns the words of a row, split on single spaces. An empty caption is one empty word.
    #[inline]
    pub fn spaced(&self, row: usize) -> &[u32] {
        if !self.spaced.is_empty()
            && let Some(words) = self.spaced.get(&(row as u32))
        {
            return words;
        }
        self.words(row)
    }

    #[inline(always)]
    fn push(
        &mut self,
        splitter: &mut Splitter,
        caption: &str,
        following: &[&str],
        mut id: impl FnMut(Token<'_>) -> u32,
    ) {
        let start = self.words.len();
        let mut tokens = 0;
        // The words split on single spaces, created at the first token for which the two splits differ.
        let mut spaced: Option<Vec<u32>> = None;
        splitter.split(caption, following, |token| {
            tokens += 1;
            match token {
                Token::Text(text) if !is_one_word(text) => {
                    spaced.get_or_insert_with(|| self.words[start..].to_vec()).push(id(token));
                    let parts = text.split(is_python_space).filter(|part| !part.is_empty());
                    self.words.extend(parts.map(|part| id(Token::Text(part))));
                }
                _ => {
                    let word = id(token);
                    self.words.push(word);
                    if let Some(spaced) = &mut spaced {
                        spaced.push(word);
                    }
                }
            }
        });
        if tokens == 0 {
            spaced = Some(vec![id(Token::Text(""))]);
        }
        if let Some(spaced) = spaced {
            self.spaced.insert(self.ends.len() as u32, spaced.into());
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

/// Cache of recent word ids. Most words in captions are among a few hundred.
struct Recent(Vec<(u128, u32)>);

impl Recent {
    /// Maximum number of entries, so that the cache fits into the L1 cache of a processor.
    const MOST: usize = 1 << 9;

    /// Creates a cache with fewer entries for small texts, which would take less time to tokenize than a full
    /// cache to create.
    fn new(captions: &[&str]) -> Self {
        let bytes: usize = captions.iter().map(|caption| caption.len()).sum();
        let places = (bytes / 32).next_power_of_two().clamp(2, Self::MOST);
        // No short text has this key.
        Self(vec![(u128::MAX, 0); places])
    }

    /// Returns the id of a word, calling `look_up` if the word is not cached.
    #[inline(always)]
    fn number(&mut self, word: Short, look_up: impl FnOnce() -> u32) -> u32 {
        let number = word.number();
        let mixed = ((number as u64) ^ (number >> 59) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (mixed >> 55) as usize & (self.0.len() - 1);
        let (last, of_last) = &mut self.0[place];
        if *last != number {
            (*last, *of_last) = (number, look_up());
        }
        *of_last
    }
}

/// Returns whether a token is non-empty and has no white space.
fn is_one_word(token: &str) -> bool {
    let is_plain = token.bytes().all(|byte| byte > b' ' && byte < 0x80);
    !token.is_empty() && (is_plain || !token.contains(is_python_space))
}

/// A chunk of captions, tokenized by one thread without knowing the new words of the other chunks.
struct Part {
    rows: TokenRows,
    /// First id of the chunk's new words.
    base: u32,
    /// Final ids of the chunk's new words.
    numbers: Vec<u32>,
}

impl Part {
    /// Returns the final id of a word of this chunk.
    fn number(&self, word: u32) -> u32 {
        word.checked_sub(self.base).map_or(word, |new| self.numbers[new as usize])
    }
}

/// Tokenizes captions in parallel.
///
/// Words in `known` keep their ids. New words get the following ids, in the order of the captions, regardless
/// of the number of threads.
pub(crate) fn tokenize(
    captions: &[&str],
    known: &Vocabulary,
    tokenization: Tokenization,
) -> (TokenRows, Vocabulary) {
    let threads = rayon::current_num_threads();
    let first = captions.len().min(threads * CHUNK);
    let mut vocabulary = Vocabulary::default();
    let mut parts = Vec::new();
    // The first captions contain most of the words, so later chunks rarely share new words.
    for round in [0..first, first..captions.len()] {
        let size = round.len().div_ceil(threads).clamp(SMALL_CHUNK, CHUNK);
        let known = [known, &vocabulary];
        let tokenized: Vec<(TokenRows, Vocabulary)> = captions[round.clone()]
            .par_chunks(size)
            .enumerate()
            .map(|(number, chunk)| {
                let following = &captions[round.start + number * size..];
                tokenize_part(chunk, following, known, tokenization)
            })
            .collect();
        let (before, base) = (known[0].len() as u32, known.map(Vocabulary::len).iter().sum::<usize>() as u32);
        for (rows, new) in tokenized {
            let numbers = if vocabulary.is_empty() {
                vocabulary = new;
                (before..before + vocabulary.len() as u32).collect()
            } else {
                new.words().map(|word| before + vocabulary.intern(word)).collect()
            };
            parts.push(Part { rows, base, numbers });
        }
    }
    (joined(parts, captions.len()), vocabulary)
}

/// Tokenizes `captions`, the first elements of `following`.
///
/// Words in neither vocabulary get the ids that follow both.
fn tokenize_part(
    captions: &[&str],
    following: &[&str],
    known: [&Vocabulary; 2],
    tokenization: Tokenization,
) -> (TokenRows, Vocabulary) {
    let [before, base] = [known[0].len(), known[0].len() + known[1].len()].map(|words| words as u32);
    let mut rows = TokenRows::with_capacity(captions.len());
    let mut new = Vocabulary::default();
    let mut recent = Recent::new(captions);
    let mut splitter = tokenization.splitter();
    for (i, caption) in captions.iter().enumerate() {
        rows.push(&mut splitter, caption, &following[i + 1..], |token| {
            let mut look_up = || {
                let number = known[0].id_of(token).or_else(|| Some(before + known[1].id_of(token)?));
                number.unwrap_or_else(|| base + new.intern_token(token))
            };
            match token {
                Token::Latin(word) => recent.number(word, look_up),
                Token::Text(_) => look_up(),
            }
        });
    }
    (rows, new)
}

/// Concatenates the rows of all chunks.
fn joined(mut parts: Vec<Part>, rows: usize) -> TokenRows {
    if parts.len() == 1 {
        // With a single chunk, new words keep their ids.
        return parts.remove(0).rows;
    }
    let mut all = TokenRows {
        words: vec![0; parts.iter().map(|part| part.rows.words.len()).sum()],
        ends: vec![0; rows],
        spaced: HashMap::default(),
    };
    // Slices for each chunk's output, so that threads copy in parallel.
    let (mut words, mut ends) = (&mut all.words[..], &mut all.ends[..]);
    let (mut first_row, mut first_word) = (0, 0);
    let mut copies = Vec::new();
    for part in &parts {
        let rows = &part.rows;
        for (row, words) in &rows.spaced {
            all.spaced.insert(first_row + row, words.iter().map(|&word| part.number(word)).collect());
        }
        let words = words.split_off_mut(..rows.words.len()).unwrap_or_default();
        let ends = ends.split_off_mut(..rows.ends.len()).unwrap_or_default();
        copies.push((part, first_word, words, ends));
        first_row += rows.len() as u32;
        first_word += rows.words.len();
    }
    copies.into_par_iter().for_each(|(part, first_word, words, ends)| {
        words.iter_mut().zip(&part.rows.words).for_each(|(to, &word)| *to = part.number(word));
        ends.iter_mut().zip(&part.rows.ends).for_each(|(to, end)| *to = first_word + end);
    });
    all
}
