//! Chains of unary rules.
//!
//! The chart uses the best chain between two states as one rule. Its score is a float sum, which
//! depends on the order in which the chains were put together, and CoreNLP's order is that of two
//! Java hash tables. The rules' order also decides ties between trees.

use rustc_hash::FxHashMap;

use crate::java::hash_table;
use crate::source::UnaryRule;

/// The order in which Java walks through a `HashSet` built from a deserialised `HashMap` of rules:
/// the order of one hash table goes into another one of the same size.
pub(crate) fn java_order(rules: Vec<UnaryRule>) -> Vec<UnaryRule> {
    let capacity = (rules.len() as f32 / 0.75) as usize + 1;
    let buckets = capacity.max(16).next_power_of_two();
    let hash = |rule: &UnaryRule| (rule.parent << 16) ^ rule.child;
    hash_table::order(hash_table::order(rules, buckets, hash), buckets, hash)
}

/// The best chain of rules between any two different states that have one.
///
/// A chain is put together around every rule in turn: the chains that end above its parent, the
/// rule, the chains that start below its child. Every sum is `(above + below) + rule`, in floats.
pub(crate) fn close(rules: &[UnaryRule], states: usize) -> Vec<UnaryRule> {
    let mut closure = Closure::new(states);
    for rule in rules {
        closure.add(*rule);
    }
    closure.chains.retain(|chain| chain.parent != chain.child);
    closure.chains
}

struct Closure {
    chains: Vec<UnaryRule>,
    /// The chains of each parent and of each child, in the order of their discovery.
    by_parent: Vec<Vec<usize>>,
    by_child: Vec<Vec<usize>>,
    by_ends: FxHashMap<(u32, u32), usize>,
}

impl Closure {
    /// Every state has an empty chain to itself.
    fn new(states: usize) -> Self {
        let (by_parent, by_child) = (vec![Vec::new(); states], vec![Vec::new(); states]);
        let mut closure = Self { chains: Vec::new(), by_parent, by_child, by_ends: FxHashMap::default() };
        for state in 0..states as u32 {
            closure.improve(UnaryRule { parent: state, child: state, score: 0.0 });
        }
        closure
    }

    /// The lists can grow while they are walked through: the outer one is read up to the length
    /// that it had, the inner one up to the length that it has when its turn comes.
    fn add(&mut self, rule: UnaryRule) {
        let (above, below) = (rule.parent as usize, rule.child as usize);
        for upper in 0..self.by_child[above].len() {
            let upper = self.by_child[above][upper];
            for lower in 0..self.by_parent[below].len() {
                let lower = self.chains[self.by_parent[below][lower]];
                let upper = self.chains[upper];
                let score = upper.score + lower.score + rule.score;
                self.improve(UnaryRule { parent: upper.parent, child: lower.child, score });
            }
        }
    }

    fn improve(&mut self, chain: UnaryRule) {
        if let Some(&known) = self.by_ends.get(&(chain.parent, chain.child)) {
            let score = &mut self.chains[known].score;
            *score = score.max(chain.score);
            return;
        }
        self.by_ends.insert((chain.parent, chain.child), self.chains.len());
        self.by_parent[chain.parent as usize].push(self.chains.len());
        self.by_child[chain.child as usize].push(self.chains.len());
        self.chains.push(chain);
    }
}
