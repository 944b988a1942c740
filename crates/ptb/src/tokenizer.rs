//! Tokenization of captions.

use crate::lexer::{Following, Lexer};
use crate::lowercase::push_lowercase;
use crate::normalize::normalize;
use crate::release::Release;
use crate::rules::{Action, is_space};
use crate::runs::Runs;
use crate::symbols::{ends_line, symbols_of};
use crate::token::{Short, Token};
use std::ops::ControlFlow;

/// Handling of punctuation tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Punctuation {
    /// Keeps all tokens of the Stanford tokenizer.
    Keep,
    /// Drops the tokens that the COCO evaluation code drops: `'' ' `` ` . ? ! , : - -- ...
    /// ;` and the upper-case names of brackets, `-LRB- -RRB- -LCB- -RCB-`.
    ///
    /// That code compares tokens after lower-casing, so lower-cased names of brackets are kept. White space
    /// at the end of the last token is dropped too.
    #[default]
    Reference,
    /// Drops the tokens listed in the paper, which also include names of brackets in lower case.
    Paper,
}

/// Options for the processing of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether to convert tokens to lower case.
    pub lowercase: bool,
    /// Handling of punctuation tokens.
    pub punctuation: Punctuation,
}

impl Default for Options {
    /// The options of published scores: lower case, and the reference's punctuation.
    fn default() -> Options {
        Options { lowercase: true, punctuation: Punctuation::Reference }
    }
}

/// Returns the tokens of one caption. For many captions, reuse a [`Tokenizer`].
pub fn tokenize(text: &str, options: &Options) -> Vec<String> {
    let mut tokens = Vec::new();
    Tokenizer::new().tokenize_into(text, options, |token| tokens.push(token.to_owned()));
    tokens
}

/// A tokenizer with its working memory. Use one per thread, for any number of captions.
pub struct Tokenizer {
    release: Release,
    pub(crate) lexer: Lexer,
    line: Line,
    writer: Writer,
}

impl Default for Tokenizer {
    fn default() -> Tokenizer {
        Tokenizer::new()
    }
}

impl Tokenizer {
    /// Creates a tokenizer of release 3.4.1.
    pub fn new() -> Tokenizer {
        Tokenizer::with_release(Release::V3_4_1)
    }

    /// Creates a tokenizer of a release of CoreNLP.
    pub fn with_release(release: Release) -> Tokenizer {
        Tokenizer { release, lexer: Lexer::new(release), line: Line::default(), writer: Writer::default() }
    }

    /// Passes the tokens of a caption to `sink`, in order.
    ///
    /// The caption is treated as the only line of its file.
    ///
    /// Each line end within the caption (`\n`, `\r`, U+000B, U+000C, U+2028, U+2029) counts as one space.
    pub fn tokenize_into(&mut self, text: &str, options: &Options, sink: impl FnMut(&str)) {
        self.tokenize_in_batch::<&str>(text, &[], options, sink);
    }

    /// Like [`tokenize_into`](Self::tokenize_into), for a caption that is followed by others in the same
    /// file, one per line.
    ///
    /// The Stanford tokenizer looks beyond the end of a line. After an abbreviation ("section B."), a capital
    /// on the next line makes its period a separate token, and a face (":)") is recognized only if anything
    /// follows. The tokens of a caption therefore depend slightly on the captions after it. Pass these
    /// captions to get exactly the reference's tokens.
    pub fn tokenize_in_batch<S: AsRef<str>>(
        &mut self,
        text: &str,
        following: &[S],
        options: &Options,
        mut sink: impl FnMut(&str),
    ) {
        self.tokens_in_batch(text, following, options, |token| token.with_str(&mut sink));
    }

