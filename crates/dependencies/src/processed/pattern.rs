//! Patterns of words and edges as data, and their search.
//!
//! A pattern describes one word by its [`Class`] and by clauses about its neighbors. Clauses are tried from
//! left to right, each in the order of the graph's edges, with the last one varying fastest. This is the
//! order of the reference implementation's Semgrex.

use super::graph::{Graph, WordId};
use super::relation::Relation;

/// A set of word properties as bits. A pattern requires all properties in its class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class(pub u16);

impl Class {
    /// Any word.
    pub const ANY: Self = Self(0);

    fn includes(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

/// Index of a word in a match.
pub type Slot = usize;

/// Maximum number of slots in a pattern.
pub const SLOTS: usize = 6;

/// The allowed relations of an edge.
#[derive(Clone, Copy)]
pub enum Relations {
    /// Any relation.
    Any,
    /// This relation.
    Is(Relation),
    /// One of these relations.
    OneOf(&'static [Relation]),
    /// Relations whose name satisfies the function.
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

/// A neighbor: its relation, class and clauses, and its slot in the match.
#[derive(Clone, Copy)]
pub struct Neighbor {
    relations: Relations,
    class: Class,
    slot: Option<Slot>,
    clauses: &'static [Clause],
}

impl Neighbor {
    /// Stores the word and its relation in a slot.
    #[must_use]
    pub const fn slot(mut self, slot: Slot) -> Self {
        self.slot = Some(slot);
        self
    }

    /// Adds clauses about the word.
    #[must_use]
    pub const fn with(mut self, clauses: &'static [Clause]) -> Self {
        self.clauses = clauses;
        self
    }
}

/// Creates a neighbor with one of some relations.
#[must_use]
pub const fn neighbor(relations: Relations, class: Class) -> Neighbor {
    Neighbor { relations, class, slot: None, clauses: &[] }
}

/// A condition on a word.
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
    /// It is not the word in the slot.
    IsNot(Slot),
    /// It is the word in the slot.
    IsIn(Slot),
    /// The word in the slot is the next token.
    Before(Slot),
    /// A dependent of one of its governors is the next token, and is stored in the slot.
    NextSibling(Slot),
}

/// A word and its clauses. The match stores the word in slot 0.
pub struct Pattern {
    /// Class of the word.
    pub class: Class,
    /// Clauses about the word.
    pub clauses: &'static [Clause],
}

/// The words of a match, and the relations through which they were reached.
#[derive(Clone, Copy, Debug)]
pub struct Match {
    words: [WordId; SLOTS],
    relations: [Relation; SLOTS],
    filled: u8,
}

impl Match {
    /// Returns the word in a slot that the pattern always fills.
    #[must_use]
    pub fn word(&self, slot: Slot) -> WordId {
        debug_assert!(self.is_filled(slot), "slot {slot} is empty");
        self.words[slot]
    }

    /// Returns the word in a slot that not every match fills.
    #[must_use]
    pub fn optional(&self, slot: Slot) -> Option<WordId> {
        self.is_filled(slot).then(|| self.words[slot])
    }

    /// Returns the relation through which the word in a slot was reached.
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

/// Search in a graph whose words have classes, in a fixed order of words.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// Class of each token.
    pub classes: &'a [Class],
    /// The words in search order.
    pub order: &'a [WordId],
}

/// Continues a match, and returns whether to stop.
type Next<'n> = &'n mut dyn FnMut(&mut Match) -> bool;

impl Search<'_> {
    /// Returns all matches.
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

    /// Returns the first match at each word that has one.
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

    /// Matches clauses about a word, then the continuation. Returns whether to stop.
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
