//! Options, the effect of following lines on a line, and properties of any text.

use capeval_ptb::{Options, Punctuation, Tokenizer, is_python_space, tokenize};
use proptest::prelude::*;

const KEEP: Options = Options { lowercase: false, punctuation: Punctuation::Keep };

fn with(punctuation: Punctuation) -> Options {
    Options { punctuation, ..Options::default() }
}

fn followed(text: &str, following: &[&str]) -> Vec<String> {
    let mut tokens = Vec::new();
    Tokenizer::new().tokenize_in_batch(text, following, &KEEP, |t| tokens.push(t.to_owned()));
    tokens
}

#[test]
fn the_default_options_are_those_of_published_scores() {
    let tokens = tokenize("A \"Red\" bus (No. 7) can't stop -- ever.", &Options::default());
    assert_eq!(tokens, ["a", "red", "bus", "-lrb-", "no.", "7", "-rrb-", "ca", "n't", "stop", "ever"]);
}

#[test]
fn punctuation_modes_differ_in_brackets() {
    let text = "(A) {B} [C].";
    let keep = ["-lrb-", "a", "-rrb-", "-lcb-", "b", "-rcb-", "-lsb-", "c", "-rsb-", "."];
    assert_eq!(tokenize(text, &with(Punctuation::Keep)), keep);
    assert_eq!(tokenize(text, &with(Punctuation::Reference)), keep[..9]);
    assert_eq!(tokenize(text, &with(Punctuation::Paper)), ["a", "b", "-lsb-", "c", "-rsb-"]);
    let cased = Options { lowercase: false, punctuation: Punctuation::Reference };
    assert_eq!(tokenize(text, &cased), ["A", "B", "-LSB-", "C", "-RSB-"]);
}

#[test]
fn dropped_punctuation_matches_the_reference() {
    let dropped = "'' ' `` ` . ? ! , : - -- ... ;";
    assert!(tokenize(dropped, &Options::default()).is_empty());
    assert_eq!(tokenize("?! !! ----- / * & _", &Options::default()).len(), 7);
}

#[test]
fn white_space_after_the_last_token_is_dropped() {
    // The last character of an address may be a no-break space.
    let text = "see http://a.b/c\u{a0}";
    assert_eq!(tokenize(text, &with(Punctuation::Keep)), ["see", "http://a.b/c\u{a0}"]);
    assert_eq!(tokenize(text, &with(Punctuation::Reference)), ["see", "http://a.b/c"]);
    // It may also be a separator that is white space only for Python.
    assert_eq!(tokenize("0@\u{1c}", &with(Punctuation::Keep)), ["0@\u{1c}"]);
    assert_eq!(tokenize("0@\u{1c}", &with(Punctuation::Paper)), ["0@"]);
    let inside = "http://a.b/c\u{a0} .";
    assert_eq!(tokenize(inside, &with(Punctuation::Reference)), ["http://a.b/c\u{a0}"]);
}

#[test]
fn empty_captions_have_no_tokens() {
    for text in ["", "  \t ", "\u{a0}", "\n", "...", "\u{1f600}"] {
        assert!(tokenize(text, &Options::default()).is_empty(), "for {text:?}");
    }
}

#[test]
fn lower_case_matches_java() {
    let lower = |text: &str| tokenize(text, &Options::default()).join(" ");
    assert_eq!(lower("ΟΔΟΣ ΟΔΟΣ-Α Σ ΣΑΣ."), "οδος οδοσ-α σ σας");
    assert_eq!(lower("İSTANBUL Kelvin ẞ ǅ"), "i̇stanbul kelvin ß ǆ");
    // A letter pair added in Unicode 14.
    assert_eq!(lower("http://x/\u{2c2f}A"), "http://x/\u{2c2f}a");
}

#[test]
fn following_lines_affect_a_line() {
    assert_eq!(followed("section B.", &["A man"]), ["section", "B", "."]);
    assert_eq!(followed("section B.", &["a man"]), ["section", "B."]);
    assert_eq!(followed("section B.", &["", "The end", "x"]), ["section", "B", "."]);
    assert_eq!(followed("section B.", &[]), ["section", "B."]);
    assert_eq!(followed("hi :)", &["x"]), ["hi", ":-RRB-"]);
    assert_eq!(followed("hi :)", &[]), ["hi", ":", "-RRB-"]);
    assert_eq!(followed("Acme Co.", &["the"]), ["Acme", "Co."]);
    assert_eq!(followed("Acme Co.", &["The"]), ["Acme", "Co.", "."]);
    assert_eq!(followed("Acme Co.", &[]), ["Acme", "Co.", "."]);
}

#[test]
fn a_token_never_extends_into_the_next_line() {
    assert_eq!(followed("<a b='x", &["y'> z"]), ["<", "a", "b", "=", "'", "x"]);
}

/// Generates text that reaches many rules.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<Vec<u8>>().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        any::<String>(),
        "[a-cA-C0-2.,:;'\"`()<>&/@#$=^_ -]{0,24}",
        "((Mr|etc|U\\.S|Co|no|he)\\.? ?('s|n't|&amp;|&apos;|5|The |<b>|:\\)|[\\n\\r\u{85}\u{2028}])?){0,6}",
    ]
}

proptest! {
    #[test]
    fn any_text_is_tokenized(text in any_text(), next in any_text(), lowercase: bool) {
        for punctuation in [Punctuation::Keep, Punctuation::Reference, Punctuation::Paper] {
            let options = Options { lowercase, punctuation };
            Tokenizer::new().tokenize_in_batch(&text, &[&next], &options, |token| {
                assert!(!token.is_empty() && !token.contains([' ', '\n', '\r']));
            });
        }
    }

    #[test]
    fn a_tokenizer_keeps_no_state_between_captions(first in any_text(), second in any_text()) {
        let mut tokenizer = Tokenizer::new();
        let mut tokens = Vec::new();
        tokenizer.tokenize_into(&first, &Options::default(), |_| ());
        tokenizer.tokenize_into(&second, &Options::default(), |t| tokens.push(t.to_owned()));
        prop_assert_eq!(tokens, tokenize(&second, &Options::default()));
    }

    #[test]
    fn line_ends_count_as_spaces(text in any_text(), end in "[\\n\\r\u{b}\u{c}\u{2028}\u{2029}]") {
        let spaced = text.replace(['\n', '\r', '\u{b}', '\u{c}', '\u{2028}', '\u{2029}'], " ");
        let ended = spaced.replace(' ', &end);
        prop_assert_eq!(tokenize(&ended, &KEEP), tokenize(&spaced, &KEEP));
        prop_assert_eq!(tokenize(&text, &KEEP), tokenize(&spaced, &KEEP));
    }

    #[test]
    fn tokens_are_in_text_order(text in "[a-zA-Z0-9, ]{0,40}") {
        let joined = tokenize(&text, &KEEP).concat().replace('\u{a0}', "");
        prop_assert_eq!(joined, text.replace(' ', ""));
    }

    #[test]
    fn plain_tokens_are_unchanged(text in "[a-z, ]{0,40}") {
        let tokens = tokenize(&text, &KEEP);
        prop_assert_eq!(tokenize(&tokens.join(" "), &KEEP), tokens);
    }

    #[test]
    fn dropping_punctuation_changes_no_other_tokens(text in any_text()) {
        let keep = tokenize(&text, &with(Punctuation::Keep));
        let mut rest = keep.iter().map(|token| token.trim_end_matches(is_python_space));
        for token in tokenize(&text, &with(Punctuation::Paper)) {
            prop_assert!(rest.any(|kept| kept == token.trim_end_matches(is_python_space)));
        }
    }
}
