//! Tokenization of captions, in parallel.

use std::cell::Cell;

use capeval_ptb::Token;
use rayon::prelude::*;

/// Tokenization of captions.
#[derive(Clone, Copy)]
pub enum Tokenization {
    /// The Penn Treebank tokenizer.
    PennTreebank {
        /// Options for the processing of tokens.
        options: capeval_ptb::Options,
        /// Whether each caption is tokenized independently instead of as a line of a file.
        alone: bool,
    },
    /// No tokenization: captions are tokens joined by single spaces.
    None,
}

impl Tokenization {
    /// Creates the splitter of one parallel task.
    pub(crate) fn splitter(self) -> Splitter {
        match self {
            Self::PennTreebank { options, alone } => {
                Splitter::PennTreebank { tokenizer: ThreadTokenizer::take(), options, alone }
            }
            Self::None => Splitter::None,
        }
    }
}

thread_local! {
    static TOKENIZER: Cell<Option<Box<capeval_ptb::Tokenizer>>> = const { Cell::new(None) };
}

/// The tokenizer of this thread, borrowed until this value is dropped.
///
/// A tokenizer builds its automaton while it reads. Small batches would spend most of their time on building
/// a new one.
pub(crate) struct ThreadTokenizer(Option<Box<capeval_ptb::Tokenizer>>);

impl ThreadTokenizer {
    fn take() -> Self {
        Self(TOKENIZER.take())
    }

    fn tokenizer(&mut self) -> &mut capeval_ptb::Tokenizer {
        self.0.get_or_insert_default()
    }
}

impl Drop for ThreadTokenizer {
    fn drop(&mut self) {
        TOKENIZER.set(self.0.take());
    }
}

/// Splits captions into tokens.
pub(crate) enum Splitter {
    PennTreebank { tokenizer: ThreadTokenizer, options: capeval_ptb::Options, alone: bool },
    None,
}

impl Splitter {
    /// Passes every token of a caption to `sink`, in order.
    ///
    /// The tokens joined by single spaces are the tokenized caption. `following` are the later captions of
    /// its batch.
    #[inline(always)]
    pub(crate) fn split(&mut self, caption: &str, following: &[&str], mut sink: impl FnMut(Token<'_>)) {
        match self {
            // The reference tokenizes all captions as lines of one file and looks beyond the end of a line,
            // so the following captions can change the last token.
            Self::PennTreebank { tokenizer, options, alone } => {
                let following = if *alone { &[] } else { following };
                tokenizer.tokenizer().tokens_in_batch(caption, following, options, sink);
            }
            Self::None => caption.split(' ').for_each(|token| sink(Token::Text(token))),
        }
    }
}

/// Tokenizes a batch of captions in parallel. `add` receives the tokens of one caption.
fn in_batch<T: Default + Send>(
    captions: &[&str],
    tokenization: Tokenization,
    add: impl Fn(&mut T, &str) + Sync,
) -> Vec<T> {
    let start = || tokenization.splitter();
    let rows = (0..captions.len()).into_par_iter().with_min_len(256).map_init(start, |splitter, i| {
        let mut row = T::default();
        splitter.split(captions[i], &captions[i + 1..], |token| token.with_str(|token| add(&mut row, token)));
        row
    });
    rows.collect()
}

/// Returns the tokens of each caption of a batch.
pub fn tokenize_all(captions: &[&str], tokenization: Tokenization) -> Vec<Vec<String>> {
    in_batch(captions, tokenization, |tokens: &mut Vec<String>, token| tokens.push(token.to_owned()))
}

/// Tokenizes each line of `lines` and joins its tokens by single spaces.
pub fn tokenize_lines(lines: &str, tokenization: Tokenization) -> String {
    let lines: Vec<&str> = lines.split_terminator('\n').collect();
    let rows = in_batch(&lines, tokenization, |row: &mut String, token| {
        row.push_str(token);
        row.push(' ');
    });
    let mut tokenized = String::with_capacity(rows.iter().map(|row| row.len().max(1)).sum());
    for row in &rows {
        tokenized.push_str(row.strip_suffix(' ').unwrap_or(row));
        tokenized.push('\n');
    }
    tokenized
}
