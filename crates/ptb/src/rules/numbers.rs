//! Numbers, dates, fractions, money and telephone numbers.

use super::characters::{digit, latin_digit, latin_upper};
use super::rule::{Action, End, Rule, rule, verbatim};
use crate::pattern::{Pattern, Repeat, Set, choice, literal, one_of, seq};
use crate::symbols::{
    CURRENCY, FRACTION, FRACTION_SLASH, NO_BREAK_SPACE, SEPARATOR, SMALL_SIGN, SOFT_HYPHEN, SUBSCRIPT,
    SUPERSCRIPT,
};

fn digits(min: u32, max: u32) -> Pattern {
    digit().between(min, max)
}

fn number() -> Pattern {
    let some = || digit().at_least_once();
    let separator = one_of(".:,") | Set::of(&[SOFT_HYPHEN, SEPARATOR]);
    let separated = seq![digit().any_number(), seq![separator, some()].at_least_once(),];
    seq![one_of("-+").optional(), choice![some(), separated]]
}

/// Matches fractions with numbers of up to four digits: "3/4", "25 1/2", "25-1/2".
fn fraction() -> Pattern {
    let joint = one_of("- ") | Set::of(&[NO_BREAK_SPACE]);
    let slash = choice![seq![literal("\\").optional(), "/"], Set::of(&[FRACTION_SLASH])];
    seq![seq![digits(1, 4), joint].optional(), digits(1, 4), slash, digits(1, 4)]
}

pub(super) fn numbers() -> Vec<Rule> {
    let part = |min, max| digits(min, max);
    let separator = || one_of("-/");
    let date = seq![part(1, 2), separator(), part(1, 2), separator(), part(2, 4)];
    let raised = Set::of(&[SUPERSCRIPT]).at_least_once();
    let lowered = Set::of(&[SUBSCRIPT]).at_least_once();
    let index = seq![Set::of(&[SMALL_SIGN]).optional(), choice![raised, lowered]];
    vec![
        verbatim(date),
        rule(number(), End::Match, Action::DropSoftHyphens),
        verbatim(index),
        rule(fraction(), End::Match, Action::NoBreak),
        rule(Set::of(&[FRACTION]), End::Match, Action::Fraction),
    ]
}

pub(super) fn currencies() -> Vec<Rule> {
    let dollars = seq![latin_upper().any_number(), "$"];
    vec![verbatim(choice![dollars, "#"]), rule(Set::of(&[CURRENCY]), End::Match, Action::Currency)]
}

pub(super) fn phones() -> Vec<Rule> {
    let part = |min, max| latin_digit().between(min, max);
    let blank = || one_of(" ") | Set::of(&[NO_BREAK_SPACE]);
    let joint = || blank() | one_of("-");
    let plus = || literal("+").between(0, 2);
    let in_brackets = seq!["(", part(2, 3), ")", blank().optional()];
    let in_front = seq![plus(), seq![part(2, 4), joint()].optional(), part(2, 4), joint()];
    let spaced = seq![choice![in_brackets, in_front], part(3, 4), joint().optional(), part(3, 5),];
    let dotted =
        seq![seq![plus(), part(2, 4), "."].optional(), part(2, 4), ".", part(3, 4), ".", part(3, 5),];
    vec![rule(choice![spaced, dotted], End::Match, Action::Phone)]
}
