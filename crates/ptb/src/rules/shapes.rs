//! Words, and the compounds of words, letters and digits.

use super::contractions::{apostrophe, apostrophe_like};
use super::{Action, End, Rule, abbreviations, rule, verbatim};
use crate::pattern::{Pattern, Repeat, Set, any_word, choice, literal, one_of, seq};
use crate::symbols::{
    APOSTROPHE, COMMA, DIGIT, DOTLESS_I, DOTTED_I, HYPHEN, KELVIN, LETTER, LINE_END, LONG_S, MARK, NEXT_LINE,
    NO_BREAK_SPACE, SOFT_HYPHEN, SPACE, UPPER, UPPER_NUMERAL, UPPER_SYMBOL,
};

pub(super) fn latin_upper() -> Set {
    Set::range(b'A', b'Z')
}

pub(super) fn latin() -> Set {
    latin_upper() | Set::range(b'a', b'z')
}

pub(super) fn latin_digit() -> Set {
    Set::range(b'0', b'9')
}

pub(super) fn digit() -> Set {
    latin_digit() | Set::of(&[DIGIT])
}

pub(super) fn letter() -> Set {
    latin() | Set::of(&[LETTER, UPPER, LONG_S, KELVIN, DOTLESS_I, DOTTED_I])
}

pub(super) fn upper() -> Set {
    latin_upper() | Set::of(&[UPPER, KELVIN, DOTTED_I, UPPER_SYMBOL, UPPER_NUMERAL])
}

pub(super) fn space() -> Set {
    one_of(" \t") | Set::of(&[SPACE, NO_BREAK_SPACE])
}

pub(super) fn line_end() -> Pattern {
    let single = one_of("\n\r\u{b}\u{c}") | Set::of(&[LINE_END, NEXT_LINE]);
    choice![single, "\r\n"]
}

pub(super) fn space_or_line_end() -> Pattern {
    choice![space(), line_end()]
}

/// Commas, colons and semicolons: a period before them is part of the word.
fn inner_punctuation() -> Set {
    one_of(",;:") | Set::of(&[COMMA])
}

/// A letter as words have it: also a mark, a soft hyphen, or the entity of an accented vowel.
pub(super) fn word_letter() -> Pattern {
    let entity = seq!["&", one_of("aeiouAEIOU"), any_word("acute grave uml"), ";"];
    choice![letter() | Set::of(&[MARK, SOFT_HYPHEN]), entity]
}

fn alphanumeric() -> Pattern {
    choice![word_letter(), digit()]
}

/// Letters, then letters and digits; a period, exclamation or question mark may join two.
pub(super) fn word() -> Pattern {
    let run = || seq![word_letter(), alphanumeric().any_number()];
    seq![run(), seq![one_of(".!?"), run()].any_number()]
}

pub(super) fn programming_languages() -> Vec<Rule> {
    vec![verbatim("c++"), verbatim(any_word("c# f#"))]
}

pub(super) fn words() -> Vec<Rule> {
    // "n't" takes its n from the word before, which then must not end in another n.
    let negated = seq![
        (latin() | Set::of(&[SOFT_HYPHEN])).any_number(),
        latin() - one_of("nN"),
        Set::of(&[SOFT_HYPHEN]).any_number(),
    ];
    vec![
        rule(seq![word(), super::contractions::ending()], End::Apostrophe(0), Action::DropSoftHyphens),
        rule(seq![negated, super::contractions::negation()], End::Apostrophe(1), Action::DropSoftHyphens),
        rule(word(), End::Match, Action::DropSoftHyphens),
    ]
}