    /// Like [`tokenize_in_batch`](Self::tokenize_in_batch), but with short words as numbers, which are faster
    /// to compare.
    // Inlined up to the sink, words stay in registers, which saves a tenth of the time.
    #[inline(always)]
    pub fn tokens_in_batch<S: AsRef<str>>(
        &mut self,
        text: &str,
        following: &[S],
        options: &Options,
        mut sink: impl FnMut(Token<'_>),
    ) {
        let following = |visit: &mut dyn FnMut(u8) -> ControlFlow<()>| {
            let _ = visit_lines(following, visit);
        };
        let Tokenizer { release, lexer, line, writer } = self;
        writer.start(*options);
        if is_plain(text) {
            lex(lexer, text.as_bytes(), &following, |found| match found {
                Found::Latin(word) => writer.write_latin(word, &mut sink),
                Found::Lexeme { start, end, action } => writer.write(&text[start..end], action, &mut sink),
            });
        } else {
            line.read(text, *release);
            lex(lexer, &line.symbols, &following, |found| match found {
                Found::Latin(word) => writer.write_latin(word, &mut sink),
                Found::Lexeme { start, end, action } => {
                    writer.write(&text[line.offsets[start]..line.offsets[end]], action, &mut sink);
                }
            });
        }
        writer.finish(&mut sink);
    }
}

/// Returns whether a text can be lexed in place: ASCII without line ends.
fn is_plain(text: &str) -> bool {
    // Unlike `any`, which stops early, this loop is vectorized.
    !text.bytes().fold(false, |other, byte| other | !byte.is_ascii() | matches!(byte, b'\n'..=b'\r'))
}

/// An item found in a line.
enum Found {
    Latin(LatinWord),
    /// Symbols from `start` to `end`.
    Lexeme {
        start: usize,
        end: usize,
        action: Action,
    },
}

/// Emits the items of a line, from start to end.
#[inline(always)]
fn lex(lexer: &mut Lexer, symbols: &[u8], following: Following, mut emit: impl FnMut(Found)) {
    let mut start = 0;
    let mut runs = Runs::default();
    while start < symbols.len() {
        if symbols[start] == b' ' {
            // No token starts with a space. All kinds of spaces are skipped together, because a rarer kind of
            // space could start an address.
            start += symbols[start..].iter().take_while(|&&symbol| is_space(symbol)).count();
            continue;
        }
        if let Some(word) = LatinWord::at(symbols, start) {
            start += word.length;
            emit(Found::Latin(word));
            continue;
        }
        if let Some(end) = long_word(symbols, start) {
            emit(Found::Lexeme { start, end, action: Action::Keep });
            start = end;
            continue;
        }
        let lexeme = lexer.next(symbols, start, following, &mut runs);
        if lexeme.action != Action::Skip {
            emit(Found::Lexeme { start, end: lexeme.text_end, action: lexeme.action });
        }
        start = lexeme.end;
    }
}

/// A word of at most 15 Latin letters that is followed by a space or by nothing.
///
/// Most words in captions are of this kind. The automaton finds the same end, but more slowly.
struct LatinWord {
    /// The letters, with the first in the lowest byte. Higher bytes beyond the word are undefined.
    letters: u128,
    length: usize,
}

impl LatinWord {
    /// Returns the word at `start`. Joined words such as "cannot" are excluded, because rules split them.
    #[inline(always)]
    fn at(symbols: &[u8], start: usize) -> Option<LatinWord> {
        let letters = sixteen(symbols, start);
        let length = letters_first(letters);
        let is_alone = symbols.get(start + length).is_none_or(|&symbol| symbol == b' ');
        let is_word = (1..=Short::LONGEST).contains(&length) && is_alone;
        (is_word && !is_joined(letters, length)).then_some(LatinWord { letters, length })
    }
}

/// Returns a number in which every byte is `byte`.
const fn each(byte: u8) -> u128 {
    u128::MAX / 0xff * byte as u128
}

/// Returns the sixteen symbols from `start` on, with the first in the lowest byte, padded with zeros.
#[inline]
fn sixteen(symbols: &[u8], start: usize) -> u128 {
    let rest = &symbols[start..];
    if let Some(bytes) = rest.first_chunk() {
        u128::from_le_bytes(*bytes)
    } else if let Some(bytes) = symbols.last_chunk() {
        u128::from_le_bytes(*bytes) >> (8 * (16 - rest.len()))
    } else {
        let mut bytes = [0; 16];
        bytes[..rest.len()].copy_from_slice(rest);
        u128::from_le_bytes(bytes)
    }
}

/// Returns the number of leading Latin letters among sixteen symbols.
#[inline]
fn letters_first(symbols: u128) -> usize {
    // The highest bit of each byte is set for letters. No sum of two bytes overflows into the next.
    let lower = (symbols | each(0x20)) & each(0x7f);
    let from_a = lower + each(0x80 - b'a');
    let after_z = lower + each(0x7f - b'z');
    let others = (!from_a | after_z | symbols) & each(0x80);
    (others.trailing_zeros() / 8) as usize
}

/// Returns the end of a Latin word at `start` that is too long for a [`LatinWord`] and is followed by a space
/// or by nothing.
fn long_word(symbols: &[u8], start: usize) -> Option<usize> {
    let length = symbols[start..].iter().take_while(|symbol| symbol.is_ascii_alphabetic()).count();
    let is_alone = symbols.get(start + length).is_none_or(|&symbol| symbol == b' ');
    (length > Short::LONGEST && is_alone).then_some(start + length)
}

/// Returns whether letters form one of the words that rules split.
#[inline]
fn is_joined(letters: u128, length: usize) -> bool {
    const JOINED: [&[u8]; 6] = [b"cannot", b"gonna", b"gotta", b"lemme", b"gimme", b"wanna"];
    const INITIALS: u32 = 1 << (b'c' & 0x1f) | 1 << (b'g' & 0x1f) | 1 << (b'l' & 0x1f) | 1 << (b'w' & 0x1f);
    // A single condition that is rarely true, because branches on the length or the initial alone are
    // unpredictable.
    if (INITIALS >> (letters & 0x1f)) & u32::from(matches!(length, 5 | 6)) == 0 {
        return false;
    }
    let word = letters.to_le_bytes();
    JOINED.iter().any(|joined| word[..length].eq_ignore_ascii_case(joined))
}

fn visit_lines<S: AsRef<str>>(lines: &[S], visit: &mut dyn FnMut(u8) -> ControlFlow<()>) -> ControlFlow<()> {
    for line in lines {
        visit(b'\n')?;
        for character in line.as_ref().chars() {
            let (first, second) = line_symbols(character);
            visit(first)?;
            second.map_or(ControlFlow::Continue(()), &mut *visit)?;
        }
    }
    ControlFlow::Continue(())
}

fn line_symbols(character: char) -> (u8, Option<u8>) {
    if ends_line(character) { (b' ', None) } else { symbols_of(character) }
}

/// A line as symbols, for text that is not plain.
#[derive(Default)]
struct Line {
    symbols: Vec<u8>,
    /// Byte offset of each symbol's character, and the length of the text.
    offsets: Vec<usize>,
}

impl Line {
    /// Reads a text. Release 3.6.0 processes whole texts instead of lines, so it sees their line ends.
    fn read(&mut self, text: &str, release: Release) {
        self.symbols.clear();
        self.offsets.clear();
        for (offset, character) in text.char_indices() {
            let (first, second) = match release {
                Release::V3_4_1 => line_symbols(character),
                Release::V3_6_0 => symbols_of(character),
            };
            for symbol in std::iter::once(first).chain(second) {
                self.symbols.push(symbol);
                self.offsets.push(offset);
            }
        }
        self.offsets.push(text.len());
    }
}

/// Passes tokens in their final form to the sink, without those that are dropped.
#[derive(Default)]
struct Writer {
    options: Options,
    normalized: String,
    lowered: String,
    /// A token that ends in white space. The white space is dropped if no token follows.
    held: Option<String>,
}

impl Writer {
    fn start(&mut self, options: Options) {
        self.options = options;
        self.held = None;
    }

