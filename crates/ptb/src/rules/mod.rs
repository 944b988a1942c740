//! The token rules: shapes, what of the match is the token, and how the token is written.
//!
//! The longest match wins; of equally long ones, the earliest rule of [`all`]. A rule may also
//! match what must follow the token. This counts for the length of the match but is not part of
//! the token, whose end the rule's [`End`] gives; the next match starts there.

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

/// All rules of a release, in the order in which they win.
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
