//! Changes to a graph before tuples are read from it.

use crate::lists::Lists;
use crate::pronouns;
use crate::quantifiers;
use capeval_dependencies::processed::{Graph, Sentence};

/// Makes nouns after quantities heads ("a lot of dogs") and replaces pronouns by nouns.
pub fn rewrite(graph: &mut Graph, sentence: &Sentence<'_>, lists: &Lists) {
    quantifiers::promote_counted_nouns(graph, sentence, lists);
    pronouns::resolve(graph, sentence, lists);
}
