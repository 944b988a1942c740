//! What a rule is made of.

use crate::pattern::Pattern;

/// Where the token ends within a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With the match.
    Match,
    /// So many symbols before the end of the match.
    Before(usize),
    /// After the first symbol.
    First,
    /// Before the first white space, or else so many symbols before the end of the match.
    Space(usize),
    /// So many symbols before the last period.
    Period(usize),
    /// Before the last apostrophe, less the given number of symbols.
    Apostrophe(usize),
}

/// What becomes of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing: white space, or a character unknown to the tokenizer.
    Skip,
    /// The token is the text.
    Keep,
    /// The same, and the text is a Latin word.
    Word,
    /// The token is this, whatever the text.
    Write(&'static str),
    /// Soft hyphens are dropped, unless there is nothing else.
    DropSoftHyphens,
    /// The entity of the ampersand becomes one.
    Ampersand,
    /// Spaces inside the token become no-break spaces.
    NoBreak,
    /// Round brackets get their Treebank names.
    Brackets,
    /// Both of the above.
    Phone,
    /// A fraction character is written out.
    Fraction,
    /// A currency sign the Treebank does not have is replaced.
    Currency,
    /// Quotes take the form of LaTeX. Straight ones become opening ones if `opening`.
    Quotes { opening: bool },
    /// Three or four hyphens become a dash of two.
    Hyphens,
    /// An abbreviation that also ends a sentence: its period is given back as well.
    FinalAbbreviation,
    /// The same, but a single letter keeps no period of its own.
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

/// The token is the whole match, as it stands.
pub(super) fn verbatim(pattern: impl Into<Pattern>) -> Rule {
    rule(pattern, End::Match, Action::Keep)
}
