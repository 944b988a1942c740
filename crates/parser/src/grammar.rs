//! The rules of the grammar: as in the file, and in lists.

use std::ops::Range;

use capeval_tables::{TableError, TableFile};

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
pub(crate) enum Use {
    OnlyLeft,
    Anywhere,
    OnlyRight,
}

/// The rules of a head in their list. The parents of the first rules can only be left children, the parents of
/// the next rules can be either child, and the parents of the last rules can only be right children.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeadRules {
    pub(crate) first: u32,
    pub(crate) only_left: u16,
    pub(crate) anywhere: u16,
    pub(crate) only_right: u16,
}

impl HeadRules {
    pub(crate) fn is_empty(self) -> bool {
        self.only_left == 0 && self.anywhere == 0 && self.only_right == 0
    }

    /// Returns the rules with parents that are needed over a span. This depends on whether it begins or ends with the
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
    pub(crate) starts: Vec<u32>,
    pub(crate) entries: Vec<T>,
}

impl<T: Copy> Lists<T> {
    pub(crate) fn new(states: usize, mut entries: Vec<(u16, T)>) -> Self {
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

/// The validated rules of the file.
pub(crate) struct Rules {
    pub(crate) names: Vec<String>,
    pub(crate) tags: Vec<u16>,
    pub(crate) binary: Vec<([u16; 3], f32)>,
    pub(crate) unary: Vec<([u16; 2], f32)>,
    pub(crate) chains: Vec<([u16; 2], f32)>,
}

impl Rules {
    pub(crate) fn read<B: AsRef<[u8]>>(file: &TableFile<B>) -> Result<Self, TableError> {
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