/// Forms that are peculiar to the Treebank, and words joined by slashes.
pub(super) fn treebank_compounds() -> Vec<Rule> {
    let standard_and_poor = || seq!["s", any_word("& &amp;")];
    let special = choice![
        any_word("-rrb- -lrb- -rcb- -lcb- -rsb- -lsb- c.d.s pro- anti-"),
        seq![standard_and_poor(), "p-500"],
        seq![standard_and_poor(), "ls"],
        seq!["cap", apostrophe(), "n"],
        seq!["c", apostrophe(), "est"],
    ];
    let hyphenated = || {
        let plain = latin() | latin_digit();
        let tail = seq!["-", latin().at_least_once()];
        seq![plain.at_least_once(), tail.between(0, 2)]
    };
    let slash = seq![literal("\\").optional(), "/"];
    let slashed = seq![hyphenated(), seq![slash, hyphenated()].between(1, 2)];
    vec![rule(special, End::Match, Action::Ampersand), verbatim(slashed)]
}

/// File names and abbreviated words, told by what comes after them.
pub(super) fn before_punctuation() -> Vec<Rule> {
    let extension = any_word(
        "bat bmp c class cgi cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov mp3 \
         pdf php pl png ppt ps py sql tar txt wav x xml zip",
    );
    let stem = || alphanumeric().at_least_once();
    let file_name = seq![stem(), seq![".", stem()].any_number(), ".", extension];
    vec![
        rule(seq![file_name, choice![space_or_line_end(), one_of(".?!,")]], End::Space(1), Action::Keep),
        rule(seq![word(), ".", inner_punctuation()], End::Before(1), Action::DropSoftHyphens),
    ]
}

/// Words and numbers joined by hyphens or ampersands. Each may keep a period before a comma.
pub(super) fn compounds() -> Vec<Rule> {
    let forms = [
        (hyphenated_with_dots(), Action::DropSoftHyphens),
        (hyphenated(), Action::Keep),
        (joined_capitals(), Action::Ampersand),
    ];
    forms
        .into_iter()
        .flat_map(|(form, action)| {
            let before_comma = seq![form.clone(), ".", inner_punctuation()];
            [rule(before_comma, End::Before(1), action), rule(form, End::Match, action)]
        })
        .collect()
}

/// Latin letters, digits, periods and commas up to a hyphen, as in "U.S.-based".
fn hyphenated_with_dots() -> Pattern {
    let plain = latin() | latin_digit();
    let soft = Set::of(&[SOFT_HYPHEN]);
    let tail = choice![(plain | soft).at_least_once(), seq![abbreviations::dotted_letters(), "."],];
    seq![plain, (plain | one_of(".,") | soft).any_number(), seq!["-", tail].at_least_once(),]
}

/// Letters and digits of any script joined by hyphens or low lines, with French elisions.
fn hyphenated() -> Pattern {
    let sign = letter() | digit();
    let elided = || seq![one_of("dDoOlL"), apostrophe_like(), sign].optional();
    let part = || seq![elided(), sign.at_least_once()];
    let hyphen = one_of("-_") | Set::of(&[HYPHEN]);
    seq![part(), seq![hyphen, part()].any_number()]
}

/// "AT&T", "R+D".
fn joined_capitals() -> Pattern {
    let capitals = || latin_upper().at_least_once();
    let joint = choice![one_of("+&"), "&amp;"];
    seq![capitals(), seq![joint, capitals()].at_least_once()]
}

/// Whether a symbol is white space within a line.
pub(crate) fn is_space(symbol: u8) -> bool {
    matches!(symbol, b' ' | b'\t' | SPACE | NO_BREAK_SPACE)
}

/// Whether a symbol is white space or a line end.
pub(crate) fn is_white_space(symbol: u8) -> bool {
    is_space(symbol) || matches!(symbol, b'\n'..=b'\r' | LINE_END | NEXT_LINE)
}

/// Whether a symbol can be the apostrophe of a contraction; a semicolon ends its entity.
pub(crate) fn is_apostrophe(symbol: u8) -> bool {
    matches!(symbol, b'\'' | b'`' | b';' | APOSTROPHE | crate::symbols::OPEN_QUOTE)
}