    /// Writes a Latin word, which is never dropped.
    #[inline(always)]
    fn write_latin(&mut self, word: LatinWord, sink: &mut impl FnMut(Token<'_>)) {
        self.write_held(sink);
        let lowered = if self.options.lowercase { each(0x20) } else { 0 };
        sink(Token::Latin(Short::of_letters(word.letters | lowered, word.length)));
    }

    #[inline]
    fn write_held(&mut self, sink: &mut impl FnMut(Token<'_>)) {
        if let Some(held) = self.held.take() {
            sink(Token::Text(&held));
        }
    }

    #[inline(never)]
    fn write(&mut self, text: &str, action: Action, sink: &mut impl FnMut(Token<'_>)) {
        self.write_held(sink);
        let mut token = normalize(action, text, &mut self.normalized);
        if self.options.lowercase && token.bytes().any(|byte| !byte.is_ascii() || byte.is_ascii_uppercase()) {
            self.lowered.clear();
            push_lowercase(token, &mut self.lowered);
            token = &self.lowered;
        }
        match self.options.punctuation {
            Punctuation::Keep => sink(Token::Text(token)),
            mode if is_dropped(token, mode) => {}
            _ if ends_in_white_space(token) => self.held = Some(token.to_owned()),
            _ => sink(Token::Text(token)),
        }
    }

    fn finish(&mut self, sink: &mut impl FnMut(Token<'_>)) {
        if let Some(held) = self.held.take() {
            sink(Token::Text(held.trim_end_matches(is_python_space)));
        }
    }
}

fn is_dropped(token: &str, punctuation: Punctuation) -> bool {
    match token {
        "''" | "'" | "``" | "`" | "." | "?" | "!" | "," | ":" | "-" | "--" | "..." | ";" => true,
        "-LRB-" | "-RRB-" | "-LCB-" | "-RCB-" => true,
        "-lrb-" | "-rrb-" | "-lcb-" | "-rcb-" => punctuation == Punctuation::Paper,
        _ => false,
    }
}

fn ends_in_white_space(token: &str) -> bool {
    match token.as_bytes().last() {
        Some(b'!'..=b'~') | None => false,
        Some(_) => token.ends_with(is_python_space),
    }
}

/// Returns whether a character is white space for Python's `str` methods: Unicode white space and the four
/// ASCII separators.
#[must_use]
pub fn is_python_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns every lexeme of a line, using only the automaton.
    fn lex_slowly(lexer: &mut Lexer, symbols: &[u8]) -> Vec<(usize, usize, Action)> {
        let mut found = Vec::new();
        let mut start = 0;
        while start < symbols.len() {
            // Without recorded runs of earlier attempts.
            let lexeme = lexer.next(symbols, start, &|_| {}, &mut Runs::default());
            assert!(start < lexeme.end && lexeme.end <= lexeme.text_end);
            assert!(lexeme.text_end <= symbols.len());
            found.push((start, lexeme.text_end, lexeme.action));
            start = lexeme.end;
        }
        found.retain(|&(_, _, action)| action != Action::Skip);
        found
    }

    fn check_short_cuts(text: &str) {
        check_short_cuts_of(text, Release::V3_4_1);
        check_short_cuts_of(text, Release::V3_6_0);
    }

    fn check_short_cuts_of(text: &str, release: Release) {
        let mut line = Line::default();
        line.read(text, release);
        let mut lexer = Lexer::new(release);
        let slow = lex_slowly(&mut lexer, &line.symbols);
        let mut slow = slow.into_iter();
        lex(&mut lexer, &line.symbols, &|_| {}, |found| {
            let (start, end, _) = slow.next().expect("a lexeme that the automaton does not find");
            match found {
                Found::Latin(LatinWord { letters, length }) => {
                    assert_eq!(letters.to_le_bytes()[..length], line.symbols[start..end], "in {text:?}");
                }
                Found::Lexeme { start: from, end: to, .. } => {
                    assert_eq!((from, to), (start, end), "in {text:?}");
                }
            }
        });
        assert_eq!(slow.next(), None, "in {text:?}");
    }

    #[test]
    fn final_white_space_of_a_token_is_kept_before_a_word() {
        let tokens = tokenize("see http://a.b/c\u{a0} dog", &Options::default());
        assert_eq!(tokens, ["see", "http://a.b/c\u{a0}", "dog"]);
    }

    /// The expected tokens are those of CoreNLP 3.6.0 with the annotators `tokenize,ssplit`.
    #[test]
    fn release_3_6_0_differs() {
        let cases: [(&str, &[&str]); 10] = [
            ("Wait.... A dog", &["Wait", "...", ".", "A", "dog"]),
            (". . . . A", &["...", ".", "A"]),
            ("E! is OK! magazine", &["E!", "is", "OK!", "magazine"]),
            ("f*cking sh*tty", &["f*cking", "sh*tty"]),
            ("my_file-name.mp4 x.3gp, too", &["my_file-name.mp4", "x.3gp", ",", "too"]),
            ("<STORYID cat=w pri=u>", &["<STORYID\u{a0}cat=w\u{a0}pri=u>"]),
            ("U.S. Did it", &["U.S.", ".", "Did", "it"]),
            ("O\u{2019}Malley", &["O'Malley"]),
            ("a == b v. the", &["a", "==", "b", "v.", "the"]),
            ("\u{95} \u{99} \u{2043}", &["\u{2022}", "\u{2122}", "\u{2043}"]),
        ];
        let options = Options { lowercase: false, punctuation: Punctuation::Keep };
        let mut tokenizer = Tokenizer::with_release(Release::V3_6_0);
        for (text, expected) in cases {
            let mut tokens = Vec::new();
            tokenizer.tokenize_into(text, &options, |token| tokens.push(token.to_owned()));
            assert_eq!(tokens, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn short_cuts_change_nothing(text in any::<String>()) {
            check_short_cuts(&text);
        }

        #[test]
        fn runs_change_nothing(
            pieces in prop::collection::vec(
                ("(o'a|a/|~a|'a|\u{1f600}|\u{200d}|<a |<a b='c' |<a b=\"|1,|a\\.|a-|a@|#a|&|http://|=|>|.| ){1,3}", 1..60_usize),
                1..5,
            )
        ) {
            check_short_cuts(&pieces.iter().map(|(piece, count)| piece.repeat(*count)).collect::<String>());
        }

        #[test]
        fn short_cuts_change_nothing_in_captions(
            text in "((cannot|Gonna|wanna|can|a|dog|Mr|c|etc|don't|x-y|5|[a-zA-Z]{13,50})[ .,\u{a0}\u{3000}]{1,2}){1,8}"
        ) {
            check_short_cuts(&text);
        }
    }
}
