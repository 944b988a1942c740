//! Patterns of words and edges, written as data, and the search for them.
//!
//! A pattern describes one word by its [`Class`] and by clauses about its neighbors. Clauses are
//! tried from left to right, and each in the order of the graph's edges; the last one varies
//! fastest. That is the order of the reference's Semgrex.

use super::graph::{Graph, WordId};
use super::relation::Relation;

/// Properties of words as bits; a pattern asks for all of some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class(pub u16);

impl Class {
    /// Any word.
    pub const ANY: Self = Self(0);

    fn includes(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

/// Where a match keeps a word.
pub type Slot = usize;

/// The most slots a pattern has.
pub const SLOTS: usize = 6;

/// Which relations an edge may have.
#[derive(Clone, Copy)]
pub enum Relations {
    /// Any.
    Any,
    /// This one.
    Is(Relation),
    /// One of these.
    OneOf(&'static [Relation]),
    /// Those with such a name.
    Named(fn(&str) -> bool),
}

impl Relations {
    fn includes(self, graph: &Graph, relation: Relation) -> bool {
        match self {
            Self::Any => true,
            Self::Is(wanted) => relation == wanted,
            Self::OneOf(wanted) => wanted.contains(&relation),
            Self::Named(fits) => fits(graph.name(relation)),
        }
    }
}

/// A neighbor: how it is joined, what it must be and have, and where the match keeps it.
#[derive(Clone, Copy)]
pub struct Neighbor {
    relations: Relations,
    class: Class,
    slot: Option<Slot>,
    clauses: &'static [Clause],
}

impl Neighbor {
    /// Keep the word and its relation in a slot.
    #[must_use]
    pub const fn slot(mut self, slot: Slot) -> Self {
        self.slot = Some(slot);
        self
    }

    /// Ask more of the word.
    #[must_use]
    pub const fn with(mut self, clauses: &'static [Clause]) -> Self {
        self.clauses = clauses;
        self
    }
}

/// A neighbor joined by some relation.
#[must_use]
pub const fn neighbor(relations: Relations, class: Class) -> Neighbor {
    Neighbor { relations, class, slot: None, clauses: &[] }
}

/// Something that must hold for a word.
#[derive(Clone, Copy)]
pub enum Clause {
    /// It has such a dependent.
    Has(Neighbor),
    /// It has no such dependent.
    Lacks(Neighbor),
    /// It has such a governor.
    Under(Neighbor),
    /// It has no such governor.
    NotUnder(Neighbor),
    /// One of these lists of clauses holds.
    AnyOf(&'static [&'static [Clause]]),
    /// It is a root.
    Root,
    /// It is not a root.
    NotRoot,
    /// It is another word than the one in a slot.
    IsNot(Slot),
    /// It is the word in a slot.
    IsIn(Slot),
    /// The word in a slot is the next token.
    Before(Slot),
    /// A dependent of one of its governors is the next token, and is kept in a slot.
    NextSibling(Slot),
}

/// A word and what must hold for it. The match keeps the word in slot 0.
pub struct Pattern {
    /// What the word must be.
    pub class: Class,
    /// What must hold for it.
    pub clauses: &'static [Clause],
}

/// The words of a match, and the relations by which they were reached.
#[derive(Clone, Copy, Debug)]
pub struct Match {
    words: [WordId; SLOTS],
    relations: [Relation; SLOTS],
    filled: u8,
}

impl Match {
    /// The word in a slot of which the pattern says that it is always filled.
    #[must_use]
    pub fn word(&self, slot: Slot) -> WordId {
        debug_assert!(self.is_filled(slot), "slot {slot} is empty");
        self.words[slot]
    }

    /// The word in a slot that not every match fills.
    #[must_use]
    pub fn optional(&self, slot: Slot) -> Option<WordId> {
        self.is_filled(slot).then(|| self.words[slot])
    }

    /// The relation by which the word in a slot was reached.
    #[must_use]
    pub fn relation(&self, slot: Slot) -> Relation {
        self.relations[slot]
    }

    fn is_filled(&self, slot: Slot) -> bool {
        self.filled >> slot & 1 == 1
    }

    fn fill(&mut self, slot: Slot, word: WordId, relation: Relation) {
        self.words[slot] = word;
        self.relations[slot] = relation;
        self.filled |= 1 << slot;
    }
}

/// Searches a graph whose words have classes, in a fixed order of words.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// One class for each token.
    pub classes: &'a [Class],
    /// The words in the order in which they are tried.
    pub order: &'a [WordId],
}

/// Continues a match: whether to stop.
type Next<'n> = &'n mut dyn FnMut(&mut Match) -> bool;

impl Search<'_> {
    /// All matches.
    #[must_use]
    pub fn all(&self, pattern: &Pattern) -> Vec<Match> {
        let mut matches = Vec::new();
        for &word in self.order {
            self.at(word, pattern, &mut |found| {
                matches.push(*found);
                false
            });
        }
        matches
    }

