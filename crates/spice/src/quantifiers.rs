//! Quantities: in "a lot of dogs", "dogs" becomes the head, and "a lot of" its modifier.

use crate::lists::Lists;
use capeval_dependencies::processed::pattern::{Class, Clause, Match, Pattern, Relations, Search, neighbor};
use capeval_dependencies::processed::{Graph, Relation, Sentence, WordId};

const QUANTITY_NOUN: Class = Class(1);
const PLURAL_QUANTITY: Class = Class(1 << 1);
const PARTITIVE: Class = Class(1 << 2);
const ARTICLE: Class = Class(1 << 3);
const OF: Class = Class(1 << 4);
const NOUN: Class = Class(1 << 5);
const PRONOUN: Class = Class(1 << 6);
const NOUN_OR_PRONOUN: Class = Class(1 << 7);

const COUNTED: usize = 1;
const OF_WORD: usize = 2;
const DETERMINER: usize = 3;

const NMOD: Relations = Relations::Named(|name| name.starts_with("nmod"));
const HAS_OF: &[Clause] = &[Clause::Has(neighbor(Relations::Is(Relation::CASE), OF).slot(OF_WORD))];

/// "a lot of dogs". Here and below, slot 0 is the quantity.
const ARTICLE_NOUN_OF: Pattern = Pattern {
    class: QUANTITY_NOUN,
    clauses: &[
        Clause::Has(neighbor(Relations::Is(Relation::DET), ARTICLE).slot(DETERMINER)),
        Clause::Has(neighbor(NMOD, NOUN_OR_PRONOUN).slot(COUNTED).with(HAS_OF)),
        Clause::Before(OF_WORD),
    ],
};

/// "lots of dogs".
const PLURAL_OF: Pattern = Pattern {
    class: PLURAL_QUANTITY,
    clauses: &[
        Clause::Has(neighbor(NMOD, NOUN_OR_PRONOUN).slot(COUNTED).with(HAS_OF)),
        Clause::Before(OF_WORD),
    ],
};

/// "some of the dogs", "all of them".
const PART_OF: Pattern = Pattern {
    class: PARTITIVE,
    clauses: &[
        Clause::AnyOf(&[
            &[Clause::Has(
                neighbor(NMOD, NOUN).slot(COUNTED).with(&[
                    Clause::Has(
                        neighbor(Relations::Is(Relation::CASE), OF)
                            .slot(OF_WORD)
                            .with(&[Clause::NextSibling(DETERMINER)]),
                    ),
                    Clause::Has(
                        neighbor(Relations::Is(Relation::DET), Class::ANY).with(&[Clause::IsIn(DETERMINER)]),
                    ),
                ]),
            )],
            &[Clause::Has(neighbor(NMOD, PRONOUN).slot(COUNTED).with(HAS_OF))],
        ]),
        Clause::Before(OF_WORD),
    ],
};

fn classes(sentence: &Sentence<'_>, lists: &Lists) -> Vec<Class> {
    let class = |(&word, &tag): (&&str, &&str)| {
        let (noun, pronoun) = (tag.starts_with("NN"), tag.starts_with("PRP"));
        let properties = [
            (QUANTITY_NOUN, lists.quantity_nouns.contain(word)),
            (PLURAL_QUANTITY, lists.plural_quantities.contain(word)),
            (PARTITIVE, lists.partitives.contain(word)),
            (ARTICLE, word.eq_ignore_ascii_case("a") || word.eq_ignore_ascii_case("an")),
            (OF, word.eq_ignore_ascii_case("of")),
            (NOUN, noun),
            (PRONOUN, pronoun),
            (NOUN_OR_PRONOUN, noun || pronoun),
        ];
        let bits = properties.iter().filter(|(_, has)| *has).map(|(property, _)| property.0);
        Class(bits.fold(0, |all, bit| all | bit))
    };
    sentence.words.iter().zip(sentence.tags).map(class).collect()
}

/// Makes counted nouns the heads of their quantities.
pub(crate) fn promote_counted_nouns(graph: &mut Graph, sentence: &Sentence<'_>, lists: &Lists) {
    if !sentence.words.iter().any(|word| word.eq_ignore_ascii_case("of")) {
        return;
    }
    let classes = classes(sentence, lists);
    for pattern in [ARTICLE_NOUN_OF, PLURAL_OF, PART_OF] {
        if !classes.iter().any(|class| class.0 & pattern.class.0 != 0) {
            continue;
        }
        let snapshot = graph.snapshot();
        let order = snapshot.search_order();
        let search = Search { graph: &snapshot, classes: &classes, order: &order };
        for found in search.first_of_each(&pattern) {
            if !put_in_place(graph, found.word(0), found.word(COUNTED)) {
                // The reference implementation does not change later quantities of the sentence.
                return;
            }
            let words = quantity(graph, &found, pattern.class == QUANTITY_NOUN);
            make_modifier(graph, found.word(COUNTED), &words);
        }
    }
}

/// Moves the noun to the position of the quantity. Returns `false` if the quantity has no governor.
fn put_in_place(graph: &mut Graph, quantity: WordId, noun: WordId) -> bool {
    if graph.is_root(quantity) {
        graph.remove_root(quantity);
        graph.add_root(noun);
    } else {
        let above = graph.parent(quantity).and_then(|parent| graph.first_edge(parent, quantity));
        let Some(edge) = above.map(|edge| graph.edge(edge)) else { return false };
        graph.remove_edge(edge);
        graph.add_edge(edge.governor, noun, edge.relation);
    }
    // An earlier quantity may have removed this edge. The reference implementation stops with an error then.
    if let Some(edge) = graph.first_edge(quantity, noun) {
        graph.remove_edge(graph.edge(edge));
    }
    true
}

/// Returns the words of the quantity in sentence order: "a", "whole", "lot", "of".
fn quantity(graph: &Graph, found: &Match, with_article: bool) -> Vec<WordId> {
    let head = found.word(0);
    let mut words = vec![head, found.word(OF_WORD)];
    let left = |&child: &WordId| graph.index(child) < graph.index(head);
    if with_article {
        words.push(found.word(DETERMINER));
        words.extend(graph.child_set(head, Relation::AMOD).into_iter().filter(left));
    } else {
        words.extend(graph.children(head).filter(left));
    }
    words.sort_by(|&one, &other| graph.compare(one, other));
    words
}

/// Makes the first word a modifier of the noun, and the other words dependents of the first.
fn make_modifier(graph: &mut Graph, noun: WordId, words: &[WordId]) {
    for (place, &word) in words.iter().enumerate() {
        for edge in graph.incoming(word).collect::<Vec<_>>() {
            graph.remove_edge(edge);
        }
        if place == 0 {
            graph.add_edge(noun, word, Relation::QMOD);
        } else {
            graph.add_edge(words[0], word, Relation::MWE);
        }
    }
}
