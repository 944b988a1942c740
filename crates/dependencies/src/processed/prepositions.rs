//! Prepositions of two and three words, such as "next to" and "in front of".

use super::graph::{Edge, Graph, WordId};
use super::order::HashOrder;
use super::pattern::{Class, Clause, Pattern, Relations, Search, neighbor};
use super::relation::Relation;
use super::sentence::Sentence;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Multiword prepositions with words joined by `_`, in the order of the reference implementation.
#[derive(Clone, Debug, Default)]
pub struct MultiwordPrepositions {
    two_words: FxHashMap<String, usize>,
    headed_by_first: FxHashMap<String, usize>,
    three_words: FxHashMap<String, usize>,
}

impl MultiwordPrepositions {
    /// Creates the lists: two-word prepositions whose words depend on one noun, two-word prepositions whose
    /// first word can be the head of the phrase, and three-word prepositions.
    pub fn new<I: IntoIterator<Item: Into<String>>>(
        two_words: I,
        headed_by_first: I,
        three_words: I,
    ) -> Self {
        let ranks = |list: I| list.into_iter().enumerate().map(|(rank, text)| (text.into(), rank)).collect();
        Self {
            two_words: ranks(two_words),
            headed_by_first: ranks(headed_by_first),
            three_words: ranks(three_words),
        }
    }
}

const CLAUSAL_OR_NOMINAL: Relations = Relations::OneOf(&[Relation::NMOD, Relation::ACL, Relation::ADVCL]);
const LEAF: &[Clause] = &[Clause::Lacks(neighbor(Relations::Any, Class::ANY))];

// Slots. Their meanings differ slightly between the three patterns, because the heads differ.
const FIRST: usize = 1;
const SECOND: usize = 2;
const THIRD: usize = 3;
const OBJECT: usize = 4;
const GOVERNOR: usize = 5;

/// "next to" in "a cat next to a dog": both words depend on "dog".
const TWO_WORDS: Pattern = Pattern {
    class: Class::ANY,
    clauses: &[
        Clause::Has(
            neighbor(Relations::OneOf(&[Relation::CASE, Relation::ADVMOD]), Class::ANY)
                .slot(FIRST)
                .with(LEAF),
        ),
        Clause::Has(
            neighbor(Relations::Is(Relation::CASE), Class::ANY)
                .slot(SECOND)
                .with(&[Clause::IsNot(FIRST), Clause::Lacks(neighbor(Relations::Any, Class::ANY))]),
        ),
    ],
};

/// The same if "dog" depends on "next". Slot 0 is "next".
const HEADED_BY_FIRST: Pattern = Pattern {
    class: Class::ANY,
    clauses: &[
        Clause::Has(neighbor(Relations::Is(Relation::NMOD), Class::ANY).slot(OBJECT).with(&[Clause::Has(
            neighbor(Relations::Is(Relation::CASE), Class::ANY).slot(SECOND).with(LEAF),
        )])),
        Clause::AnyOf(&[
            &[Clause::Root],
            &[Clause::Under(neighbor(Relations::Any, Class::ANY).slot(GOVERNOR))],
        ]),
    ],
};

/// "in front of the house": "in" and "house" depend on "front", "of" on "house". Slot 0 is "front".
const THREE_WORDS: Pattern = Pattern {
    class: Class::ANY,
    clauses: &[
        Clause::Has(neighbor(CLAUSAL_OR_NOMINAL, Class::ANY).slot(OBJECT).with(&[Clause::Has(
            neighbor(Relations::OneOf(&[Relation::CASE, Relation::MARK]), Class::ANY).slot(THIRD).with(LEAF),
        )])),
        Clause::Has(neighbor(Relations::Is(Relation::CASE), Class::ANY).slot(FIRST).with(LEAF)),
        Clause::AnyOf(&[
            &[Clause::Under(neighbor(Relations::Any, Class::ANY).slot(GOVERNOR))],
            &[Clause::Root],
        ]),
    ],
};

/// Relations between clauses, which the head of a phrase keeps if a copula makes the phrase a clause.
const BETWEEN_CLAUSES: [Relation; 9] = [
    Relation::CONJ,
    Relation::XCOMP,
    Relation::CCOMP,
    Relation::ACL,
    Relation::ADVCL,
    Relation::RELCL,
    Relation::PARATAXIS,
    Relation::APPOS,
    Relation::LIST,
];

/// Joins the words of prepositions and makes the following noun the head of its phrase.
pub(super) fn join_words(graph: &mut Graph, sentence: &Sentence<'_>, prepositions: &MultiwordPrepositions) {
    if !graph.has_roots() {
        return;
    }
    let vertices = graph.sorted_vertices();
    let words: Vec<Cow<'_, str>> = vertices.iter().map(|&word| lowercase(sentence, graph, word)).collect();
    let indexes: Vec<usize> = vertices.iter().map(|&word| graph.index(word)).collect();
    let mut order = Order::default();
    for index in occurrences::<2>(&words, &indexes, &prepositions.two_words) {
        join_two_words(graph, index, &mut order);
    }
    for index in occurrences::<2>(&words, &indexes, &prepositions.headed_by_first) {
        join_headed_by_first(graph, index, &mut order);
    }
    for index in occurrences::<3>(&words, &indexes, &prepositions.three_words) {
        join_three_words(graph, index, &mut order);
    }
}

fn lowercase<'a>(sentence: &Sentence<'a>, graph: &Graph, word: WordId) -> Cow<'a, str> {
    let word = sentence.words[graph.index(word) - 1];
    if word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(capeval_ptb::lowercase(word))
    }
}

