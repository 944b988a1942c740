//! Typed dependencies between the words of a sentence, in the order of the reference implementation.

use super::error::GraphError;
use super::order::HashOrder;
use super::relation::{Relation, RelationNames};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A word of a graph: a token, or a copy of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WordId(pub(crate) u32);

/// An edge of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeId(u32);

/// A relation between two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The relation of the dependent to the governor.
    pub relation: Relation,
    /// The governing word.
    pub governor: WordId,
    /// The dependent word.
    pub dependent: WordId,
}

/// A dependency of the tree. Token numbers start at 1, and the governor of the `root` relation is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BasicDependency<'a> {
    /// Name of the relation.
    pub relation: &'a str,
    /// Number of the governing token.
    pub governor: usize,
    /// Number of the dependent token.
    pub dependent: usize,
}

/// A token, or a copy of one. Copies are distinguished by their number, and the token itself is copy 0.
#[derive(Clone, Copy, Debug)]
struct Word {
    index: u32,
    copy: u32,
    /// For a copy: the word it was copied from.
    source: Option<CopySource>,
}

/// The source of a copy.
///
/// The reference implementation numbers copies by the object that represents a word at one of its edges.
/// Copies through different edges can therefore get the same number, and are then the same word.
#[derive(Clone, Copy, Debug)]
struct CopySource {
    original: WordId,
    counter: u32,
}

#[derive(Clone, Debug, Default)]
struct Node {
    outgoing: HashOrder<EdgeId>,
    incoming: HashOrder<EdgeId>,
}

/// A graph of typed dependencies.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    sentence: usize,
    words: Vec<Word>,
    copies_made: Vec<((WordId, WordId), u32)>,
    nodes: Vec<Node>,
    vertices: HashOrder<()>,
    roots: HashOrder<()>,
    edges: Vec<Edge>,
    /// Names of the relations.
    pub relations: RelationNames,
}

impl Graph {
    /// Creates a graph without edges.
    #[must_use]
    pub fn new(sentence: usize, tokens: usize) -> Self {
        let words = (1..=tokens as u32).map(|index| Word { index, copy: 0, source: None }).collect();
        Self { sentence, words, nodes: vec![Node::default(); tokens], ..Self::default() }
    }

    pub(super) fn from_basic(
        sentence: usize,
        tokens: usize,
        basic: &[BasicDependency<'_>],
    ) -> Result<Self, GraphError> {
        let mut graph = Self::new(sentence, tokens);
        for (position, dependency) in basic.iter().enumerate() {
            let root = dependency.relation == "root";
            let lowest_governor = usize::from(!root);
            let BasicDependency { governor, dependent, .. } = *dependency;
            let outside = [(governor, lowest_governor), (dependent, 1)].into_iter();
            if let Some((token, _)) = outside.clone().find(|&(token, least)| token < least || token > tokens)
            {
                return Err(GraphError::Token { position, words: tokens, token });
            }
        }
        let mut sorted: Vec<_> = basic.iter().collect();
        sorted.sort_by_key(|dependency| (dependency.dependent, dependency.governor, dependency.relation));
        for dependency in sorted {
            let dependent = WordId(dependency.dependent as u32 - 1);
            if dependency.relation == "root" {
                graph.add_root(dependent);
            } else {
                let relation = graph.relations.relation(dependency.relation);
                graph.add_edge(WordId(dependency.governor as u32 - 1), dependent, relation);
            }
        }
        Ok(graph)
    }

    /// Returns the number of a word's token, from 1.
    #[must_use]
    pub fn index(&self, word: WordId) -> usize {
        self.words[word.0 as usize].index as usize
    }

    /// Returns the copy number of a word, or 0 for a token itself.
    #[must_use]
    pub fn copy(&self, word: WordId) -> usize {
        self.words[word.0 as usize].copy as usize
    }

    /// Returns the name of a relation.
    #[must_use]
    pub fn name(&self, relation: Relation) -> &str {
        self.relations.name(relation)
    }

    /// Compares words by their order in the sentence, with copies after their token.
    pub fn compare(&self, one: WordId, other: WordId) -> Ordering {
        self.place(one).cmp(&self.place(other))
    }

    fn place(&self, word: WordId) -> (u32, u32) {
        let word = self.words[word.0 as usize];
        (word.index, word.copy)
    }

    fn hash(&self, word: WordId) -> i32 {
        (self.sentence as i32).wrapping_mul(29).wrapping_add(self.index(word) as i32)
    }

    fn add_vertex(&mut self, word: WordId) {
        if !self.vertices.contains(word.0) {
            self.vertices.insert(word.0, self.hash(word), ());
        }
    }

    /// Iterates over all words that have ever had an edge, in the order of the reference implementation.
    pub fn vertices(&self) -> impl Iterator<Item = WordId> + '_ {
        self.vertices.keys().map(WordId)
    }

