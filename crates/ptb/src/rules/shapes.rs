//! Words, and the compounds of words, letters and digits.

use super::abbreviations::dotted_letters;
use super::characters::{
    apostrophe, apostrophe_like, digit, latin, latin_digit, latin_upper, letter, space_or_line_end,
    word_letter,
};
use super::contractions::{ending, negation};
use super::rule::{Action, End, Rule, rule, verbatim};
use crate::pattern::{Pattern, Repeat, Set, any_word, choice, literal, one_of, seq};
use crate::symbols::{COMMA, HYPHEN, SOFT_HYPHEN};

/// Commas, colons and semicolons: a period before them is part of the word.
fn inner_punctuation() -> Set {
    one_of(",;:") | Set::of(&[COMMA])
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
        rule(seq![word(), ending()], End::Apostrophe(0), Action::DropSoftHyphens),
        rule(seq![negated, negation()], End::Apostrophe(1), Action::DropSoftHyphens),
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
    let tail = choice![(plain | soft).at_least_once(), seq![dotted_letters(), "."],];
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
