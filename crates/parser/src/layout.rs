//! The grammar in the layout of the chart: renumbered states, and rules grouped by one of their children.
//!
//! Nearly every binary rule has one child created by binarization (its name begins with `@`) and one *plain*
//! child. The binarized child is the *head* of the rule, and the rule is in the list of its head. The chart
//! iterates over the heads in a cell and looks up the other child in the table of plain states of the
//! neighboring cell, which is small. Plain states have the lowest numbers.

use std::ops::Range;

use capeval_tables::{TableError, TableFile};

use crate::compile::{BOUNDARY_TAG, GOAL};

/// Side of a binary rule's head, and kind of its other child.
///
/// A tag that is no rule's parent covers only one word, so its rules need only one split of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    LeftWithPhrase = 0,
    LeftWithTag = 1,
    RightWithPhrase = 2,
    RightWithTag = 3,
}

pub(crate) const KINDS: [Kind; 4] =
    [Kind::LeftWithPhrase, Kind::LeftWithTag, Kind::RightWithPhrase, Kind::RightWithTag];

impl Kind {
    pub(crate) fn head_is_left(self) -> bool {
        matches!(self, Self::LeftWithPhrase | Self::LeftWithTag)
    }
}

/// A binary rule in the list of its head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedRule {
    pub(crate) other: u16,
    pub(crate) parent: u16,
    pub(crate) score: f32,
}

/// Possible sides of a state as a child.
///
/// A state that can only be a left child is not needed at the end of the sentence, where it has no right
/// sibling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    OnlyLeft,
    Anywhere,
    OnlyRight,
}

/// The rules of a head in their list: first the rules whose parent can only be a left child, then those whose
/// parent can be either, then those whose parent can only be a right child.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeadRules {
    first: u32,
    only_left: u16,
    anywhere: u16,
    only_right: u16,
}

impl HeadRules {
    pub(crate) fn is_empty(self) -> bool {
        self.only_left == 0 && self.anywhere == 0 && self.only_right == 0
    }

    /// Returns the rules whose parent is needed over a span, depending on whether it begins or ends with the
    /// sentence.
    #[inline(always)]
    pub(crate) fn range(self, at_start: bool, at_end: bool) -> Range<usize> {
        let first = self.first as usize + if at_end { usize::from(self.only_left) } else { 0 };
        let middle = self.first as usize + usize::from(self.only_left) + usize::from(self.anywhere);
        first..middle + if at_start { 0 } else { usize::from(self.only_right) }
    }
}

/// The rules of one kind, by head.
#[derive(Debug, Default)]
pub(crate) struct RuleList {
    /// The rules of each state.
    pub(crate) heads: Vec<HeadRules>,
    /// One bit per state, set if it has rules of this kind.
    pub(crate) is_head: Vec<u64>,
    pub(crate) rules: Vec<ListedRule>,
}

/// A binary rule in the list of its parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParentRule {
    pub(crate) left: u16,
    pub(crate) right: u16,
    pub(crate) kind: Kind,
    pub(crate) score: f32,
}

/// One list per state.
#[derive(Debug, Default)]
pub(crate) struct Lists<T> {
    starts: Vec<u32>,
    entries: Vec<T>,
}

impl<T: Copy> Lists<T> {
    fn new(states: usize, mut entries: Vec<(u16, T)>) -> Self {
        entries.sort_by_key(|&(state, _)| state);
        let first = |state| entries.partition_point(|&(other, _)| usize::from(other) < state) as u32;
        let starts = (0..=states).map(first).collect();
        Self { starts, entries: entries.into_iter().map(|(_, entry)| entry).collect() }
    }

    pub(crate) fn of(&self, state: u16) -> &[T] {
        let state = usize::from(state);
        &self.entries[self.starts[state] as usize..self.starts[state + 1] as usize]
    }
}

/// A state with the unary rules of which it is the child.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) state: u16,
    /// Whether the state is a tag that covers only one word.
    pub(crate) is_word_tag: bool,
    /// Parent and score of each chain of unary rules.
    pub(crate) chains: Vec<(u16, f32)>,
}

/// The labels of a tree node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// Label as a phrase, or `None` if the node was created by binarization and is removed.
    pub(crate) phrase: Option<u16>,
    pub(crate) tag: u16,
}

#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) states: usize,
    /// Number of plain states, which have the lowest numbers.
    pub(crate) plain: usize,
    pub(crate) lists: [RuleList; 4],
    /// Children of unary rules, in the order in which the rules are applied.
    pub(crate) children: Vec<Child>,
    pub(crate) binary: Lists<ParentRule>,
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

