//! Changes to a graph before tuples are read from it.

use crate::lists::Lists;
use crate::pronouns;
use crate::quantifiers;
use capeval_dependencies::processed::{Graph, Sentence};

/// Make the nouns behind quantities heads ("a lot of dogs") and put nouns in the place of pronouns.
pub fn rewrite(graph: &mut Graph, sentence: &Sentence<'_>, lists: &Lists) {
    quantifiers::promote_counted_nouns(graph, sentence, lists);
    pronouns::resolve(graph, sentence, lists);
}
