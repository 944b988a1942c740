//! All rules at once, as one automaton: which rule matches the longest stretch of symbols.
//!
//! The rules are compiled into a non-deterministic automaton, shared by all threads. Each
//! lexer makes a deterministic state when it first reaches it: captions reach few of them, so
//! start-up costs little.

use crate::pattern::{Pattern, Set};
use std::collections::HashMap;

enum Node {
    /// Consumes one symbol of the set and goes on to the node.
    Step(Set, usize),
    /// Goes on to all of the nodes.
    Fork(Vec<usize>),
    /// The rule of this number has matched.
    Accept(usize),
}

/// The rules, compiled.
pub(crate) struct Automaton {
    nodes: Vec<Node>,
    start: usize,
    /// The equivalence class of each symbol: symbols that no rule tells apart share one.
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

    /// Adds the pattern in front of the node `next` and returns the node it starts at.
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

    /// Splits the symbols into classes, one set of the rules after the other.
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

/// A state of the deterministic automaton: where its row starts among the transitions, and
/// whether a rule has matched on reaching it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct State(u32);

impl State {
    const UNKNOWN: State = State(u32::MAX);
    /// No rule can match any more.
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

/// What a deterministic state consists of.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Members {
    /// The nodes that wait for a symbol, in order.
    waiting: Vec<usize>,
    /// The first of the rules that have matched.
    rule: Option<usize>,
}

/// The deterministic states reached so far.
pub(crate) struct States {
    automaton: &'static Automaton,
    members: Vec<Members>,
    rows: HashMap<Members, usize>,
    /// A row for each state, a column for each class.
    transitions: Vec<State>,
    /// Scratch: the nodes that the current step has visited.
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

    /// The state before the first symbol.
    pub(crate) fn start(&self) -> State {
        self.start
    }

    /// The state after one more symbol.
    #[inline]
    pub(crate) fn next(&mut self, state: State, symbol: u8) -> State {
        let class = usize::from(self.automaton.classes[usize::from(symbol)]);
        let cell = state.row() + class;
        match self.transitions[cell] {
            State::UNKNOWN => self.explore(state, class, cell),
            next => next,
        }
    }

    /// The first of the rules that matched on reaching the state.
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

    /// What can be reached from some nodes without a symbol.
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

    /// The row of the state with these members, made if need be.
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