/// Returns the token numbers where listed prepositions of `N` words begin, in the order of the list.
///
/// The numbers for one preposition are in the order of a Java set.
fn occurrences<const N: usize>(
    words: &[Cow<'_, str>],
    indexes: &[usize],
    list: &FxHashMap<String, usize>,
) -> Vec<usize> {
    let mut places: Vec<(usize, HashOrder<()>)> = Vec::new();
    let mut joined = String::new();
    for (window, &index) in words.windows(N).zip(indexes) {
        joined.clear();
        for (place, word) in window.iter().enumerate() {
            joined.push_str(if place == 0 { "" } else { "_" });
            joined.push_str(word);
        }
        let Some(&rank) = list.get(&joined) else { continue };
        let same = places.iter().position(|&(listed, _)| listed == rank);
        let same = same.unwrap_or_else(|| {
            places.push((rank, HashOrder::default()));
            places.len() - 1
        });
        places[same].1.insert(index as u32, index as i32, ());
    }
    places.sort_by_key(|&(rank, _)| rank);
    places.iter().flat_map(|(_, set)| set.keys()).map(|index| index as usize).collect()
}

/// Search order of words.
///
/// The reference implementation sorts the graph for its first search and reuses that order in later searches,
/// although the graph changes.
#[derive(Default)]
struct Order(Option<Vec<WordId>>);

impl Order {
    fn search<T>(&mut self, graph: &Graph, search: impl FnOnce(&Search<'_>) -> T) -> T {
        if self.0.is_none() {
            self.0 = graph.topological_order();
        }
        let unsorted: Vec<WordId>;
        let order = match &self.0 {
            Some(order) => order,
            None => {
                unsorted = graph.vertices().collect();
                &unsorted
            }
        };
        search(&Search { graph, classes: &[], order })
    }
}

fn join_two_words(graph: &mut Graph, index: usize, order: &mut Order) {
    let Some((first, second)) = graph.vertex_at(index).zip(graph.vertex_at(index + 1)) else {
        return;
    };
    let matches = order.search(graph, |search| search.all(&TWO_WORDS));
    let found = matches.iter().find(|found| (found.word(FIRST), found.word(SECOND)) == (first, second));
    if let Some(found) = found {
        make_expression(graph, found.word(0), Relation::CASE, &[first, second]);
    }
}

fn join_headed_by_first(graph: &mut Graph, index: usize, order: &mut Order) {
    let Some((first, second)) = graph.vertex_at(index).zip(graph.vertex_at(index + 1)) else {
        return;
    };
    let matches = order.search(graph, |search| search.all(&HEADED_BY_FIRST));
    let found = matches.iter().find(|found| (found.word(0), found.word(SECOND)) == (first, second));
    let Some(found) = found else { return };
    let object = found.word(OBJECT);
    let reattached = promote(graph, first, object, found.optional(GOVERNOR), |graph, above, below| {
        let clause = graph.children_by(first, Relation::COP).next().is_some()
            && BETWEEN_CLAUSES.contains(&above.relation);
        if clause { above.relation } else { below.relation }
    });
    if reattached {
        make_expression(graph, object, Relation::CASE, &[first, second]);
    }
}

fn join_three_words(graph: &mut Graph, index: usize, order: &mut Order) {
    let words = [index, index + 1, index + 2].map(|index| graph.vertex_at(index));
    let [Some(first), Some(second), Some(third)] = words else { return };
    let matches = order.search(graph, |search| search.all(&THREE_WORDS));
    let found = matches
        .iter()
        .find(|found| (found.word(FIRST), found.word(0), found.word(THIRD)) == (first, second, third));
    let Some(found) = found else { return };
    let object = found.word(OBJECT);
    let mut marker = Relation::CASE;
    let reattached = promote(graph, second, object, found.optional(GOVERNOR), |_, above, below| {
        if above.relation == Relation::NMOD && matches!(below.relation, Relation::ACL | Relation::ADVCL) {
            marker = Relation::MARK;
            below.relation
        } else {
            above.relation
        }
    });
    if reattached {
        make_expression(graph, object, marker, &[first, second, third]);
    }
}

/// Moves `object` to the position of `head`, with the head's dependents.
///
/// `relation` chooses between the relations of head and object. Returns whether there was an edge between
/// them and a new position.
fn promote(
    graph: &mut Graph,
    head: WordId,
    object: WordId,
    governor: Option<WordId>,
    relation: impl FnOnce(&Graph, Edge, Edge) -> Relation,
) -> bool {
    let Some(below) = graph.first_edge(head, object).map(|edge| graph.edge(edge)) else {
        return false;
    };
    graph.remove_edge(below);
    if graph.is_root(head) {
        graph.remove_root(head);
        graph.add_root(object);
    } else {
        let Some(governor) = governor.or_else(|| graph.parent(head)) else {
            return false;
        };
        let above = graph.first_edge(governor, head).map(|edge| graph.edge(edge));
        let relation = above.map_or(below.relation, |above| relation(graph, above, below));
        graph.add_edge(governor, object, relation);
    }
    for edge in graph.sorted_outgoing(head) {
        graph.remove_edge(edge);
        graph.add_edge(object, edge.dependent, edge.relation);
    }
    true
}

/// Makes the first word a dependent of the governor, and the other words dependents of the first.
fn make_expression(graph: &mut Graph, governor: WordId, relation: Relation, words: &[WordId]) {
    for &word in words {
        let above = graph.parent(word).and_then(|parent| graph.first_edge(parent, word));
        if let Some(edge) = above {
            graph.remove_edge(graph.edge(edge));
        }
        if word == words[0] {
            graph.add_edge(governor, word, relation);
        } else {
            graph.add_edge(words[0], word, Relation::MWE);
        }
    }
}
