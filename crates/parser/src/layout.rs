//! The grammar in the layout of the chart: renumbered states, and rules grouped by one of their children.
//!
//! Nearly every binary rule has one child created by binarization (its name begins with `@`) and one *plain*
//! child. The binarized child is the *head* of the rule, and the rule is in the list of its head. The chart
//! iterates over the heads in a cell and looks up the other child in the table of plain states of the
//! neighboring cell, which is small. Plain states have the lowest numbers.

use capeval_tables::{TableError, TableFile};

use crate::compile::{BOUNDARY_TAG, GOAL};
use crate::grammar::{Child, HeadRules, KINDS, Kind, ListedRule, Lists, ParentRule, RuleList, Rules, Use};
use crate::names::{Names, name_states};
use crate::order::Order;
use crate::sentence_rules::SentenceRules;

#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) states: usize,
    /// Number of plain states, which have the lowest numbers.
    pub(crate) plain: usize,
    pub(crate) lists: [RuleList; 4],
    /// Children of unary rules, in the order in which the rules are applied.
    pub(crate) children: Vec<Child>,
    pub(crate) binary: Lists<ParentRule>,
    pub(crate) sentence: SentenceRules,
    /// Child and score of each unary rule, by parent.
    pub(crate) unary: Lists<(u16, f32)>,
    pub(crate) is_tag: Vec<bool>,
    pub(crate) goal: u16,
    pub(crate) boundary_tag: u16,
    pub(crate) names: Vec<Names>,
    pub(crate) labels: Vec<String>,
    /// New number of each state of the file.
    pub(crate) new_state: Vec<u16>,
}

impl Layout {
    pub(crate) fn open<B: AsRef<[u8]>>(file: &TableFile<B>) -> Result<Self, TableError> {
        let rules = Rules::read(file)?;
        let no_name =
            || file.section::<u8>("parser.state_bytes").map(|section| file.out_of_bounds(section, 0));
        let find = |name: &str| rules.names.iter().position(|other| other == name);
        let (Some(goal), Some(boundary)) = (find(GOAL), find(BOUNDARY_TAG)) else {
            return Err(no_name()?);
        };
        let order = Order::new(&rules);
        Ok(Self::arrange(&rules, &order, goal, boundary))
    }

    fn arrange(rules: &Rules, order: &Order, goal: usize, boundary: usize) -> Self {
        let states = rules.names.len();
        let new = |state: u16| order.new_state[usize::from(state)];
        let mut is_tag = vec![false; states];
        rules.tags.iter().for_each(|&tag| is_tag[usize::from(new(tag))] = true);
        let kinds_of_rules: Vec<Kind> = rules.binary.iter().map(|&(rule, _)| order.kind(rule)).collect();
        let uses = uses(rules, goal as u16, boundary as u16);
        let lists = KINDS.map(|kind| rule_list(rules, order, &kinds_of_rules, &uses, kind));
        let binary =
            rules.binary.iter().zip(&kinds_of_rules).map(|(&([parent, left, right], score), &kind)| {
                (new(parent), ParentRule { left: new(left), right: new(right), kind, score })
            });
        let unary = rules.unary.iter().map(|&([parent, child], score)| (new(parent), (new(child), score)));
        let (names, labels) = name_states(&rules.names, &order.new_state);
        let (binary, children) = (Lists::new(states, binary.collect()), children(rules, order));
        let sentence = SentenceRules::new(&binary, &children, new(boundary as u16), states);
        Self {
            states,
            plain: order.plain,
            lists,
            children,
            binary,
            sentence,
            unary: Lists::new(states, unary.collect()),
            is_tag,
            goal: new(goal as u16),
            boundary_tag: new(boundary as u16),
            names,
            labels,
            new_state: order.new_state.clone(),
        }
    }
}

/// Returns the possible sides of each state of the file.
fn uses(rules: &Rules, goal: u16, boundary: u16) -> Vec<Use> {
    let (mut left, mut right) = (vec![false; rules.names.len()], vec![false; rules.names.len()]);
    for &([_, left_child, right_child], _) in &rules.binary {
        left[usize::from(left_child)] = true;
        right[usize::from(right_child)] = true;
        // The boundary follows the last word.
        right[usize::from(left_child)] |= right_child == boundary;
    }
    for state in rules.chains.iter().map(|&([_, child], _)| child).chain([goal]) {
        left[usize::from(state)] = true;
        right[usize::from(state)] = true;
    }
    let both = left.into_iter().zip(right);
    both.map(|both| match both {
        (true, true) => Use::Anywhere,
        (false, true) => Use::OnlyRight,
        (_, false) => Use::OnlyLeft,
    })
    .collect()
}

fn rule_list(rules: &Rules, order: &Order, kinds: &[Kind], uses: &[Use], kind: Kind) -> RuleList {
    let new = |state: u16| order.new_state[usize::from(state)];
    let of_kind = rules.binary.iter().zip(kinds).filter(|&(_, &other)| other == kind);
    let mut listed: Vec<_> = of_kind
        .map(|(&([parent, left, right], score), _)| {
            let (head, other) = if kind.head_is_left() { (left, right) } else { (right, left) };
            let rule = ListedRule { other: new(other), parent: new(parent), score };
            (new(head), (uses[usize::from(parent)], rule))
        })
        .collect();
    listed.sort_by_key(|&(head, (parent_use, rule))| (head, parent_use, rule.other));
    let lists = Lists::new(rules.names.len(), listed);
    let head_rules = |state: u16| {
        let count = |wanted| lists.of(state).iter().filter(|(found, _)| *found == wanted).count() as u16;
        HeadRules {
            first: lists.starts[usize::from(state)],
            only_left: count(Use::OnlyLeft),
            anywhere: count(Use::Anywhere),
            only_right: count(Use::OnlyRight),
        }
    };
    let heads: Vec<HeadRules> = (0..rules.names.len() as u16).map(head_rules).collect();
    let bits = |heads: &[HeadRules]| {
        let bit = |(bit, rules): (usize, &HeadRules)| u64::from(!rules.is_empty()) << bit;
        heads.iter().enumerate().map(bit).sum()
    };
    let is_head = heads.chunks(64).map(bits).collect();
    RuleList { heads, is_head, rules: lists.entries.into_iter().map(|(_, rule)| rule).collect() }
}

/// Returns the children of chains in the file's order, which is the reference implementation's.
fn children(rules: &Rules, order: &Order) -> Vec<Child> {
    let chains = rules
        .chains
        .iter()
        .map(|&([parent, child], score)| (child, (order.new_state[usize::from(parent)], score)));
    let by_child = Lists::new(rules.names.len(), chains.collect());
    let states = 0..rules.names.len() as u16;
    let with_chains = states.filter(|&state| !by_child.of(state).is_empty());
    let child = |state| Child {
        state: order.new_state[usize::from(state)],
        is_word_tag: order.word_tag[usize::from(state)],
        chains: by_child.of(state).to_vec(),
    };
    with_chains.map(child).collect()
}
