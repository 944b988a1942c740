//! Captions as rows of interned words.

use std::cell::Cell;
use std::sync::Arc;

use hashbrown::HashMap;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use crate::vocabulary::Vocabulary;

/// How many captions one parallel task tokenises at most: so many that merging vocabularies costs
/// little, so few that all threads end together.
const CHUNK: usize = 8192;
/// And at least: fewer are not worth a task of their own.
const SMALL_CHUNK: usize = 128;

/// Cuts a caption into tokens; one is made for each parallel task.
pub trait Split {
    /// Hands every token of `caption` to `sink`, in order. The tokens joined by single spaces are
    /// the tokenised caption. `following` are the captions after it in its batch.
    fn split(&mut self, caption: &str, following: &[&str], sink: &mut dyn FnMut(&str));
}

/// No tokenisation: the caption already is tokens joined by single spaces.
#[derive(Clone, Copy, Default)]
pub struct Tokenized;

impl Split for Tokenized {
    fn split(&mut self, caption: &str, _: &[&str], sink: &mut dyn FnMut(&str)) {
        caption.split(' ').for_each(sink);
    }
}

/// How captions become tokens.
#[derive(Clone, Copy)]
pub enum Tokenization {
    /// As the Penn Treebank does.
    PennTreebank(capeval_ptb::Options),
    /// Not at all: see [`Tokenized`].
    None,
}

impl Tokenization {
    /// What tokenises in one task.
    pub fn splitter(self) -> Splitter {
        match self {
            Self::PennTreebank(options) => Splitter::PennTreebank(Kept::take(), options),
            Self::None => Splitter::None(Tokenized),
        }
    }
}

thread_local! {
    static TOKENIZER: Cell<Option<Box<capeval_ptb::Tokenizer>>> = const { Cell::new(None) };
}

/// The tokenizer of this thread. A tokenizer learns as it reads, and small batches would spend most of
/// their time on teaching a new one.
pub struct Kept(Option<Box<capeval_ptb::Tokenizer>>);

impl Kept {
    fn take() -> Self {
        Self(TOKENIZER.take())
    }

    fn tokenizer(&mut self) -> &mut capeval_ptb::Tokenizer {
        self.0.get_or_insert_default()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        TOKENIZER.set(self.0.take());
    }
}

/// A tokeniser of one task.
pub enum Splitter {
    /// As the Penn Treebank does.
    PennTreebank(Kept, capeval_ptb::Options),
    /// Not at all.
    None(Tokenized),
}

impl Split for Splitter {
    fn split(&mut self, caption: &str, following: &[&str], sink: &mut dyn FnMut(&str)) {
        match self {
            // The reference tokenises all captions as the lines of one file and looks past the end of a
            // line, so the captions that follow can change the last token.
            Self::PennTreebank(tokenizer, options) => {
                tokenizer.tokenizer().tokenize_in_batch(caption, following, options, sink);
            }
            Self::None(tokenized) => tokenized.split(caption, following, sink),
        }
    }
}

/// Tokenises a batch of captions in parallel; `each` makes what is wanted of the tokens of one.
fn in_batch<T: Send>(
    captions: &[&str],
    tokenization: Tokenization,
    each: impl Fn(&mut dyn FnMut(&mut dyn FnMut(&str))) -> T + Sync,
) -> Vec<T> {
    let start = || tokenization.splitter();
    let rows = (0..captions.len()).into_par_iter().with_min_len(256).map_init(start, |splitter, i| {
        each(&mut |sink| splitter.split(captions[i], &captions[i + 1..], sink))
    });
    rows.collect()
}

/// The tokens of each caption of a batch.
pub fn tokenize_all(captions: &[&str], tokenization: Tokenization) -> Vec<Vec<String>> {
    in_batch(captions, tokenization, |split| {
        let mut tokens = Vec::new();
        split(&mut |token| tokens.push(token.to_owned()));
        tokens
    })
}

