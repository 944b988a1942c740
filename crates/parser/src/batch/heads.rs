//! Lists of heads: the states with the rules that cells above need.

use crate::grammar::{HeadRules, Kind};
use crate::lanes::Mask;

/// A state of a cell in the list of its kind, with its rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) rules: HeadRules,
    pub(super) mask: Mask,
    pub(super) slot: u16,
}

/// The heads of the cells that other cells still need, one list per kind.
#[derive(Debug, Default)]
pub(super) struct Heads {
    pub(super) lists: [Vec<Head>; 4],
    /// Heads of the previous column. Left heads that combine with a tag are needed only with the next word.
    left_with_tag_before: Vec<Head>,
}

impl Heads {
    pub(super) fn clear(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
        self.left_with_tag_before.clear();
    }

    /// Removes the heads that no cell of the next column needs.
    ///
    /// Right heads combine with their left neighbors in cells of the same column.
    pub(super) fn begin_column(&mut self) {
        self.lists[Kind::RightWithPhrase as usize].clear();
        self.lists[Kind::RightWithTag as usize].clear();
        std::mem::swap(&mut self.lists[Kind::LeftWithTag as usize], &mut self.left_with_tag_before);
        self.lists[Kind::LeftWithTag as usize].clear();
    }

    /// Returns the list that cells of the current column read.
    pub(super) fn list(&self, kind: Kind) -> &[Head] {
        match kind {
            Kind::LeftWithTag => &self.left_with_tag_before,
            _ => &self.lists[kind as usize],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.left_with_tag_before.len() + self.lists.iter().map(Vec::len).sum::<usize>()
    }
}
