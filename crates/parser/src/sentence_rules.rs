//! The rules in the order in which the chart of one sentence needs them.

use std::ops::Range;

use crate::grammar::{Child, Kind, Lists, ParentRule};

/// A set of states.
#[derive(Debug)]
pub(crate) struct States {
    bits: Vec<u64>,
    /// The smallest range of words of 64 bits with all states.
    words: Range<usize>,
}

impl States {
    pub(crate) fn new(states: impl Iterator<Item = u16>, count: usize) -> Self {
        let mut bits = vec![0; count.div_ceil(64)];
        states.for_each(|state| bits[usize::from(state / 64)] |= 1 << (state % 64));
        let first = bits.iter().position(|&bits| bits != 0).unwrap_or(0);
        let end = bits.iter().rposition(|&bits| bits != 0).map_or(0, |last| last + 1);
        Self { bits, words: first..end }
    }

    pub(crate) fn words(&self) -> Range<usize> {
        self.words.clone()
    }

    #[inline(always)]
    pub(crate) fn bits(&self, word: usize) -> u64 {
        self.bits[word]
    }
}

/// Rules with the same parent and the same right child, and with heads as left children.
///
/// Only the best of `rule + left` matters for each pair of parent and right child, because a sum of floats
/// does not decrease if one of its terms increases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) parent: u16,
    pub(crate) right: u16,
}

/// A rule with a right child that can cover the boundary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndRule {
    pub(crate) parent: u16,
    pub(crate) left: u16,
    pub(crate) right: u16,
    pub(crate) score: f32,
}

#[derive(Debug)]
pub(crate) struct SentenceRules {
    /// Groups of the rules with a left head and a phrase, by parent.
    pub(crate) groups: Vec<Group>,
    /// Group and score of each of these rules, by head.
    pub(crate) grouped: Lists<(u32, f32)>,
    /// The right children of these rules.
    pub(crate) right_phrases: States,
    /// The left children of rules with a right head and a phrase.
    pub(crate) left_phrases: States,
    /// Tags that cover only one word.
    pub(crate) word_tags: States,
    /// Heads of rules with a phrase or a tag on their left.
    pub(crate) right_heads: States,
    pub(crate) right_heads_with_tag: States,
    /// Parents of rules with a right head and a phrase.
    pub(crate) right_parents: States,
    /// Rules of the whole sentence.
    pub(crate) end_rules: Vec<EndRule>,
}

impl SentenceRules {
    pub(crate) fn new(
        binary: &Lists<ParentRule>,
        children: &[Child],
        boundary_tag: u16,
        states: usize,
    ) -> Self {
        let rules = |kind: Kind| {
            (0..states as u16)
                .flat_map(move |parent| binary.of(parent).iter().map(move |rule| (parent, rule)))
                .filter(move |(_, rule)| rule.kind == kind)
        };
        let set = |members: &mut dyn Iterator<Item = u16>| States::new(members, states);
        let (groups, grouped) = group(
            rules(Kind::LeftWithPhrase)
                .map(|(parent, rule)| (rule.left, Group { parent, right: rule.right }, rule.score)),
            states,
        );
        Self {
            groups,
            grouped,
            right_phrases: set(&mut rules(Kind::LeftWithPhrase).map(|(_, rule)| rule.right)),
            left_phrases: set(&mut rules(Kind::RightWithPhrase).map(|(_, rule)| rule.left)),
            word_tags: set(&mut rules(Kind::LeftWithTag)
                .map(|(_, rule)| rule.right)
                .chain(rules(Kind::RightWithTag).map(|(_, rule)| rule.left))),
            right_heads: set(&mut rules(Kind::RightWithPhrase).map(|(_, rule)| rule.right)),
            right_heads_with_tag: set(&mut rules(Kind::RightWithTag).map(|(_, rule)| rule.right)),
            right_parents: set(&mut rules(Kind::RightWithPhrase).map(|(parent, _)| parent)),
            end_rules: end_rules(binary, children, boundary_tag, states),
        }
    }
}

/// Groups rules, which have a head each, by parent and right child.
fn group(rules: impl Iterator<Item = (u16, Group, f32)>, states: usize) -> (Vec<Group>, Lists<(u32, f32)>) {
    let mut rules: Vec<_> = rules.collect();
    rules.sort_by_key(|&(_, group, _)| (group.parent, group.right));
    let mut groups: Vec<Group> = Vec::new();
    let mut by_head = Vec::with_capacity(rules.len());
    for (head, group, score) in rules {
        if groups.last().is_none_or(|last| (last.parent, last.right) != (group.parent, group.right)) {
            groups.push(group);
        }
        by_head.push((head, ((groups.len() - 1) as u32, score)));
    }
    (groups, Lists::new(states, by_head))
}

fn end_rules(
    binary: &Lists<ParentRule>,
    children: &[Child],
    boundary_tag: u16,
    states: usize,
) -> Vec<EndRule> {
    let mut covers_boundary = vec![false; states];
    covers_boundary[usize::from(boundary_tag)] = true;
    for child in children {
        if covers_boundary[usize::from(child.state)] {
            child.chains.iter().for_each(|&(parent, _)| covers_boundary[usize::from(parent)] = true);
        }
    }
    let all = (0..states as u16).flat_map(|parent| {
        binary.of(parent).iter().map(move |rule| EndRule {
            parent,
            left: rule.left,
            right: rule.right,
            score: rule.score,
        })
    });
    all.filter(|rule| covers_boundary[usize::from(rule.right)]).collect()
}
