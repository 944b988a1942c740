//! Contractions that are split, and words with an inner apostrophe.

use super::characters::{apostrophe, apostrophe_like, latin, latin_digit, latin_upper, letter};
use super::rule::{Action, End, Rule, rule};
use crate::pattern::{Pattern, Repeat, Set, any_word, choice, exact, one_of, seq};
use crate::release::Release;
use crate::symbols::NO_BREAK_SPACE;

/// Matches "'s", "'m", "'d", "'re", "'ve", "'ll".
pub(super) fn ending() -> Pattern {
    seq![apostrophe(), choice![one_of("msdMSD"), any_word("re ve ll")]]
}

/// Matches "n't".
pub(super) fn negation() -> Pattern {
    seq!["n", apostrophe_like(), "t"]
}

/// Rules for two words written as one. The token is the first word, and the next match starts at the second.
pub(super) fn joined_words() -> Vec<Rule> {
    vec![
        rule("cannot", End::Before(3), Action::Keep),
        rule("'twas", End::Before(3), Action::Keep),
        rule("'tis", End::Before(2), Action::Keep),
        rule(any_word("gonna gotta lemme gimme wanna"), End::Before(2), Action::Keep),
    ]
}

/// Rules for words with an apostrophe. Release 3.6.0 converts their apostrophe like other quotes.
pub(super) fn apostrophe_words(release: Release) -> Vec<Rule> {
    let action = match release {
        Release::V3_4_1 => Action::Keep,
        Release::V3_6_0 => Action::Quotes { opening: false },
    };
    let letters = || letter().any_number();
    let whole_words = any_word("cont'd cont'd. 'twas nor'easter c'mon e'er s'mores ev'ry li'l nat'l");
    // Names such as O'Neil: a capital or n, an apostrophe, and two or more letters. After the pronouns I and
    // Y ("I'll", "y'all"), the word is split.
    let name_start = (latin_upper() - one_of("IY")) | one_of("n");
    let vowel_before = seq![letter(), letters(), one_of("aeiouyAEIOUY")];
    let with_apostrophe = choice![
        seq![apostrophe(), "n", apostrophe().optional()],
        seq![one_of("lLdDjJ"), apostrophe()],
        seq![any_word("dunkin somethin ol"), apostrophe()],
        seq![apostrophe(), any_word("em til till cause")],
        seq![name_start, apostrophe_like(), letter(), letter(), letters()],
        seq![apostrophe(), Set::range(b'2', b'9'), "0s"],
        seq![vowel_before, apostrophe_like(), one_of("aeiou") | latin_upper(), letters()],
        seq!["o", apostrophe_like(), "o"],
        whole_words,
    ];
    vec![
        rule(with_apostrophe, End::Match, action),
        rule(seq!["y", apostrophe(), letter()], End::Before(1), Action::Keep),
    ]
}

/// Rules for endings such as "'s" and "n't" as separate tokens, if no Latin letter follows.
pub(super) fn endings() -> Vec<Rule> {
    let closing = Action::Quotes { opening: false };
    vec![
        rule(seq![ending(), !latin()], End::Before(1), closing),
        rule(seq![negation(), !latin()], End::Before(1), closing),
    ]
}

pub(super) fn leading_and_final_apostrophes() -> Vec<Rule> {
    let closing = Action::Quotes { opening: false };
    let blank = one_of(" \t\n\r") | Set::of(&[NO_BREAK_SPACE]);
    vec![
        // This apostrophe counts as an opening quote.
        rule(seq![exact('\''), latin(), !blank], End::First, Action::Quotes { opening: true }),
        rule(ending(), End::Match, closing),
        rule(negation(), End::Match, closing),
    ]
}

/// Matches years such as "'98".
pub(super) fn short_year() -> Pattern {
    seq![apostrophe(), latin_digit(), latin_digit()]
}
