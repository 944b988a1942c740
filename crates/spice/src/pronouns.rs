//! Pronoun resolution: a preceding noun replaces the pronoun.

use crate::lists::Lists;
use capeval_dependencies::processed::{Edge, Graph, HashOrder, Sentence, WordId};
use std::collections::VecDeque;

/// Moves the edges of pronouns to the nouns they refer to.
pub(crate) fn resolve(graph: &mut Graph, sentence: &Sentence<'_>, lists: &Lists) {
    for (pronoun, noun) in antecedents(graph, sentence, lists) {
        if let Some((pronoun, noun)) = graph.vertex_at(pronoun).zip(graph.vertex_at(noun)) {
            replace(graph, pronoun, noun);
        }
    }
}

/// Returns token numbers of pronouns and their nouns, in the order of a Java map with an initial capacity of
/// 1.
fn antecedents(graph: &Graph, sentence: &Sentence<'_>, lists: &Lists) -> Vec<(usize, usize)> {
    let is_pronoun = |word: &WordId| sentence.tags[graph.index(*word) - 1].starts_with("PRP");
    let mut pronouns: Vec<WordId> = graph.vertices().filter(is_pronoun).collect();
    pronouns.sort_by(|&one, &other| graph.compare(one, other));
    let mut pairs = HashOrder::with_buckets(1);
    for word in pronouns {
        let index = graph.index(word);
        let Some(first) = graph.vertex_at(index).filter(|_| index > 1) else { continue };
        let Some(root) = graph.roots().next().filter(|_| graph.parent(first).is_some()) else { continue };
        let singular = lists.singular_pronouns.contains(sentence.words[index - 1]);
        let noun = nearest_noun(graph, sentence, root, singular).map(|noun| graph.index(noun));
        if let Some(noun) = noun.filter(|&noun| noun < index && !pairs.contains(index as u32)) {
            pairs.insert(index as u32, index as i32, noun);
        }
    }
    pairs.iter().map(|(pronoun, noun)| (pronoun as usize, noun)).collect()
}

/// Returns the first noun below the root, in breadth-first order.
///
/// (The reference implementation does not mark visited words, so it does not terminate if there is a cycle
/// and no noun.)
fn nearest_noun(graph: &Graph, sentence: &Sentence<'_>, root: WordId, singular: bool) -> Option<WordId> {
    let mut queue = VecDeque::from([root]);
    let mut seen = vec![root];
    while let Some(word) = queue.pop_front() {
        match sentence.tags[graph.index(word) - 1] {
            "NN" | "NNP" => return Some(word),
            "NNS" | "NNPS" if !singular => return Some(word),
            _ => {}
        }
        let mut children: Vec<WordId> = graph.children(word).filter(|child| !seen.contains(child)).collect();
        children.sort_by(|&one, &other| graph.compare(one, other));
        seen.extend(&children);
        queue.extend(children);
    }
    None
}

fn replace(graph: &mut Graph, pronoun: WordId, noun: WordId) {
    if graph.is_root(pronoun) {
        graph.remove_root(pronoun);
        graph.add_root(noun);
    } else {
        for edge in graph.sorted_incoming(pronoun) {
            move_edge(graph, edge, Edge { dependent: noun, ..edge });
        }
    }
    for edge in graph.sorted_outgoing(pronoun) {
        move_edge(graph, edge, Edge { governor: noun, ..edge });
    }
}

fn move_edge(graph: &mut Graph, from: Edge, to: Edge) {
    graph.remove_edge(from);
    graph.add_edge(to.governor, to.dependent, to.relation);
}
