//! The order of the states in the chart.

use crate::grammar::{Kind, Rules};

/// The new order of the states: plain phrases, plain tags, then states created by binarization.
///
/// In each part, states with more rules come first, because they are needed most often and then share cache
/// lines.
pub(crate) struct Order {
    pub(crate) new_state: Vec<u16>,
    /// Number of plain states.
    pub(crate) plain: usize,
    made: Vec<bool>,
    pub(crate) word_tag: Vec<bool>,
}

impl Order {
    pub(crate) fn new(rules: &Rules) -> Self {
        let states = rules.names.len();
        let is_made: Vec<bool> = rules.names.iter().map(|name| name.starts_with('@')).collect();
        let mut order =
            Self { new_state: vec![0; states], plain: 0, made: is_made, word_tag: vec![false; states] };
        rules.tags.iter().for_each(|&tag| order.word_tag[usize::from(tag)] = true);
        let parents =
            rules.binary.iter().map(|(rule, _)| rule[0]).chain(rules.chains.iter().map(|(rule, _)| rule[0]));
        parents.for_each(|parent| order.word_tag[usize::from(parent)] = false);
        let mut is_plain: Vec<bool> = order.made.iter().map(|made| !made).collect();
        for &(rule, _) in &rules.binary {
            let [_, left, right] = rule;
            is_plain[usize::from(if order.head_is_left(rule) { right } else { left })] = true;
        }
        for rule in rules.unary.iter().chain(&rules.chains) {
            rule.0.iter().for_each(|&state| is_plain[usize::from(state)] = true);
        }
        let mut uses = vec![0_u32; states];
        rules.binary.iter().for_each(|(rule, _)| uses[usize::from(rule[0])] += 1);
        let mut sorted: Vec<usize> = (0..states).collect();
        let made_as_left = left_heads(rules, &order);
        let phrase_sides = phrase_sides(rules, &order);
        sorted.sort_by_key(|&state| {
            let part = (!is_plain[state], order.word_tag[state], phrase_sides[state]);
            (part, !made_as_left[state], std::cmp::Reverse(uses[state]))
        });
        sorted.iter().enumerate().for_each(|(new, &old)| order.new_state[old] = new as u16);
        order.plain = is_plain.iter().filter(|plain| **plain).count();
        order
    }

    fn head_is_left(&self, [_, left, right]: [u16; 3]) -> bool {
        self.made[usize::from(left)] || !self.made[usize::from(right)]
    }

    pub(crate) fn kind(&self, rule: [u16; 3]) -> Kind {
        let [_, left, right] = rule;
        match (self.head_is_left(rule), self.word_tag[usize::from(right)], self.word_tag[usize::from(left)]) {
            (true, false, _) => Kind::LeftWithPhrase,
            (true, true, _) => Kind::LeftWithTag,
            (false, _, false) => Kind::RightWithPhrase,
            (false, _, true) => Kind::RightWithTag,
        }
    }
}

fn left_heads(rules: &Rules, order: &Order) -> Vec<bool> {
    let mut left = vec![false; rules.names.len()];
    for &(rule, _) in rules.binary.iter().filter(|(rule, _)| order.head_is_left(*rule)) {
        left[usize::from(rule[1])] = true;
    }
    left
}

/// Returns the sides on which each state is the other child of a head: left, both, right, or none.
///
/// In this order, the phrases of each side are together.
fn phrase_sides(rules: &Rules, order: &Order) -> Vec<u8> {
    let (mut left, mut right) = (vec![false; rules.names.len()], vec![false; rules.names.len()]);
    for &(rule, _) in &rules.binary {
        match order.kind(rule) {
            Kind::LeftWithPhrase => right[usize::from(rule[2])] = true,
            Kind::RightWithPhrase => left[usize::from(rule[1])] = true,
            Kind::LeftWithTag | Kind::RightWithTag => {}
        }
    }
    let sides = left.into_iter().zip(right);
    sides
        .map(|sides| match sides {
            (true, false) => 0,
            (true, true) => 1,
            (false, true) => 2,
            (false, false) => 3,
        })
        .collect()
}