    /// The first match at each word that has one.
    #[must_use]
    pub fn first_of_each(&self, pattern: &Pattern) -> Vec<Match> {
        let mut matches = Vec::new();
        for &word in self.order {
            self.at(word, pattern, &mut |found| {
                matches.push(*found);
                true
            });
        }
        matches
    }

    fn class(&self, word: WordId) -> Class {
        self.classes.get(self.graph.index(word) - 1).copied().unwrap_or_default()
    }

    fn at(&self, word: WordId, pattern: &Pattern, next: Next<'_>) {
        if self.class(word).includes(pattern.class) {
            let mut found = Match { words: [word; SLOTS], relations: [Relation::DEP; SLOTS], filled: 1 };
            self.clauses(word, pattern.clauses, &mut found, next);
        }
    }

    /// Match clauses about a word, and then what comes next; whether to stop.
    fn clauses(&self, word: WordId, clauses: &[Clause], found: &mut Match, next: Next<'_>) -> bool {
        let Some((first, rest)) = clauses.split_first() else {
            return next(found);
        };
        let mut then = |found: &mut Match| self.clauses(word, rest, found, next);
        let holds = match *first {
            Clause::Has(neighbor) => return self.neighbors(word, true, &neighbor, found, &mut then),
            Clause::Under(neighbor) => return self.neighbors(word, false, &neighbor, found, &mut then),
            Clause::AnyOf(branches) => {
                return branches
                    .iter()
                    .any(|branch| self.clauses(word, branch, &mut found.clone(), &mut then));
            }
            Clause::NextSibling(slot) => return self.next_siblings(word, slot, found, &mut then),
            Clause::Lacks(neighbor) => {
                !self.neighbors(word, true, &neighbor, &mut found.clone(), &mut |_| true)
            }
            Clause::NotUnder(neighbor) => {
                !self.neighbors(word, false, &neighbor, &mut found.clone(), &mut |_| true)
            }
            Clause::Root => self.graph.is_root(word),
            Clause::NotRoot => !self.graph.is_root(word),
            Clause::IsNot(slot) => found.optional(slot) != Some(word),
            Clause::IsIn(slot) => found.optional(slot) == Some(word),
            Clause::Before(slot) => {
                let other = found.optional(slot);
                other.is_some_and(|other| self.graph.index(other) == self.graph.index(word) + 1)
            }
        };
        holds && then(found)
    }

    fn neighbors(
        &self,
        word: WordId,
        dependents: bool,
        wanted: &Neighbor,
        found: &mut Match,
        then: Next<'_>,
    ) -> bool {
        let mut one = |other: WordId, relation: Relation| {
            if !wanted.relations.includes(self.graph, relation) || !self.class(other).includes(wanted.class) {
                return false;
            }
            let mut extended = *found;
            if let Some(slot) = wanted.slot {
                extended.fill(slot, other, relation);
            }
            self.clauses(other, wanted.clauses, &mut extended, then)
        };
        if dependents {
            self.graph.outgoing(word).any(|edge| one(edge.dependent, edge.relation))
        } else {
            self.graph.incoming(word).any(|edge| one(edge.governor, edge.relation))
        }
    }

    fn next_siblings(&self, word: WordId, slot: Slot, found: &Match, then: Next<'_>) -> bool {
        let next_index = self.graph.index(word) + 1;
        let siblings = self.graph.incoming(word).flat_map(|edge| self.graph.children(edge.governor));
        let mut tried = Vec::new();
        for sibling in siblings.filter(|&sibling| self.graph.index(sibling) == next_index) {
            if !tried.contains(&sibling) {
                tried.push(sibling);
                let mut extended = *found;
                extended.fill(slot, sibling, Relation::DEP);
                if then(&mut extended) {
                    return true;
                }
            }
        }
        false
    }
}
