//! All rules as one automaton, which finds the rule with the longest match.
//!
//! The rules are compiled into a non-deterministic automaton shared by all threads. Each lexer creates
//! deterministic states when it first reaches them. Captions reach few states, so start-up is cheap.

use crate::pattern::{Pattern, Set};
use std::collections::HashMap;

enum Node {
    /// Consumes one symbol of the set and continues at the node.
    Step(Set, usize),
    /// Continues at all of the nodes.
    Fork(Vec<usize>),
    /// Accepts the rule with this number.
    Accept(usize),
}

/// The compiled rules.
pub(crate) struct Automaton {
    nodes: Vec<Node>,
    start: usize,
    /// Equivalence class of each symbol. Symbols that no rule distinguishes share a class.
    classes: [u8; 256],
    /// One symbol of each class.
    samples: Vec<u8>,
}

impl Automaton {
    pub(crate) fn new<'a>(rules: impl Iterator<Item = &'a Pattern>) -> Automaton {
        let mut automaton = Automaton { nodes: Vec::new(), start: 0, classes: [0; 256], samples: Vec::new() };
        let mut starts = Vec::new();
        for (number, pattern) in rules.enumerate() {
            let accept = automaton.add(Node::Accept(number));
            starts.push(automaton.compile(pattern, accept));
        }
        automaton.start = automaton.add(Node::Fork(starts));
        automaton.classify();
        automaton
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Adds the pattern before the node `next`, and returns its first node.
    fn compile(&mut self, pattern: &Pattern, next: usize) -> usize {
        match pattern {
            Pattern::One(set) => self.add(Node::Step(*set, next)),
            Pattern::Sequence(parts) => parts.iter().rev().fold(next, |next, part| self.compile(part, next)),
            Pattern::Choice(parts) => {
                let starts = parts.iter().map(|part| self.compile(part, next)).collect();
                self.add(Node::Fork(starts))
            }
            Pattern::Repeat { inner, min, max } => {
                let optional = match max {
                    Some(max) => (*min..*max).fold(next, |rest, _| {
                        let once = self.compile(inner, rest);
                        self.add(Node::Fork(vec![once, next]))
                    }),
                    None => {
                        let again = self.add(Node::Fork(vec![next]));
                        let once = self.compile(inner, again);
                        self.nodes[again] = Node::Fork(vec![once, next]);
                        again
                    }
                };
                (0..*min).fold(optional, |next, _| self.compile(inner, next))
            }
        }
    }

    /// Partitions the symbols into equivalence classes by the sets in the rules.
    fn classify(&mut self) {
        let mut sets: Vec<Set> = Vec::new();
        for node in &self.nodes {
            if let Node::Step(set, _) = node
                && !sets.contains(set)
            {
                sets.push(*set);
            }
        }
        let mut numbers: HashMap<Vec<bool>, u8> = HashMap::new();
        for symbol in 0..=u8::MAX {
            let members = sets.iter().map(|set| set.contains(symbol)).collect();
            let class = *numbers.entry(members).or_insert_with(|| {
                self.samples.push(symbol);
                (self.samples.len() - 1) as u8
            });
            self.classes[usize::from(symbol)] = class;
        }
    }
}

/// A state of the deterministic automaton: the offset of its row in the transitions, and whether it accepts a
/// rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct State(u32);

impl State {
    const UNKNOWN: State = State(u32::MAX);
    /// The state in which no rule can match any more.
    pub(crate) const DEAD: State = State(0);

    fn new(row: usize, accepts: bool) -> State {
        State((row as u32) << 1 | u32::from(accepts))
    }

    fn row(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(crate) fn accepts(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The contents of a deterministic state.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Members {
    /// Sorted nodes that wait for a symbol.
    waiting: Vec<usize>,
    /// The first of the matching rules.
    rule: Option<usize>,
}

/// The deterministic states reached so far.
pub(crate) struct States {
    automaton: &'static Automaton,
    members: Vec<Members>,
    rows: HashMap<Members, usize>,
    /// One row per state, one column per class.
    transitions: Vec<State>,
    /// Scratch memory: the nodes visited in the current step.
    seen: Vec<bool>,
    start: State,
}

impl States {
    pub(crate) fn new(automaton: &'static Automaton) -> States {
        let mut states = States {
            automaton,
            members: Vec::new(),
            rows: HashMap::new(),
            transitions: Vec::new(),
            seen: vec![false; automaton.nodes.len()],
            start: State::DEAD,
        };
        states.intern(Members { waiting: Vec::new(), rule: None });
        let start = states.reach(&[automaton.start]);
        let row = states.intern(start);
        states.start = State::new(row, false);
        states
    }

    /// Returns the state before the first symbol.
    pub(crate) fn start(&self) -> State {
        self.start
    }

    /// Returns the state after one more symbol.
    #[inline]
    pub(crate) fn next(&mut self, state: State, symbol: u8) -> State {
        let class = usize::from(self.automaton.classes[usize::from(symbol)]);
        let cell = state.row() + class;
        match self.transitions[cell] {
            State::UNKNOWN => self.explore(state, class, cell),
            next => next,
        }
    }

    /// Returns the first rule that a state accepts.
    pub(crate) fn rule(&self, state: State) -> Option<usize> {
        self.members(state).rule
    }

    fn members(&self, state: State) -> &Members {
        &self.members[state.row() / self.automaton.samples.len()]
    }

    #[cold]
    fn explore(&mut self, state: State, class: usize, cell: usize) -> State {
        let symbol = self.automaton.samples[class];
        let mut targets = Vec::new();
        for &node in &self.members(state).waiting {
            if let Node::Step(set, next) = &self.automaton.nodes[node]
                && set.contains(symbol)
            {
                targets.push(*next);
            }
        }
        let reached = self.reach(&targets);
        let accepts = reached.rule.is_some();
        let next = State::new(self.intern(reached), accepts);
        self.transitions[cell] = next;
        next
    }

    /// Returns everything that is reachable from some nodes without a symbol.
    fn reach(&mut self, from: &[usize]) -> Members {
        let mut visited = Vec::new();
        let mut waiting = Vec::new();
        let mut rule: Option<usize> = None;
        let mut pending = from.to_vec();
        while let Some(node) = pending.pop() {
            if std::mem::replace(&mut self.seen[node], true) {
                continue;
            }
            visited.push(node);
            match &self.automaton.nodes[node] {
                Node::Step(..) => waiting.push(node),
                Node::Fork(nodes) => pending.extend(nodes),
                Node::Accept(number) => rule = Some(rule.map_or(*number, |r| r.min(*number))),
            }
        }
        for node in visited {
            self.seen[node] = false;
        }
        waiting.sort_unstable();
        Members { waiting, rule }
    }

    /// Returns the row of the state with these members, adding it if it is new.
    fn intern(&mut self, members: Members) -> usize {
        if let Some(&row) = self.rows.get(&members) {
            return row;
        }
        let row = self.transitions.len();
        let unknown = if members.waiting.is_empty() { State::DEAD } else { State::UNKNOWN };
        let width = self.automaton.samples.len();
        self.transitions.resize(row + width, unknown);
        self.rows.insert(members.clone(), row);
        self.members.push(members);
        row
    }
}
