//! Turns a caption into tokens.

use crate::lexer::{Following, Lexer};
use crate::lowercase::push_lowercase;
use crate::normalize::normalize;
use crate::release::Release;
use crate::rules::{Action, is_space};
use crate::runs::Runs;
use crate::symbols::{ends_line, symbols_of};
use crate::token::{Short, Token};
use std::ops::ControlFlow;

/// Which tokens of punctuation are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Punctuation {
    /// None: the tokens are those of the Stanford tokenizer.
    Keep,
    /// Those that the evaluation code of COCO drops: `'' ' `` ` . ? ! , : - -- ... ;` and the
    /// upper-case names of brackets, `-LRB- -RRB- -LCB- -RCB-`.
    ///
    /// It compares tokens after they are lower-cased, so lower-cased names of brackets stay. White
    /// space at the end of the last token is dropped too.
    #[default]
    Reference,
    /// Those that the paper lists: names of brackets in lower case are dropped as well.
    Paper,
}

/// What to do with tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Write tokens in lower case.
    pub lowercase: bool,
    /// Which tokens to drop.
    pub punctuation: Punctuation,
}

impl Default for Options {
    /// Those of published scores: lower case, and the reference's choice of punctuation.
    fn default() -> Options {
        Options { lowercase: true, punctuation: Punctuation::Reference }
    }
}

/// The tokens of one caption. For many captions, keep a [`Tokenizer`].
pub fn tokenize(text: &str, options: &Options) -> Vec<String> {
    let mut tokens = Vec::new();
    Tokenizer::new().tokenize_into(text, options, |token| tokens.push(token.to_owned()));
    tokens
}

/// A tokenizer with its working memory. Use one a thread, for any number of captions.
pub struct Tokenizer {
    release: Release,
    lexer: Lexer,
    line: Line,
    writer: Writer,
}

impl Default for Tokenizer {
    fn default() -> Tokenizer {
        Tokenizer::new()
    }
}

impl Tokenizer {
    /// A tokenizer of release 3.4.1.
    pub fn new() -> Tokenizer {
        Tokenizer::with_release(Release::V3_4_1)
    }

    /// A tokenizer of some release of CoreNLP.
    pub fn with_release(release: Release) -> Tokenizer {
        Tokenizer { release, lexer: Lexer::new(release), line: Line::default(), writer: Writer::default() }
    }

    /// Passes the tokens of a caption to `sink`, in order. The caption stands alone, as the
    /// only line of its file.
    ///
    /// Line ends inside the caption (`\n`, `\r`, U+000B, U+000C, U+2028, U+2029) each count
    /// as one space.
    pub fn tokenize_into(&mut self, text: &str, options: &Options, sink: impl FnMut(&str)) {
        self.tokenize_in_batch::<&str>(text, &[], options, sink);
    }

    /// Like [`tokenize_into`](Self::tokenize_into), for a caption with others after it in the
    /// same file, one a line.
    ///
    /// The Stanford tokenizer looks past the end of a line: after an abbreviation ("section
    /// B.") a capital on the next line makes its period a token of its own, and a face
    /// (":)") is one only if anything follows. So the tokens of a caption depend a little on
    /// the captions after it; to get exactly the reference's tokens, pass these captions.
    pub fn tokenize_in_batch<S: AsRef<str>>(
        &mut self,
        text: &str,
        following: &[S],
        options: &Options,
        mut sink: impl FnMut(&str),
    ) {
        self.tokens_in_batch(text, following, options, |token| token.with_str(&mut sink));
    }

