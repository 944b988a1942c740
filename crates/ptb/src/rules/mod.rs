//! The token rules: patterns, the end of the token within the match, and the form of the token.
//!
//! The longest match wins. Of equally long ones, the earliest rule of [`all`] wins. A rule may also match
//! what must follow the token. This text counts for the length of the match but is not part of the token. The
//! rule's [`End`] determines the end of the token, where the next match starts.

use crate::release::Release;

mod abbreviations;
mod characters;
mod contractions;
mod numbers;
mod punctuation;
mod rule;
mod shapes;
mod web;

pub(crate) use characters::{is_apostrophe, is_space, is_white_space};
pub(crate) use rule::{Action, End, Rule};

/// Returns all rules of a release, in order of precedence.
pub(crate) fn all(release: Release) -> Vec<Rule> {
    [
        shapes::programming_languages(),
        contractions::joined_words(),
        web::markup(release),
        shapes::words(),
        contractions::apostrophe_words(release),
        web::addresses(),
        contractions::endings(),
        numbers::numbers(),
        shapes::treebank_compounds(release),
        numbers::currencies(),
        abbreviations::abbreviations(release),
        shapes::before_punctuation(release),
        numbers::phones(),
        punctuation::double_quotes(),
        punctuation::faces_and_brackets(),
        punctuation::marks(release),
        shapes::compounds(release),
        contractions::leading_and_final_apostrophes(),
        punctuation::quotes_and_symbols(release),
        punctuation::spaces_and_unknown(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
