//! Chains of unary rules.
//!
//! The chart uses the best chain between two states as one rule. Its score is a sum of floats, which depends
//! on the order in which chains are composed. The rules must therefore be in the order of
//! [`Source::unary_rules`](crate::Source).

use rustc_hash::FxHashMap;

use crate::source::UnaryRule;

/// Returns the best chain of rules between any two different states that have one.
///
/// A chain is composed around each rule in turn: a chain that ends at its parent, the rule, and a chain that
/// starts at its child. Every sum is `(above + below) + rule`, in floats.
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
    /// Chains by parent and by child, in order of discovery.
    by_parent: Vec<Vec<usize>>,
    by_child: Vec<Vec<usize>>,
    by_ends: FxHashMap<(u32, u32), usize>,
}

impl Closure {
    /// Starts with an empty chain from every state to itself.
    fn new(states: usize) -> Self {
        let (by_parent, by_child) = (vec![Vec::new(); states], vec![Vec::new(); states]);
        let mut closure = Self { chains: Vec::new(), by_parent, by_child, by_ends: FxHashMap::default() };
        for state in 0..states as u32 {
            closure.improve(UnaryRule { parent: state, child: state, score: 0.0 });
        }
        closure
    }

    /// Adds the chains around a rule.
    ///
    /// The lists can grow during iteration: the outer one is read up to its initial length, the inner one up
    /// to its length at the start of its iteration.
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

#[cfg(test)]
mod tests {
    use super::close;
    use crate::source::UnaryRule;

    fn rule(parent: u32, child: u32, score: f32) -> UnaryRule {
        UnaryRule { parent, child, score }
    }

    #[test]
    fn the_best_chain_between_two_states_is_one_rule() {
        let chains = close(&[rule(0, 1, -1.0), rule(1, 2, -2.0), rule(0, 2, -4.0), rule(2, 0, -1.0)], 3);
        let score = |parent, child| {
            let chain = chains.iter().find(|chain| (chain.parent, chain.child) == (parent, child));
            chain.map(|chain| chain.score)
        };
        assert_eq!(score(0, 2), Some(-3.0));
        assert_eq!(score(1, 0), Some(-3.0));
        assert_eq!(score(2, 1), Some(-2.0));
        assert_eq!(score(0, 0), None);
        assert_eq!(chains.len(), 6);
    }

    #[test]
    fn sums_are_in_the_order_of_the_rules() {
        let (large, small) = (-16_777_216.0, -1.0);
        // In floats, (small + small) + large differs from (small + large) + small.
        let chains = close(&[rule(1, 2, small), rule(2, 3, small), rule(0, 1, large)], 4);
        let chain = chains.iter().find(|chain| (chain.parent, chain.child) == (0, 3)).unwrap();
        assert_eq!(chain.score, -16_777_218.0);
        let chains = close(&[rule(0, 1, large), rule(1, 2, small), rule(2, 3, small)], 4);
        let chain = chains.iter().find(|chain| (chain.parent, chain.child) == (0, 3)).unwrap();
        assert_eq!(chain.score, -16_777_216.0);
    }
}