/// The validated rules of the file.
struct Rules {
    names: Vec<String>,
    tags: Vec<u16>,
    binary: Vec<([u16; 3], f32)>,
    unary: Vec<([u16; 2], f32)>,
    chains: Vec<([u16; 2], f32)>,
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
        Self {
            states,
            plain: order.plain,
            lists,
            children: children(rules, order),
            binary: Lists::new(states, binary.collect()),
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

impl Rules {
    fn read<B: AsRef<[u8]>>(file: &TableFile<B>) -> Result<Self, TableError> {
        let (ends, bytes) = (file.section("parser.state_ends")?, file.section::<u8>("parser.state_bytes")?);
        let mut names = Vec::new();
        let mut start = 0;
        for &end in file.numbers(ends)? {
            names.push(String::from_utf8_lossy(file.range(bytes, start, end)?).into_owned());
            start = end;
        }
        if names.len() > usize::from(u16::MAX) {
            return Err(file.out_of_bounds(ends, names.len()));
        }
        let states = names.len();
        let tags = file.section("parser.tag_states")?;
        check_states(file, tags, states)?;
        Ok(Self {
            names,
            tags: file.numbers(tags)?.to_vec(),
            binary: read_rules(file, "parser.binary_states", "parser.binary_scores", states)?,
            unary: read_rules(file, "parser.unary_states", "parser.unary_scores", states)?,
            chains: read_rules(file, "parser.chain_states", "parser.chain_scores", states)?,
        })
    }
}

fn check_states<B: AsRef<[u8]>>(
    file: &TableFile<B>,
    section: capeval_tables::Section<u16>,
    states: usize,
) -> Result<(), TableError> {
    match file.numbers(section)?.iter().position(|&state| usize::from(state) >= states) {
        Some(entry) => Err(file.out_of_bounds(section, entry)),
        None => Ok(()),
    }
}

fn read_rules<B: AsRef<[u8]>, const N: usize>(
    file: &TableFile<B>,
    states_name: &'static str,
    scores_name: &'static str,
    states: usize,
) -> Result<Vec<([u16; N], f32)>, TableError> {
    let (states_section, scores_section) = (file.section(states_name)?, file.section(scores_name)?);
    check_states(file, states_section, states)?;
    let scores: &[f32] = file.numbers(scores_section)?;
    if states_section.len() != N * scores.len() {
        return Err(file.out_of_bounds(states_section, N * scores.len()));
    }
    if let Some(entry) = scores.iter().position(|score| !score.is_finite()) {
        return Err(file.out_of_bounds(scores_section, entry));
    }
    let rules = file.numbers(states_section)?.as_chunks::<N>().0;
    Ok(rules.iter().copied().zip(scores.iter().copied()).collect())
}

/// The new order of the states: plain phrases, plain tags, then states created by binarization.
///
/// In each part, states with more rules come first, because they are needed most often and then share cache
/// lines.
struct Order {
    new_state: Vec<u16>,
    plain: usize,
    made: Vec<bool>,
    word_tag: Vec<bool>,
}

impl Order {
    fn new(rules: &Rules) -> Self {
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
        sorted.sort_by_key(|&state| {
            (!is_plain[state], order.word_tag[state], !made_as_left[state], std::cmp::Reverse(uses[state]))
        });
        sorted.iter().enumerate().for_each(|(new, &old)| order.new_state[old] = new as u16);
        order.plain = is_plain.iter().filter(|plain| **plain).count();
        order
    }

    fn head_is_left(&self, [_, left, right]: [u16; 3]) -> bool {
        self.made[usize::from(left)] || !self.made[usize::from(right)]
    }

    fn kind(&self, rule: [u16; 3]) -> Kind {
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

/// Returns the labels of nodes by new state, and all labels.
fn name_states(states: &[String], new_state: &[u16]) -> (Vec<Names>, Vec<String>) {
    let mut labels: Vec<String> = Vec::new();
    let mut number = |label: String| {
        let known = labels.iter().position(|other| *other == label);
        known.unwrap_or_else(|| {
            labels.push(label);
            labels.len() - 1
        }) as u16
    };
    let mut names = vec![Names { phrase: None, tag: 0 }; states.len()];
    for (old, state) in states.iter().enumerate() {
        let category = basic_category(state).to_owned();
        let time = if state.contains("-TMP") { "-TMP" } else { "" };
        let phrase = (!state.contains('@')).then(|| number(format!("{category}{time}")));
        let tag = if state.contains('@') { 0 } else { number(category) };
        names[usize::from(new_state[old])] = Names { phrase, tag };
    }
    (names, labels)
}

/// Returns a state's name up to the first annotation mark.
///
/// A mark at the start protects the text up to the same mark (`-LRB-`).
fn basic_category(state: &str) -> &str {
    const MARKS: [char; 8] = ['-', '=', '|', '#', '^', '~', '_', '['];
    let mut at_start = None;
    for (place, mark) in state.char_indices().filter(|(_, letter)| MARKS.contains(letter)) {
        if place == 0 {
            at_start = Some(mark);
        } else if at_start == Some(mark) && place > 1 {
            at_start = None;
        } else {
            return &state[..place];
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::basic_category;

    #[test]
    fn annotations_are_removed_and_brackets_kept() {
        let cases = [("NP", "NP"), ("NP^S-v", "NP"), ("-LRB-", "-LRB-"), ("-LRB-^PRN", "-LRB-"), ("$", "$")];
        for (state, category) in cases {
            assert_eq!(basic_category(state), category, "{state}");
        }
    }
}