/// A line of tokens joined by single spaces for each line of `lines`.
pub fn tokenize_lines(lines: &str, tokenization: Tokenization) -> String {
    let lines: Vec<&str> = lines.split_terminator('\n').collect();
    let tokenized = in_batch(&lines, tokenization, |split| {
        let mut line = String::new();
        split(&mut |token| {
            line.push_str(token);
            line.push(' ');
        });
        line.pop();
        line.push('\n');
        line
    });
    tokenized.concat()
}

/// White space as Python's `str.split()` knows it: what BLEU and CIDEr-D of the reference split on.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Rows of words in one block of memory.
///
/// The reference splits a tokenised caption on any white space for BLEU and CIDEr-D, and on single
/// spaces for ROUGE-L. The two agree unless a token holds other white space ("25 1/2" with a
/// no-break space) or is empty, so only rows that differ are kept twice.
#[derive(Clone)]
pub struct TokenRows {
    words: Vec<u32>,
    ends: Vec<usize>,
    spaced: HashMap<u32, Box<[u32]>, FxBuildHasher>,
}

impl TokenRows {
    fn with_capacity(rows: usize) -> Self {
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
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        start..self.ends[row]
    }

    /// The words of a row, split on any white space.
    pub fn words(&self, row: usize) -> &[u32] {
        &self.words[self.range(row)]
    }

