//! Words, and compounds of words, letters and digits.

use super::abbreviations::dotted_letters;
use super::characters::{
    apostrophe, apostrophe_like, digit, latin, latin_digit, latin_upper, letter, space_or_line_end,
    word_letter,
};
use super::contractions::{ending, negation};
use super::rule::{Action, End, Rule, rule, verbatim};
use crate::pattern::{Pattern, Repeat, Set, any_word, choice, literal, one_of, seq};
use crate::release::Release;
use crate::symbols::{COMMA, HYPHEN, SOFT_HYPHEN};

/// Matches commas, colons and semicolons. A period before one of them is part of the preceding word.
fn inner_punctuation() -> Set {
    one_of(",;:") | Set::of(&[COMMA])
}

fn alphanumeric() -> Pattern {
    choice![word_letter(), digit()]
}

/// Matches letters, then letters and digits.
///
/// Periods, exclamation marks and question marks may join two such parts.
pub(super) fn word() -> Pattern {
    let run = || seq![word_letter(), alphanumeric().any_number()];
    seq![run(), seq![one_of(".!?"), run()].any_number()]
}

pub(super) fn programming_languages() -> Vec<Rule> {
    vec![verbatim("c++"), verbatim(any_word("c# f#"))]
}

pub(super) fn words() -> Vec<Rule> {
    // "n't" includes the n of the preceding word, which then must not end in another n.
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

/// Rules for forms specific to the Treebank, and for words joined by slashes.
pub(super) fn treebank_compounds(release: Release) -> Vec<Rule> {
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
    let mut rules = vec![rule(special, End::Match, Action::Ampersand)];
    if release == Release::V3_6_0 {
        rules.extend(with_signs_inside());
    }
    rules.push(verbatim(slashed));
    rules
}

/// Rules for swear words with asterisks in place of letters, and for names with an exclamation mark.
fn with_signs_inside() -> [Rule; 3] {
    let first = seq!["f*", one_of("cC*"), "k"];
    let endings = choice![any_word("in' ing ed er"), ""];
    let second = seq!["sh*t", choice!["ty", ""]];
    let magazine = seq!["ok!", space_or_line_end(), "magazine"];
    [
        verbatim(choice![seq![first, endings], second]),
        verbatim(any_word("e! yahoo! jeopardy!")),
        rule(magazine, End::Space(0), Action::Keep),
    ]
}

/// Rules for file names and words with a period, which are recognized by the following symbols.
pub(super) fn before_punctuation(release: Release) -> Vec<Rule> {
    let mut extension = any_word(
        "bat bmp c class cgi cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov mp3 \
         pdf php pl png ppt ps py sql tar txt wav x xml zip",
    );
    let stem = || alphanumeric().at_least_once();
    let mut joint = one_of(".");
    if release == Release::V3_6_0 {
        joint = one_of("._-");
        extension = choice![extension, any_word("bz2 3gp wmv wma avi flv mp4 mpg")];
    }
    let file_name = seq![stem(), seq![joint, stem()].any_number(), ".", extension];
    vec![
        rule(seq![file_name, choice![space_or_line_end(), one_of(".?!,")]], End::Space(1), Action::Keep),
        rule(seq![word(), ".", inner_punctuation()], End::Before(1), Action::DropSoftHyphens),
    ]
}

/// Rules for words and numbers joined by hyphens or ampersands.
///
/// Before a comma, a final period is part of the token.
///
/// Release 3.6.0 converts an apostrophe in a compound like other quotes.
pub(super) fn compounds(release: Release) -> Vec<Rule> {
    let with_elision = match release {
        Release::V3_4_1 => Action::Keep,
        Release::V3_6_0 => Action::Quotes { opening: false },
    };
    let forms = [
        (hyphenated_with_dots(), Action::DropSoftHyphens),
        (hyphenated(), with_elision),
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

/// Matches Latin letters, digits, periods and commas before a hyphen, such as "U.S.-based".
fn hyphenated_with_dots() -> Pattern {
    let plain = latin() | latin_digit();
    let soft = Set::of(&[SOFT_HYPHEN]);
    let tail = choice![(plain | soft).at_least_once(), seq![dotted_letters(), "."],];
    seq![plain, (plain | one_of(".,") | soft).any_number(), seq!["-", tail].at_least_once(),]
}

/// Matches letters and digits of any script joined by hyphens or underscores, with French elisions.
fn hyphenated() -> Pattern {
    let sign = letter() | digit();
    let elided = || seq![one_of("dDoOlL"), apostrophe_like(), sign].optional();
    let part = || seq![elided(), sign.at_least_once()];
    let hyphen = one_of("-_") | Set::of(&[HYPHEN]);
    seq![part(), seq![hyphen, part()].any_number()]
}

/// Matches "AT&T", "R+D".
fn joined_capitals() -> Pattern {
    let capitals = || latin_upper().at_least_once();
    let joint = choice![one_of("+&"), "&amp;"];
    seq![capitals(), seq![joint, capitals()].at_least_once()]
}
