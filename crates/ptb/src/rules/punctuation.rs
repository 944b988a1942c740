//! Quotes, brackets, dashes, ellipses, faces, symbols, white space.

use super::characters::{apostrophe, latin, latin_digit, letter, line_end, space, space_or_line_end};
use super::rule::{Action, End, Rule, rule, verbatim};
use crate::pattern::{Pattern, Repeat, Set, any_word, choice, literal, one_of, seq};
use crate::release::Release;
use crate::symbols::{
    APOSTROPHE, COMMA, ELLIPSIS, FRACTION_SLASH, HYPHEN_BULLET, IGNORED, NEXT_LINE, NO_BREAK_SPACE,
    OLD_BULLET, OLD_TRADEMARK, OPEN_QUOTE, QUOTE, SMALL_SIGN, SUPERSCRIPT, SYMBOL, UPPER_SYMBOL,
};

pub(super) fn double_quotes() -> Vec<Rule> {
    let quote = || any_word("\" &quot;");
    let opens = latin() | latin_digit() | one_of("$");
    vec![
        rule(seq![quote(), opens], End::Before(1), Action::Quotes { opening: true }),
        rule(quote(), End::Match, Action::Quotes { opening: false }),
        rule(Set::of(&[0x7f]), End::Match, Action::Skip),
    ]
}

pub(super) fn faces_and_brackets() -> Vec<Rule> {
    let face =
        seq![one_of("<>").optional(), one_of(":;="), one_of("-o*'").optional(), one_of("()DPdpO\\{@|[]"),];
    let outside = !(latin() | latin_digit());
    vec![
        rule(any_word("< &lt;"), End::Match, Action::Write("<")),
        rule(any_word("> &gt;"), End::Match, Action::Write(">")),
        rule(seq![face, outside], End::Before(1), Action::Brackets),
        rule(eastern_face(), End::Match, Action::Brackets),
        rule("{", End::Match, Action::Write("-LCB-")),
        rule("}", End::Match, Action::Write("-RCB-")),
        rule("[", End::Match, Action::Write("-LSB-")),
        rule("]", End::Match, Action::Write("-RSB-")),
        rule("(", End::Match, Action::Write("-LRB-")),
        rule(")", End::Match, Action::Write("-RRB-")),
    ]
}

/// Matches faces such as "-_-", "(^_^)", "(>-<)".
fn eastern_face() -> Pattern {
    let eye = || one_of("^x=~<>");
    let slit = || eye() | one_of("-'");
    let wink = || eye() | one_of("'");
    let mouth = one_of("_.").optional();
    // The reference tokenizer was meant to match a face with a dot for a mouth, but matches this.
    let dotted = seq![eye(), literal(".[^x="), (!one_of("<")).any_number(), literal("<>]"),];
    choice![
        dotted,
        seq![slit(), "_", slit()],
        seq!["(", slit(), mouth, slit(), ")"],
        seq!["(", wink(), "-", wink() | one_of("`"), ")"],
    ]
}

pub(super) fn marks(release: Release) -> Vec<Rule> {
    let many = |character: &str| literal(character).at_least_once();
    let stars = choice![many("*"), literal("\\*").between(1, 3)];
    let mut rules = vec![rule(many("-"), End::Match, Action::Hyphens)];
    rules.extend(ellipses(release));
    rules.extend([
        verbatim(choice![many("@"), many("#"), many("_"), stars]),
        verbatim(one_of(",;:.=/") | Set::of(&[COMMA])),
        verbatim(one_of("?!").at_least_once()),
    ]);
    if release == Release::V3_6_0 {
        rules.push(verbatim(many("=")));
    }
    rules
}

/// Rules for ellipses.
///
/// Release 3.6.0 matches any number of dots, but treats the last one as a full stop if a space and a letter
/// follow.
fn ellipses(release: Release) -> Vec<Rule> {
    let blank = || one_of(" ") | Set::of(&[NO_BREAK_SPACE]);
    let character = || Set::of(&[ELLIPSIS, NEXT_LINE]);
    let dots = |max: Option<u32>| literal(".").repeated(3, max);
    let spaced = |max: Option<u32>| seq![seq![".", blank()].repeated(2, max), "."];
    let write = Action::Write("...");
    if release == Release::V3_4_1 {
        return vec![rule(choice![dots(Some(5)), spaced(Some(4)), character()], End::Match, write)];
    }
    let next = || seq![".", space_or_line_end().at_least_once(), letter()];
    vec![
        rule(seq![choice![dots(None), character()], next()], End::Period(0), write),
        rule(seq![spaced(None), space(), next()], End::Period(1), write),
        rule(choice![dots(None), spaced(None), character()], End::Match, write),
    ]
}

pub(super) fn quotes_and_symbols(release: Release) -> Vec<Rule> {
    let curly = one_of("`") | Set::of(&[OPEN_QUOTE, APOSTROPHE, QUOTE]);
    let quotes = choice![apostrophe(), "''", curly.between(1, 2)];
    let symbol =
        one_of("+%&~^|\\") | Set::of(&[SYMBOL, UPPER_SYMBOL, SUPERSCRIPT, SMALL_SIGN, FRACTION_SLASH]);
    let mut rules = vec![
        rule(quotes, End::Match, Action::Quotes { opening: false }),
        verbatim(any_word("<< >>")),
        verbatim(symbol),
    ];
    if release == Release::V3_6_0 {
        rules.push(verbatim(Set::of(&[HYPHEN_BULLET])));
        rules.push(rule(Set::of(&[OLD_BULLET]), End::Match, Action::Write("\u{2022}")));
        rules.push(rule(Set::of(&[OLD_TRADEMARK]), End::Match, Action::Write("\u{2122}")));
    }
    rules
}

pub(super) fn spaces_and_unknown() -> Vec<Rule> {
    let ignored = Set::of(&[0, IGNORED]);
    vec![
        rule(choice![ignored, space().at_least_once(), line_end(), "&nbsp;"], End::Match, Action::Skip),
        rule(!Set::EMPTY, End::Match, Action::Skip),
    ]
}