    /// The words of a row, split on single spaces (an empty caption is one empty word).
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
            if plain || !(token.is_empty() || token.contains(is_space)) {
                let word = id(token);
                self.words.push(word);
                scratch.push(word);
            } else {
                differs = true;
                scratch.push(id(token));
                let parts = token.split(is_space).filter(|part| !part.is_empty());
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

    fn append(&mut self, other: &Self, id: impl Fn(u32) -> u32) {
        let (rows, words) = (self.ends.len() as u32, self.words.len());
        self.words.extend(other.words.iter().map(|&word| id(word)));
        self.ends.extend(other.ends.iter().map(|end| end + words));
        let moved =
            other.spaced.iter().map(|(row, kept)| (row + rows, kept.iter().map(|&word| id(word)).collect()));
        self.spaced.extend(moved);
    }

    fn map(&self, id: impl Fn(u32) -> u32) -> Self {
        Self {
            words: self.words.iter().map(|&word| id(word)).collect(),
            ends: self.ends.clone(),
            spaced: self
                .spaced
                .iter()
                .map(|(row, kept)| (*row, kept.iter().map(|&word| id(word)).collect()))
                .collect(),
        }
    }
}

/// Tokenises captions in parallel. Words that `known` has keep its numbers; the others are numbered
/// on from its length, in the order of the captions, whatever the number of threads.
fn tokenize<S: Split>(
    captions: &[&str],
    known: &Vocabulary,
    splitter: impl Fn() -> S + Sync,
) -> (TokenRows, Vocabulary) {
    let base = known.len() as u32;
    let size = captions.len().div_ceil(rayon::current_num_threads()).clamp(SMALL_CHUNK, CHUNK);
    let parts: Vec<(TokenRows, Vocabulary)> = captions
        .par_chunks(size)
        .enumerate()
        .map(|(number, chunk)| {
            let mut rows = TokenRows::with_capacity(chunk.len());
            let mut new = Vocabulary::default();
            let mut split = splitter();
            let mut scratch = Vec::new();
            for (i, caption) in chunk.iter().enumerate() {
                let following = &captions[number * size + i + 1..];
                let id = |word: &str| match base {
                    0 => new.intern(word),
                    _ => known.id(word).unwrap_or_else(|| base + new.intern(word)),
                };
                rows.push(|sink| split.split(caption, following, sink), &mut scratch, id);
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
    let mut all = TokenRows::with_capacity(rows);
    let mut vocabulary = Vocabulary::default();
    for (rows, new) in &parts {
        let ids: Vec<u32> = new.words().map(|word| base + vocabulary.intern(word)).collect();
        all.append(rows, |word| if word < base { word } else { ids[(word - base) as usize] });
    }
    (all, vocabulary)
}

/// The tokenised references of a set of images.
#[derive(Clone)]
pub struct References {
    vocabulary: Arc<Vocabulary>,
    tokens: TokenRows,
    /// References of image `i` are the rows `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
}

impl References {
    /// Tokenises the references of all images: those of image `i` are
    /// `captions[starts[i]..starts[i + 1]]`, so `starts` has one entry more than there are images.
    pub fn new<S: Split>(captions: &[&str], starts: Vec<usize>, splitter: impl Fn() -> S + Sync) -> Self {
        let (tokens, vocabulary) = tokenize(captions, &Vocabulary::default(), splitter);
        Self { vocabulary: Arc::new(vocabulary), tokens, starts }
    }

    /// How many images there are.
    pub fn images(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of [`Self::tokens`] that are the references of `image`.
    pub fn of(&self, image: usize) -> std::ops::Range<usize> {
        self.starts[image]..self.starts[image + 1]
    }

    /// The references as rows of words.
    pub fn tokens(&self) -> &TokenRows {
        &self.tokens
    }

    /// A reference as tokens joined by single spaces.
    pub fn text(&self, row: usize) -> String {
        join(self.tokens.spaced(row), |word| self.vocabulary.word(word))
    }

    /// The words that the references use.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The same references with each word replaced by `form(word)`, such as its stem.
    pub fn replaced(&self, form: impl Fn(&str) -> String) -> Replaced {
        let mut vocabulary = Vocabulary::default();
        let forms: Vec<u32> = self.vocabulary.words().map(|word| vocabulary.intern(&form(word))).collect();
        let tokens = self.tokens.map(|word| forms[word as usize]);
        let references = Self { vocabulary: Arc::new(vocabulary), tokens, starts: self.starts.clone() };
        Replaced { references: Arc::new(references), forms }
    }
}

/// References whose words were replaced, and what each word became.
pub struct Replaced {
    /// The references in their new words.
    pub references: Arc<References>,
    /// The number of the new word of each old word.
    pub forms: Vec<u32>,
}

impl Replaced {
    /// Candidates of the original references, with each word replaced in the same way.
    pub fn candidates(&self, candidates: &Candidates, form: impl Fn(&str) -> String) -> Candidates {
        let vocabulary = &self.references.vocabulary;
        let base = vocabulary.len() as u32;
        let mut new = Vocabulary::default();
        let replace = |word: &str| {
            let word = form(word);
            vocabulary.id(&word).unwrap_or_else(|| base + new.intern(&word))
        };
        let forms: Vec<u32> = candidates.new.words().map(replace).collect();
        let id = |word: u32| match word.checked_sub(candidates.base) {
            None => self.forms[word as usize],
            Some(new) => forms[new as usize],
        };
        let tokens = candidates.tokens.map(id);
        Candidates { base, new, tokens, images: candidates.images.clone() }
    }
}

/// The tokenised candidates of images that have references; several may belong to one image.
#[derive(Clone)]
pub struct Candidates {
    base: u32,
    new: Vocabulary,
    tokens: TokenRows,
    images: Vec<u32>,
}

impl Candidates {
    /// Tokenises `captions`, of which `captions[i]` describes image `images[i]` of `references`.
    pub fn new<S: Split>(
        references: &References,
        captions: &[&str],
        images: Vec<u32>,
        splitter: impl Fn() -> S + Sync,
    ) -> Self {
        let known = &references.vocabulary;
        let (tokens, new) = tokenize(captions, known, splitter);
        Self { base: known.len() as u32, new, tokens, images }
    }

    /// How many candidates there are.
    pub fn len(&self) -> usize {
        self.images.len()
    }

    /// Whether there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// The image of each candidate.
    pub fn images(&self) -> &[u32] {
        &self.images
    }

    /// The candidates as rows of words: numbers from the references' vocabulary on are [`Self::new_words`].
    pub fn tokens(&self) -> &TokenRows {
        &self.tokens
    }

    /// Words that no reference has, numbered on from the references' vocabulary.
    pub fn new_words(&self) -> &Vocabulary {
        &self.new
    }

    /// A candidate as tokens joined by single spaces, given the vocabulary of the references.
    pub fn text(&self, known: &Vocabulary, row: usize) -> String {
        join(self.tokens.spaced(row), |word| self.word(known, word))
    }

    /// The text of a word of the candidates, given the vocabulary of their references.
    pub fn word<'a>(&'a self, known: &'a Vocabulary, word: u32) -> &'a str {
        match word.checked_sub(self.base) {
            None => known.word(word),
            Some(new) => self.new.word(new),
        }
    }
}

fn join<'a>(words: &[u32], word: impl Fn(u32) -> &'a str) -> String {
    words.iter().map(|&id| word(id)).collect::<Vec<_>>().join(" ")
}

/// Runs `row` for each candidate in parallel: it gets the index of the candidate, a scratch value of
/// its task and the candidate's row of `width` numbers to fill.
pub(crate) fn fill_rows<T: Send>(
    rows: usize,
    width: usize,
    scratch: impl Fn() -> T + Sync + Send,
    row: impl Fn(usize, &mut T, &mut [f64]) + Sync + Send,
) -> Vec<f64> {
    let mut values = vec![0.0; rows * width];
    // So few that a minibatch is shared too, so many that a task is worth its start.
    let candidates = 128;
    values.par_chunks_mut(width * candidates).enumerate().for_each(|(chunk, values)| {
        let mut scratch = scratch();
        for (i, values) in values.chunks_mut(width).enumerate() {
            row(chunk * candidates + i, &mut scratch, values);
        }
    });
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(references: &References, words: &[u32]) -> Vec<String> {
        words.iter().map(|&w| references.vocabulary().word(w).to_owned()).collect()
    }

    #[test]
    fn the_two_ways_to_split_differ_on_other_white_space_only() {
        let captions = ["a dog", "25\u{a0}1/2 miles", "", "a  b"];
        let references = References::new(&captions, vec![0, 4], || Tokenized);
        let tokens = references.tokens();
        assert_eq!(row(&references, tokens.words(0)), row(&references, tokens.spaced(0)));
        assert_eq!(row(&references, tokens.words(1)), ["25", "1/2", "miles"]);
        assert_eq!(row(&references, tokens.spaced(1)), ["25\u{a0}1/2", "miles"]);
        assert!(tokens.words(2).is_empty());
        assert_eq!(row(&references, tokens.spaced(2)), [""]);
        assert_eq!(row(&references, tokens.words(3)), ["a", "b"]);
        assert_eq!(row(&references, tokens.spaced(3)), ["a", "", "b"]);
    }

    #[test]
    fn many_chunks_give_the_numbers_of_one() {
        let captions: Vec<String> = (0..3 * CHUNK).map(|i| format!("a w{} b", i % 1000)).collect();
        let captions: Vec<&str> = captions.iter().map(String::as_str).collect();
        let references = References::new(&captions, vec![0, captions.len()], || Tokenized);
        assert_eq!(references.vocabulary().len(), 1002);
        assert_eq!(references.vocabulary().word(1), "w0");
        assert_eq!(row(&references, references.tokens().words(2 * CHUNK)), ["a", "w384", "b"]);
    }

    #[test]
    fn candidates_share_the_words_of_the_references() {
        let references = References::new(&["a dog"], vec![0, 1], || Tokenized);
        let candidates = Candidates::new(&references, &["dog x y x"], vec![0], || Tokenized);
        assert_eq!(candidates.tokens().words(0), [1, 2, 3, 2]);
        assert_eq!(candidates.word(references.vocabulary(), 1), "dog");
        assert_eq!(candidates.word(references.vocabulary(), 3), "y");
    }

    #[test]
    fn replaced_words_meet() {
        let references = References::new(&["fishes swim"], vec![0, 1], || Tokenized);
        let form = |word: &str| word.trim_end_matches("es").to_owned();
        let replaced = references.replaced(form);
        let candidates = Candidates::new(&references, &["fish swim far"], vec![0], || Tokenized);
        let candidates = replaced.candidates(&candidates, form);
        assert_eq!(candidates.tokens().words(0), [0, 1, 2]);
    }
}
