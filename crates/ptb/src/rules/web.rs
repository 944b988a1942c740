//! Markup and entities, addresses, and names on social networks.

use super::characters::{latin, latin_digit, word_letter};
use super::rule::{Action, End, Rule, rule, verbatim};
use crate::pattern::{Pattern, Repeat, Set, any_word, choice, literal, one_of, seq};
use crate::release::Release;
use crate::symbols::{DASH, NO_BREAK_SPACE};

/// Matches a tag, a declaration or a processing instruction.
///
/// In release 3.6.0, attributes may have unquoted values.
pub(super) fn tag(release: Release) -> Pattern {
    let spaces = || literal(" ").any_number();
    let name_sign = latin() | latin_digit() | one_of("_:.-");
    let name = || seq![latin(), name_sign.any_number()];
    let quoted = |quote: &str| {
        let inside = (!one_of(quote)).any_number();
        seq![one_of(quote), inside, one_of(quote)]
    };
    let mut values = vec![quoted("'"), quoted("\"")];
    if release == Release::V3_6_0 {
        values.push(name());
    }
    let value = seq![spaces(), "=", spaces(), Pattern::Choice(values)];
    let attribute = seq![literal(" ").at_least_once(), name(), value.optional()];
    let declaration = seq![one_of("!?"), latin() | one_of("-"), (!one_of(">\r\n")).any_number()];
    let opening = seq![name(), attribute.any_number(), spaces(), literal("/").optional()];
    let closing = seq!["/", name()];
    seq!["<", choice![declaration, opening, closing], spaces(), ">"]
}

pub(super) fn markup(release: Release) -> Vec<Rule> {
    let dash = choice![any_word("&md; &mdash; &ndash;"), Set::of(&[DASH])];
    let numeric = seq!["&#", latin_digit().at_least_once(), ";"];
    let entity = any_word("&ht; &tl; &ur; &lr; &qc; &ql; &qr; &odq; &cdq;");
    vec![
        rule(tag(release), End::Match, Action::NoBreak),
        rule(dash, End::Match, Action::Write("--")),
        rule("&amp;", End::Match, Action::Ampersand),
        verbatim(choice![entity, numeric]),
    ]
}

/// Characters that end any address.
fn delimiter() -> Set {
    one_of(" \t\n\u{c}\r\"<>|")
}

/// Characters that can be within an address but not at its end.
fn trailer() -> Set {
    delimiter() | one_of(".!?(){},-")
}

fn some(set: Set) -> Pattern {
    set.at_least_once()
}

fn full_url() -> Pattern {
    seq![any_word("http:// https://"), some(!(delimiter() | one_of("(){}"))), !trailer()]
}

/// Matches a host without a scheme: "www." and anything, or anything and a common top-level domain.
fn likely_url() -> Pattern {
    let host_end = delimiter() | one_of(".!?(){},");
    let www = seq!["www.", seq![some(!host_end), "."].at_least_once(), latin().between(2, 4),];
    // Digits and capitals also end it: the reference tokenizer excludes the range from the comma to the
    // underscore in place of the three intended characters.
    let domain_end = host_end | one_of("`'$") | Set::range(b',', b'_');
    let domain = seq![seq![some(!domain_end), "."].at_least_once(), any_word("com net org edu"),];
    let path = seq!["/", some(!(delimiter() | one_of("()"))), !trailer()];
    seq![choice![www, domain], path.optional()]
}

fn email() -> Pattern {
    let part_end = delimiter() | one_of("(){}") | Set::of(&[NO_BREAK_SPACE]);
    let label_end = part_end | one_of(".");
    seq![
        any_word("&lt; <").optional(),
        latin() | latin_digit(),
        (!part_end).any_number(),
        "@",
        seq![some(!label_end), "."].any_number(),
        some(!label_end),
        any_word("&gt; >").optional(),
    ]
}

pub(super) fn addresses() -> Vec<Rule> {
    let start = latin() | one_of("_");
    let user = seq!["@", start, (start | latin_digit()).any_number()];
    let topic = seq!["#", word_letter().at_least_once()];
    vec![verbatim(full_url()), verbatim(likely_url()), verbatim(email()), verbatim(choice![user, topic])]
}
