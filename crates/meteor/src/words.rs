//! Tokenized captions split into METEOR's words.

use std::borrow::Cow;

use capeval_tables::TableError;
use capeval_tokens::{Candidates, References, TokenRows, Vocabulary};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::error::MeteorError;
use crate::normalize::{is_plain, normalize};
use crate::options::Preparation;
use crate::tables::Tables;

/// Number of captions per task.
const CAPTIONS: usize = 1 << 13;
/// A token that has not been examined yet.
const UNSEEN: u32 = u32::MAX;
/// A token that METEOR may split, join with its neighbors or drop, so that its caption is read as text.
const NOT_PLAIN: u32 = u32::MAX - 1;

/// The tokenized captions to read.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    References(&'a References),
    Candidates(&'a Candidates),
}

impl<'a> Source<'a> {
    fn tokens(self) -> &'a TokenRows {
        match self {
            Self::References(references) => references.tokens(),
            Self::Candidates(candidates) => candidates.tokens(),
        }
    }

    fn token_count(self) -> usize {
        match self {
            Self::References(references) => references.vocabulary().len(),
            Self::Candidates(candidates) => candidates.word_count(),
        }
    }

    fn token(self, token: u32) -> &'a str {
        match self {
            Self::References(references) => references.vocabulary().word(token),
            Self::Candidates(candidates) => candidates.word(token),
        }
    }

    /// Returns METEOR's captions of a token row.
    ///
    /// "|||" splits a reference into two, as on METEOR's standard input.
    fn captions(self, row: usize) -> Vec<String> {
        match self {
            Self::References(references) => {
                references.text(row).split("|||").map(|caption| trim(caption).to_owned()).collect()
            }
            Self::Candidates(candidates) => vec![clean(&candidates.text(row))],
        }
    }
}

/// Trims like Java's `String.trim`: spaces and control characters.
fn trim(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

/// Cleans a candidate like pycocoevalcap: removes "|||", then replaces double spaces by single ones, once.
fn clean(candidate: &str) -> String {
    trim(&candidate.replace("|||", "").replace("  ", " ")).to_owned()
}

/// The words of captions.
pub(crate) struct CaptionWords {
    pub texts: Vocabulary,
    /// The words of all captions, concatenated.
    pub words: Vec<u32>,
    /// The words of caption `i` are `starts[i]..starts[i + 1]`.
    pub starts: Vec<u32>,
    /// Token row of each caption.
    pub rows: Vec<usize>,
}

/// Splits captions into words.
///
/// If every token is one word, as in most captions, tokens are mapped to words by number. Other captions are
/// joined into text, which is normalized.
pub(crate) fn read_words<B: AsRef<[u8]> + Sync>(
    tables: &Tables<B>,
    preparation: Preparation,
    source: Source<'_>,
) -> Result<CaptionWords, MeteorError> {
    let tokens = source.tokens();
    let mut texts = Vocabulary::default();
    let words_of = words_of_tokens(preparation, source, &mut texts);
    let is_plain =
        |row: &usize| tokens.spaced(*row).iter().all(|&token| words_of[token as usize] != NOT_PLAIN);
    let others = (0..tokens.len()).into_par_iter().with_min_len(256).filter(|row| !is_plain(row));
    let others = others.map(|row| {
        let captions = source.captions(row);
        let captions = captions.iter().map(|caption| prepare_text(tables, preparation, caption));
        Ok((row, captions.map(|caption| caption.map(Cow::into_owned)).collect::<Result<Vec<_>, _>>()?))
    });
    let others = others.collect::<Result<Vec<_>, TableError>>()?;
    let mut others = others.into_iter().peekable();
    let (mut starts, mut rows) = (vec![0_u32], Vec::with_capacity(tokens.len()));
    // Words of the captions that are read as text.
    let mut of_texts: FxHashMap<usize, Vec<u32>> = FxHashMap::default();
    for row in 0..tokens.len() {
        let mut end_caption = |words: usize| {
            rows.push(row);
            let end = u32::try_from(words).ok().and_then(|words| starts[starts.len() - 1].checked_add(words));
            starts.push(end.ok_or(MeteorError::TooLarge { what: "words", limit: u32::MAX })?);
            Ok::<_, MeteorError>(rows.len() - 1)
        };
        let Some((_, captions)) = others.next_if(|(other, _)| *other == row) else {
            end_caption(tokens.spaced(row).len())?;
            continue;
        };
        for caption in captions {
            let words: Vec<u32> = caption.split_ascii_whitespace().map(|word| texts.intern(word)).collect();
            of_texts.insert(end_caption(words.len())?, words);
        }
    }
    let mut words = vec![0; starts[rows.len()] as usize];
    let (mut rest, mut parts) = (&mut words[..], Vec::new());
    for first in (0..rows.len()).step_by(CAPTIONS) {
        let end = rows.len().min(first + CAPTIONS);
        let length = (starts[end] - starts[first]) as usize;
        parts.push((first..end, rest.split_off_mut(..length).unwrap_or_default()));
    }
    parts.into_par_iter().for_each(|(captions, mut words)| {
        for caption in captions {
            let length = (starts[caption + 1] - starts[caption]) as usize;
            let words = words.split_off_mut(..length).unwrap_or_default();
            match of_texts.get(&caption) {
                Some(of_text) => words.copy_from_slice(of_text),
                None => {
                    let tokens = tokens.spaced(rows[caption]);
                    words.iter_mut().zip(tokens).for_each(|(word, &token)| *word = words_of[token as usize]);
                }
            }
        }
    });
    Ok(CaptionWords { texts, words, starts, rows })
}

/// Returns the word of each used token, or [`NOT_PLAIN`].
fn words_of_tokens(preparation: Preparation, source: Source<'_>, texts: &mut Vocabulary) -> Vec<u32> {
    let tokens = source.tokens();
    let mut words = vec![UNSEEN; source.token_count()];
    for row in 0..tokens.len() {
        for &token in tokens.spaced(row) {
            let word = &mut words[token as usize];
            if *word == UNSEEN {
                let text = source.token(token);
                *word = if is_one_word(text, preparation) {
                    texts.intern(&lower(text, preparation))
                } else {
                    NOT_PLAIN
                };
            }
        }
    }
    words
}

/// Returns whether a token is one word for METEOR, regardless of the adjacent tokens.
fn is_one_word(token: &str, preparation: Preparation) -> bool {
    let plain = match preparation {
        Preparation::Normalize => is_plain(token),
        Preparation::None | Preparation::Lowercase => !token.contains("|||"),
    };
    plain && !token.is_empty() && token.chars().all(|c| c > ' ')
}

fn lower(plain: &str, preparation: Preparation) -> Cow<'_, str> {
    match preparation {
        Preparation::Normalize if plain.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            Cow::Owned(plain.to_ascii_lowercase())
        }
        Preparation::Lowercase => Cow::Owned(capeval_ptb::lowercase(plain)),
        Preparation::None | Preparation::Normalize => Cow::Borrowed(plain),
    }
}

fn prepare_text<'a, B: AsRef<[u8]>>(
    tables: &Tables<B>,
    preparation: Preparation,
    text: &'a str,
) -> Result<Cow<'a, str>, TableError> {
    if preparation == Preparation::Normalize && !is_plain(text) {
        return normalize(text, tables).map(Cow::Owned);
    }
    Ok(lower(text, preparation))
}
