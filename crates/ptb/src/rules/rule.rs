//! A rule: a pattern, the end of the token, and the form of the token.

use crate::pattern::Pattern;

/// The end of the token within a match.
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

/// Form of the token of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// No token: the match is white space, or a character unknown to the tokenizer.
    Skip,
    /// The text unchanged.
    Keep,
    /// A fixed text.
    Write(&'static str),
    /// The text without soft hyphens, or a hyphen if nothing else is left.
    DropSoftHyphens,
    /// The text with ampersands in place of their entities.
    Ampersand,
    /// The text with no-break spaces in place of spaces.
    NoBreak,
    /// The text with the Treebank's names of round brackets.
    Brackets,
    /// The text with no-break spaces, and with names of round brackets.
    Phone,
    /// Digits and a slash in place of a fraction character.
    Fraction,
    /// The Treebank's form of a currency sign, if it has one.
    Currency,
    /// Quotes in LaTeX form. Straight quotes become opening ones if `opening`, and otherwise closing ones.
    Quotes { opening: bool },
    /// Two hyphens in place of three or four.
    Hyphens,
    /// The text of an abbreviation that ends a sentence.
    ///
    /// Its period is part of the token, and is also the next token.
    FinalAbbreviation,
    /// The same for letters with periods, except that the period of a single letter is only the next token.
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

/// Creates a rule whose token is the whole match, unchanged.
pub(super) fn verbatim(pattern: impl Into<Pattern>) -> Rule {
    rule(pattern, End::Match, Action::Keep)
}
