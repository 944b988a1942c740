//! A rule: a shape, where the token ends, and how the token is written.

use crate::pattern::Pattern;

/// Where the token ends within a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// At the end of the match.
    Match,
    /// This many symbols before the end of the match.
    Before(usize),
    /// After the first symbol.
    First,
    /// Before the first white space or, without any, this many symbols before the end of the match.
    Space(usize),
    /// This many symbols before the last period.
    Period(usize),
    /// This many symbols before the last apostrophe.
    Apostrophe(usize),
}

/// How the token of a match is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// There is no token: the match is white space, or a character unknown to the tokenizer.
    Skip,
    /// As the text.
    Keep,
    /// As this, whatever the text.
    Write(&'static str),
    /// Without soft hyphens, or as a hyphen where there is nothing else.
    DropSoftHyphens,
    /// With ampersands for their entities.
    Ampersand,
    /// With no-break spaces for spaces.
    NoBreak,
    /// With the Treebank's names for round brackets.
    Brackets,
    /// With no-break spaces, and names for round brackets.
    Phone,
    /// As digits and a slash, for the character of a fraction.
    Fraction,
    /// With the Treebank's forms of currency signs, where it has one.
    Currency,
    /// As quotes of LaTeX. Straight quotes become opening ones if `opening`, and otherwise closing ones.
    Quotes { opening: bool },
    /// As two hyphens, for three or four.
    Hyphens,
    /// As the text, which is an abbreviation that ends a sentence: its period is part of the token,
    /// and also the next token.
    FinalAbbreviation,
    /// The same for letters with periods; the period of a single letter is only the next token.
    FinalAcronym,
}

pub(crate) struct Rule {
    pub(crate) pattern: Pattern,
    pub(crate) end: End,
    pub(crate) action: Action,
}

pub(super) fn rule(pattern: impl Into<Pattern>, end: End, action: Action) -> Rule {
    Rule { pattern: pattern.into(), end, action }
}

/// A rule whose token is the whole match, as it is.
pub(super) fn verbatim(pattern: impl Into<Pattern>) -> Rule {
    rule(pattern, End::Match, Action::Keep)
}
