//! Abbreviations. The following period is part of the token, a separate token, or both.

use super::characters::{digit, latin, space, space_or_line_end, upper};
use super::contractions::short_year;
use super::rule::{Action, End, Rule, rule, verbatim};
use super::web;
use crate::pattern::{Pattern, Repeat, Set, any_word, choice, seq};
use crate::release::Release;

/// Abbreviations that can end a sentence.
///
/// Before a capital, their period is part of the token and also a separate token. (A letter after `=` must
/// have that case, because many states are ordinary words as well.)
const SENTENCE_ENDERS: &str = "
    jan feb mar apr jun jul aug sep sept oct nov dec
    mon tue tues wed thu thurs fri
    ala ariz =Az =Ark calif colo conn ct dak =Del fla ga =Ill ind kan kans ky =La =Mass md mich
    minn =Miss mo mont neb nev okla =Ore =Pa penn tenn =Tex va vt =Wash wis wisc wyo
    inc co cos corp pt=y pt=ys pt=e pt=es ppt=y ppt=ys ppt=e ppt=es ltd plc rt bancorp bhd assn
    univ intl sys
    tel est ext sq
    jr sr bros ed.d ph.d blvd rd esq
    etc al seq bldg";

/// Titles and other abbreviations before names, whose period never ends a sentence.
const BEFORE_NAMES: &str = "
    mr mrs ms =Miss dr drs prof profs sen sens rep reps atty attys lt col gen messrs gov govs
    adm rev maj sgt cpl pvt capt st ste ave pres lieut hon brig cmdr comdr pfc spc supt supts
    det mt ft adj adv asst assoc ens insp mlle mme msgr sfc
    vs alex wm jos cie a.k.a cf treas ph
    invt elec natl m=fg m=tg dept";

/// Abbreviations only before numbers.
const NUMBERED: &str = "ca. fig. figs. prop. no. nos. art. bldg. pp. op.";

/// Words that, capitalized after an acronym, indicate the end of a sentence.
const SENTENCE_OPENERS: &str = "
    =About =According =Additionally =After =An =A =As =At =But =Earlier =He =Her =Here =However
    =If =In =It =Last =Many =More =Mr. =Ms. =Now =Once =One =Other =Our =She =Since =So =Some
    =Such =That =The =Their =Then =There =These =They =This =We =When =While =What =Yet =You";

/// Matches letters with periods between them, without the last period, or a compound with the U.S., such as
/// "Canada-U.S" and "U.S.-U.K".
fn acronym(letters: Pattern) -> Pattern {
    choice![
        letters,
        seq![any_word("canada sino korean eu japan non"), "-u.s"],
        any_word("u.s.-u.k u.s.-u.s.s.r"),
    ]
}

fn letters_and_dots() -> Pattern {
    seq![".", latin()]
}

/// Matches at least two letters with periods.
pub(super) fn dotted_letters() -> Pattern {
    acronym(seq![latin(), letters_and_dots().at_least_once()])
}

/// Matches one or more letters with periods.
fn initials() -> Pattern {
    acronym(seq![latin(), letters_and_dots().any_number()])
}

fn sentence_start(release: Release) -> Pattern {
    let next = choice![space_or_line_end(), upper(), web::tag(release)];
    seq![space_or_line_end(), next]
}

pub(super) fn abbreviations(release: Release) -> Vec<Rule> {
    let (more_before_names, more_openers) = match release {
        Release::V3_4_1 => ("", ""),
        Release::V3_6_0 => ("=v", "=Did =During =How =Who =Why"),
    };
    let opener = seq![
        space_or_line_end().at_least_once(),
        choice![any_word(SENTENCE_OPENERS), any_word(more_openers), web::tag(release)],
        space_or_line_end(),
    ];
    let numbered = seq![any_word(NUMBERED), space_or_line_end().optional(), digit()];
    let company = seq![any_word("pt=e pt=E pt=y pt=Y co"), ".", space(), any_word("ltd lim")];
    let sentence_ender = || seq![any_word(SENTENCE_ENDERS), "."];
    let before_name = || choice![any_word(BEFORE_NAMES), any_word(more_before_names), initials()];
    let any_symbol = || !Set::EMPTY;
    vec![
        rule(seq![initials(), ".", opener], End::Space(0), Action::FinalAcronym),
        rule(numbered, End::Space(1), Action::Keep),
        rule(company, End::Space(0), Action::Keep),
        rule(seq![sentence_ender(), sentence_start(release)], End::Space(0), Action::FinalAbbreviation),
        rule(seq![sentence_ender(), any_symbol(), any_symbol()], End::Before(2), Action::Keep),
        // Only at the end of the text do fewer than two symbols follow.
        rule(sentence_ender(), End::Match, Action::FinalAbbreviation),
        verbatim(seq![before_name(), "."]),
        rule(seq![before_name(), space()], End::Before(1), Action::Keep),
        rule(seq![initials(), space_or_line_end()], End::Space(0), Action::Keep),
        rule(seq![short_year(), space_or_line_end()], End::Space(0), Action::Keep),
    ]
}