    /// Returns the same words in sentence order.
    #[must_use]
    pub fn sorted_vertices(&self) -> Vec<WordId> {
        let mut sorted: Vec<WordId> = self.vertices().collect();
        sorted.sort_by(|&one, &other| self.compare(one, other));
        sorted
    }

    /// Returns the first word with a token number.
    #[must_use]
    pub fn vertex_at(&self, index: usize) -> Option<WordId> {
        self.vertices().find(|&word| self.index(word) == index)
    }

    /// Iterates over the root words.
    pub fn roots(&self) -> impl Iterator<Item = WordId> + '_ {
        self.roots.keys().map(WordId)
    }

    /// Returns whether a word is a root.
    #[must_use]
    pub fn is_root(&self, word: WordId) -> bool {
        self.roots.contains(word.0)
    }

    /// Returns whether the graph has roots. Without roots, the reference implementation skips most steps.
    #[must_use]
    pub fn has_roots(&self) -> bool {
        !self.roots.is_empty()
    }

    /// Makes a word a root.
    pub fn add_root(&mut self, word: WordId) {
        self.add_vertex(word);
        if !self.is_root(word) {
            self.roots.insert(word.0, self.hash(word), ());
        }
    }

    /// Removes a word from the roots.
    pub fn remove_root(&mut self, word: WordId) {
        self.roots.remove(word.0, |()| true);
    }

    /// Adds an edge between two words.
    pub fn add_edge(&mut self, governor: WordId, dependent: WordId, relation: Relation) -> EdgeId {
        self.add_vertex(governor);
        self.add_vertex(dependent);
        let edge = EdgeId(self.edges.len() as u32);
        self.edges.push(Edge { relation, governor, dependent });
        let hash = self.hash(dependent);
        self.nodes[governor.0 as usize].outgoing.insert(dependent.0, hash, edge);
        let hash = self.hash(governor);
        self.nodes[dependent.0 as usize].incoming.insert(governor.0, hash, edge);
        edge
    }

    /// Removes the first edge with these words and this relation.
    pub fn remove_edge(&mut self, edge: Edge) {
        let Edge { relation, governor, dependent } = edge;
        let edges = &self.edges;
        let same = |edge: EdgeId| edges[edge.0 as usize].relation == relation;
        self.nodes[governor.0 as usize].outgoing.remove(dependent.0, same);
        self.nodes[dependent.0 as usize].incoming.remove(governor.0, same);
    }

    /// Changes the relation of an edge.
    pub fn set_relation(&mut self, edge: EdgeId, relation: Relation) {
        self.edges[edge.0 as usize].relation = relation;
    }

    /// Returns the words and the relation of an edge.
    #[must_use]
    pub fn edge(&self, edge: EdgeId) -> Edge {
        self.edges[edge.0 as usize]
    }

    /// Returns the first edge between two words.
    #[must_use]
    pub fn first_edge(&self, governor: WordId, dependent: WordId) -> Option<EdgeId> {
        let mut outgoing = self.nodes[governor.0 as usize].outgoing.iter();
        outgoing.find(|&(key, _)| key == dependent.0).map(|(_, edge)| edge)
    }

    /// Iterates over the edges to the dependents of a word.
    pub fn outgoing(&self, word: WordId) -> impl Iterator<Item = Edge> + '_ {
        self.nodes[word.0 as usize].outgoing.iter().map(|(_, edge)| self.edge(edge))
    }

    /// Iterates over the edges from the governors of a word.
    pub fn incoming(&self, word: WordId) -> impl Iterator<Item = Edge> + '_ {
        self.nodes[word.0 as usize].incoming.iter().map(|(_, edge)| self.edge(edge))
    }

    /// Returns the edges to the dependents of a word, sorted by governor, dependent and name.
    #[must_use]
    pub fn sorted_outgoing(&self, word: WordId) -> Vec<Edge> {
        let mut edges: Vec<Edge> = self.outgoing(word).collect();
        edges.sort_by(|one, other| self.compare_edges(one, other));
        edges
    }

    /// Returns the edges from the governors of a word, sorted by governor, dependent and name.
    #[must_use]
    pub fn sorted_incoming(&self, word: WordId) -> Vec<Edge> {
        let mut edges: Vec<Edge> = self.incoming(word).collect();
        edges.sort_by(|one, other| self.compare_edges(one, other));
        edges
    }

    pub(super) fn compare_edges(&self, one: &Edge, other: &Edge) -> Ordering {
        let words = self.compare(one.governor, other.governor);
        let words = words.then_with(|| self.compare(one.dependent, other.dependent));
        words.then_with(|| self.name(one.relation).cmp(self.name(other.relation)))
    }

    /// Iterates over all edges, by governor.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.vertices().flat_map(|word| self.outgoing(word))
    }

    /// Iterates over the distinct dependents of a word.
    pub fn children(&self, word: WordId) -> impl Iterator<Item = WordId> + '_ {
        self.nodes[word.0 as usize].outgoing.keys().map(WordId)
    }

    /// Iterates over the dependents of a word with a relation, in the order of the edges.
    pub fn children_by(&self, word: WordId, relation: Relation) -> impl Iterator<Item = WordId> + '_ {
        let fitting = self.outgoing(word).filter(move |edge| edge.relation == relation);
        fitting.map(|edge| edge.dependent)
    }

    /// Returns the distinct dependents of a word with a relation, in the order of a Java set.
    #[must_use]
    pub fn child_set(&self, word: WordId, relation: Relation) -> Vec<WordId> {
        let mut set = HashOrder::default();
        for child in self.children_by(word, relation) {
            if !set.contains(child.0) {
                set.insert(child.0, self.hash(child), ());
            }
        }
        set.keys().map(WordId).collect()
    }

    /// Returns the first governor through which a root can be reached. A root has no parent.
    #[must_use]
    pub fn parent(&self, word: WordId) -> Option<WordId> {
        if self.is_root(word) { None } else { self.step_to_root(word, &mut Vec::new()) }
    }

    /// Returns the first step of a path to a root that visits no word twice.
    fn step_to_root(&self, word: WordId, path: &mut Vec<WordId>) -> Option<WordId> {
        path.push(word);
        let mut parents: Vec<WordId> = self.nodes[word.0 as usize]
            .incoming
            .keys()
            .map(WordId)
            .filter(|parent| !path.contains(parent))
            .collect();
        parents.sort_by(|&one, &other| self.compare(one, other));
        let leads_up = |&parent: &WordId| self.is_root(parent) || self.step_to_root(parent, path).is_some();
        let step = parents.into_iter().find(leads_up);
        path.pop();
        step
    }

    /// Returns the order in which patterns visit the words: governors before dependents or, if there is a
    /// cycle, the order of the vertices.
    #[must_use]
    pub fn search_order(&self) -> Vec<WordId> {
        self.topological_order().unwrap_or_else(|| self.vertices().collect())
    }

    /// Returns the words with governors before dependents, or `None` if there is a cycle.
    pub(super) fn topological_order(&self) -> Option<Vec<WordId>> {
        let mut states = vec![Visit::None; self.words.len()];
        let mut order = Vec::with_capacity(self.words.len());
        for vertex in self.vertices() {
            if states[vertex.0 as usize] == Visit::None && !self.visit(vertex, &mut states, &mut order) {
                return None;
            }
        }
        order.reverse();
        Some(order)
    }

    /// Appends the words below a word, then the word. Returns `false` if there is a cycle.
    fn visit(&self, word: WordId, states: &mut [Visit], order: &mut Vec<WordId>) -> bool {
        states[word.0 as usize] = Visit::Begun;
        for edge in self.outgoing(word) {
            match states[edge.dependent.0 as usize] {
                Visit::Done => {}
                Visit::Begun => return false,
                Visit::None => {
                    if !self.visit(edge.dependent, states, order) {
                        return false;
                    }
                }
            }
        }
        states[word.0 as usize] = Visit::Done;
        order.push(word);
        true
    }

    /// Returns a graph to search while this one is changed.
    ///
    /// The reference implementation copies the graph edge by edge, with only the first root. The order of the
    /// copy is the same, unless words are copies, have no edges, or have had more dependents than fit into
    /// the initial table.
    #[must_use]
    pub fn snapshot(&self) -> Cow<'_, Self> {
        let plain = |word: WordId| {
            let node = &self.nodes[word.0 as usize];
            let joined = !node.outgoing.is_empty() || !node.incoming.is_empty();
            self.copy(word) == 0 && joined && !node.outgoing.has_grown()
        };
        if self.vertices().all(plain) {
            return Cow::Borrowed(self);
        }
        let mut snapshot = self.without_edges();
        if let Some(root) = self.roots().next() {
            snapshot.roots.insert(root.0, self.hash(root), ());
        }
        for edge in self.edges() {
            snapshot.add_edge(edge.governor, edge.dependent, edge.relation);
        }
        Cow::Owned(snapshot)
    }

    /// Returns a graph with the same edges, added in the order of dependent, governor and name.
    pub(super) fn rebuilt(&self) -> Self {
        let mut rebuilt = self.without_edges();
        let roots = self.roots().map(|root| (self.index(root), 0, "root", root, None));
        let edges = self.edges().map(|edge| {
            let (governor, dependent) = (self.index(edge.governor), self.index(edge.dependent));
            (dependent, governor, self.name(edge.relation), edge.dependent, Some(edge))
        });
        let mut sorted: Vec<_> = roots.chain(edges).collect();
        sorted.sort_by_key(|&(dependent, governor, name, ..)| (dependent, governor, name));
        for (_, _, _, dependent, edge) in sorted {
            match edge {
                Some(edge) => drop(rebuilt.add_edge(edge.governor, dependent, edge.relation)),
                None => rebuilt.add_root(dependent),
            }
        }
        rebuilt
    }

    fn without_edges(&self) -> Self {
        Self {
            sentence: self.sentence,
            words: self.words.clone(),
            copies_made: self.copies_made.clone(),
            nodes: vec![Node::default(); self.words.len()],
            edges: Vec::with_capacity(self.edges.len() + 4),
            relations: self.relations.clone(),
            ..Self::default()
        }
    }

    /// Sorts the edges between any two words by name and removes duplicate names.
    pub(super) fn remove_repeated_edges(&mut self) {
        let (edges, names) = (&self.edges, &self.relations);
        let relation = |edge: EdgeId| edges[edge.0 as usize].relation;
        for node in &mut self.nodes {
            for side in [&mut node.outgoing, &mut node.incoming] {
                side.sort_and_dedup(|edge| names.name(relation(edge)));
            }
        }
    }

    /// Adds a copy of the governor of `dependent`.
    pub(super) fn copy_governor(&mut self, governor: WordId, dependent: WordId) -> WordId {
        let source = self.words[governor.0 as usize].source;
        let source = source.unwrap_or_else(|| CopySource {
            original: governor,
            counter: self.copy_counter(governor, dependent),
        });
        let (_, made) = &mut self.copies_made[source.counter as usize];
        *made += 1;
        let (index, copy) = (self.words[governor.0 as usize].index, *made);
        let same = |word: &Word| (word.index, word.copy) == (index, copy);
        if let Some(place) = self.words.iter().position(same) {
            return WordId(place as u32);
        }
        self.words.push(Word { index, copy, source: Some(source) });
        self.nodes.push(Node::default());
        WordId(self.words.len() as u32 - 1)
    }

    fn copy_counter(&mut self, governor: WordId, dependent: WordId) -> u32 {
        let edge = (governor, dependent);
        let place = self.copies_made.iter().position(|&(counted, _)| counted == edge);
        let place = place.unwrap_or_else(|| {
            self.copies_made.push((edge, 0));
            self.copies_made.len() - 1
        });
        place as u32
    }

    /// Returns the token that a word is a copy of, or the word itself.
    pub(super) fn original(&self, word: WordId) -> WordId {
        self.words[word.0 as usize].source.map_or(word, |source| source.original)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    None,
    Begun,
    Done,
}