    /// Like [`tokenize_in_batch`](Self::tokenize_in_batch), with short words as numbers: they are quicker to compare.
    // Inlined all the way to the sink, words stay in registers, which spares a tenth of the time.
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

/// Whether a text is its own line of symbols: ASCII without line ends.
fn is_plain(text: &str) -> bool {
    // Not `any`, which stops early: this looks at many bytes at a time.
    !text.bytes().fold(false, |other, byte| other | !byte.is_ascii() | matches!(byte, b'\n'..=b'\r'))
}

/// What is found in a line.
enum Found {
    Latin(LatinWord),
    /// Symbols from `start` to `end`.
    Lexeme {
        start: usize,
        end: usize,
        action: Action,
    },
}

/// Passes on what is found in a line, from its start to its end.
#[inline(always)]
fn lex(lexer: &mut Lexer, symbols: &[u8], following: Following, mut emit: impl FnMut(Found)) {
    let mut start = 0;
    let mut runs = Runs::default();
    while start < symbols.len() {
        if symbols[start] == b' ' {
            // No token starts with a space. All spaces of any kind are skipped at once, since a
            // rarer kind of space alone could start an address.
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

/// A word of at most 15 Latin letters with a space or nothing after it.
///
/// Most words of a caption are such words. The automaton finds the same end, but more slowly.
struct LatinWord {
    /// The letters, the first one in the lowest bits; what is above them is not the word's.
    letters: u128,
    length: usize,
}

impl LatinWord {
    /// The word at `start`. Only joined words such as "cannot" have rules that split them, and are left to these.
    #[inline(always)]
    fn at(symbols: &[u8], start: usize) -> Option<LatinWord> {
        let letters = sixteen(symbols, start);
        let length = letters_first(letters);
        let is_alone = symbols.get(start + length).is_none_or(|&symbol| symbol == b' ');
        let is_word = (1..=Short::LONGEST).contains(&length) && is_alone;
        (is_word && !is_joined(letters, length)).then_some(LatinWord { letters, length })
    }
}

/// A number with a byte in each of its bytes.
const fn each(byte: u8) -> u128 {
    u128::MAX / 0xff * byte as u128
}

/// The sixteen symbols from `start` on, the first one in the lowest bits, and zeros after the last.
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

/// How many of sixteen symbols are Latin letters before the first that is not.
#[inline]
fn letters_first(symbols: u128) -> usize {
    // The highest bit of each byte says whether the byte is a letter; no sum of two bytes reaches the next.
    let lower = (symbols | each(0x20)) & each(0x7f);
    let from_a = lower + each(0x80 - b'a');
    let after_z = lower + each(0x7f - b'z');
    let others = (!from_a | after_z | symbols) & each(0x80);
    (others.trailing_zeros() / 8) as usize
}

/// The end of the Latin word at `start` that is too long for a [`LatinWord`], if a space or nothing comes after it.
fn long_word(symbols: &[u8], start: usize) -> Option<usize> {
    let length = symbols[start..].iter().take_while(|symbol| symbol.is_ascii_alphabetic()).count();
    let is_alone = symbols.get(start + length).is_none_or(|&symbol| symbol == b' ');
    (length > Short::LONGEST && is_alone).then_some(start + length)
}

/// Whether letters are one of the words that rules split.
#[inline]
fn is_joined(letters: u128, length: usize) -> bool {
    const JOINED: [&[u8]; 6] = [b"cannot", b"gonna", b"gotta", b"lemme", b"gimme", b"wanna"];
    const INITIALS: u32 = 1 << (b'c' & 0x1f) | 1 << (b'g' & 0x1f) | 1 << (b'l' & 0x1f) | 1 << (b'w' & 0x1f);
    // One condition, which is seldom true: neither the length nor the initial alone can be foretold.
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
    /// The byte at which each symbol's character starts, and the length of the text.
    offsets: Vec<usize>,
}

impl Line {
    /// Release 3.6.0 is given whole texts, not lines, so that it sees their line ends.
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

/// Passes on tokens in their final form, without those that are dropped.
#[derive(Default)]
struct Writer {
    options: Options,
    normalized: String,
    lowered: String,
    /// A token that ends in white space; the white space is dropped if no token follows.
    held: Option<String>,
}

impl Writer {
    fn start(&mut self, options: Options) {
        self.options = options;
        self.held = None;
    }

    /// Writes a Latin word; these are never dropped.
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

/// White space as Python's `str` methods know it: that of Unicode and the four separators of ASCII.
#[must_use]
pub fn is_python_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every lexeme of a line, by the automaton alone.
    fn lex_slowly(lexer: &mut Lexer, symbols: &[u8]) -> Vec<(usize, usize, Action)> {
        let mut found = Vec::new();
        let mut start = 0;
        while start < symbols.len() {
            // Without the runs of earlier attempts.
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
    fn white_space_at_the_end_of_a_token_comes_before_a_word() {
        let tokens = tokenize("see http://a.b/c\u{a0} dog", &Options::default());
        assert_eq!(tokens, ["see", "http://a.b/c\u{a0}", "dog"]);
    }

    /// As CoreNLP 3.6.0 with the annotators `tokenize,ssplit` gives them.
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
