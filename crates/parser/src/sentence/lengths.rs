//! One length of a sentence's chart, from the shorter lengths.

use crate::grammar::Kind;
use crate::lanes::LANES;
use crate::layout::Layout;
use crate::sentence::block::{Block, Window};
use crate::sentence::sums::{Children, LeftList, RightList, Sums, TILE};
use crate::sentence_rules::SentenceRules;

/// The finished spans of one length at 16 neighboring starts.
#[derive(Debug, Default)]
pub(super) struct StartBlock {
    pub(super) block: Block,
    left: LeftList,
}

impl StartBlock {
    fn clear(&mut self) {
        self.block.clear();
        self.left.entries.clear();
        self.left.scores.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        self.block.bytes() + self.left.bytes()
    }
}

/// The sums of long children for the lengths of a tile, and the sums of all children for the current length.
#[derive(Debug, Default)]
pub(super) struct Partial {
    tile: [Block; TILE],
    whole: [Block; 1],
}

/// Tables of one thread.
pub(super) struct Tables {
    tile: Sums<TILE>,
    pub(super) sums: Sums<1>,
    groups: Sums<1>,
    right_of_tile: Children<TILE>,
    left_of_tile: Children<TILE>,
    right: Children<1>,
    left: Children<1>,
    first_tags: Children<1>,
    last_tags: Children<1>,
}

impl Tables {
    pub(super) fn new(layout: &Layout) -> Self {
        let rules = &layout.sentence;
        Self {
            tile: Sums::new(layout.states),
            sums: Sums::new(layout.states),
            groups: Sums::new(rules.groups.len()),
            right_of_tile: Children::new(&rules.right_phrases),
            left_of_tile: Children::new(&rules.left_phrases),
            right: Children::new(&rules.right_phrases),
            left: Children::new(&rules.left_phrases),
            first_tags: Children::new(&rules.word_tags),
            last_tags: Children::new(&rules.word_tags),
        }
    }
}

/// The finished lengths.
#[derive(Clone, Copy)]
pub(super) struct Finished<'a> {
    pub(super) layout: &'a Layout,
    pub(super) rules: &'a SentenceRules,
    pub(super) words: usize,
    /// Number of blocks of a length.
    pub(super) width: usize,
    pub(super) blocks: &'a [StartBlock],
    pub(super) ends: &'a [RightList],
}

impl<'a> Finished<'a> {
    /// Returns the spans of a length from a start on, which can be outside of the sentence.
    fn window(&self, length: usize, start: isize) -> Window<'a> {
        let row = &self.blocks[(length - 1) * self.width..length * self.width];
        Window::new(start, |number| row.get(number).map(|cell| &cell.block))
    }

    fn cell(&self, length: usize, number: usize) -> &'a StartBlock {
        &self.blocks[(length - 1) * self.width + number]
    }

    fn ends(&self, length: usize, number: usize) -> &'a RightList {
        &self.ends[(length - 1) * self.width + number]
    }

    /// Returns whether a block of starts, or of last words, has spans of a length.
    fn has_starts(&self, length: usize, number: usize) -> bool {
        LANES * number + length <= self.words
    }

    fn has_ends(&self, length: usize, number: usize) -> bool {
        LANES * number + LANES >= length
    }

    /// Combines left heads at a block of starts with right children, for the lengths of a tile from `first`
    /// on. All children must be finished.
    pub(super) fn add_tile_of_starts(
        &self,
        first: usize,
        number: usize,
        sums: &mut Partial,
        tables: &mut Tables,
    ) {
        let start = (LANES * number) as isize;
        let lefts = if self.has_starts(first, number) { TILE..first } else { 0..0 };
        for left in lefts {
            let list = &self.cell(left, number).left;
            if list.entries.is_empty() {
                continue;
            }
            let window = |tile: usize| self.window(first + tile - left, start + left as isize);
            tables.right_of_tile.read(&self.rules.right_phrases, window);
            tables.tile.combine_left(list, &tables.right_of_tile);
        }
        tables.tile.finish(&mut sums.tile);
    }

    /// Combines right heads at a block of last words with left children, for the lengths of a tile from
    /// `first` on.
    pub(super) fn add_tile_of_ends(
        &self,
        first: usize,
        number: usize,
        sums: &mut Partial,
        tables: &mut Tables,
    ) {
        let last = (LANES * number) as isize;
        let rights = if self.has_ends(first, number) { TILE..first } else { 0..0 };
        for right in rights {
            let list = self.ends(right, number);
            if list.heads.is_empty() {
                continue;
            }
            let window = |tile: usize| {
                let length = first + tile;
                self.window(length - right, last + 1 - length as isize)
            };
            tables.left_of_tile.read(&self.rules.left_phrases, window);
            tables.tile.combine_right(self.layout, list, &tables.left_of_tile);
        }
        tables.tile.finish(&mut sums.tile);
    }

    /// Completes the sums of right heads for one length.
    pub(super) fn complete_ends(
        &self,
        (first, length, number): (usize, usize, usize),
        sums: &mut Partial,
        tables: &mut Tables,
    ) {
        if !self.has_ends(length, number) {
            return sums.whole[0].clear();
        }
        tables.sums.add_block(&sums.tile[length - first]);
        let start = (LANES * number + 1) as isize - length as isize;
        for right in rest_of_tile(first, length) {
            let list = self.ends(right, number);
            if list.heads.is_empty() {
                continue;
            }
            tables.left.read(&self.rules.left_phrases, |_| self.window(length - right, start));
            tables.sums.combine_right(self.layout, list, &tables.left);
        }
        tables.sums.finish(&mut sums.whole);
    }

    /// Computes the spans of one length at a block of starts.
    pub(super) fn complete_starts(
        &self,
        (first, length, number): (usize, usize, usize),
        (starts, ends): (&Partial, &[Partial]),
        cell: &mut StartBlock,
        tables: &mut Tables,
    ) {
        if !self.has_starts(length, number) {
            return cell.clear();
        }
        tables.sums.add_block(&starts.tile[length - first]);
        let start = (LANES * number) as isize;
        let window =
            Window::new(start + length as isize - 1, |number| ends.get(number).map(|ends| &ends.whole[0]));
        tables.sums.add_window(window, &self.rules.right_parents);
        for left in rest_of_tile(first, length) {
            let list = &self.cell(left, number).left;
            if list.entries.is_empty() {
                continue;
            }
            let right = |_| self.window(length - left, start + left as isize);
            tables.right.read(&self.rules.right_phrases, right);
            tables.sums.combine_left(list, &tables.right);
        }
        self.add_tags(length, number, tables);
        self.finish(cell, tables, false);
    }

    /// Adds the rules with a tag at the first or the last word.
    fn add_tags(&self, length: usize, number: usize, tables: &mut Tables) {
        let start = (LANES * number) as isize;
        let Tables { sums, first_tags, last_tags, .. } = tables;
        let last = start + length as isize - 1;
        last_tags.read(&self.rules.word_tags, |_| self.window(1, last));
        let list = &self.layout.lists[Kind::LeftWithTag as usize];
        self.cell(length - 1, number).block.visit(|state, mask, scores| {
            let rules = &list.rules[list.heads[usize::from(state)].range(false, false)];
            sums.combine_with_tag::<true>(rules, (mask, scores), last_tags);
        });
        first_tags.read(&self.rules.word_tags, |_| self.window(1, start));
        let list = &self.layout.lists[Kind::RightWithTag as usize];
        self.window(length - 1, start + 1).visit(&self.rules.right_heads_with_tag, |state, mask, scores| {
            let rules = &list.rules[list.heads[usize::from(state)].range(false, false)];
            sums.combine_with_tag::<false>(rules, (mask, &scores), first_tags);
        });
    }

    /// Adds unary chains, and stores the states and the sums of groups.
    pub(super) fn finish(&self, cell: &mut StartBlock, tables: &mut Tables, is_word: bool) {
        tables.sums.apply_chains(self.layout, is_word);
        tables.sums.finish(std::array::from_mut(&mut cell.block));
        let groups = &mut tables.groups;
        cell.block.visit(|state, mask, scores| {
            for &(group, rule) in self.rules.grouped.of(state) {
                groups.add_group(group, mask, &scores.plus(rule));
            }
        });
        groups.finish_groups(&self.rules.groups, &mut cell.left);
    }

    /// Collects the right heads of one length by their last words.
    pub(super) fn collect_ends(&self, length: usize, number: usize, list: &mut RightList) {
        list.heads.clear();
        list.scores.clear();
        if !self.has_ends(length, number) {
            return;
        }
        let start = (LANES * number + 1) as isize - length as isize;
        let window = self.window(length, start);
        let most = window.count(&self.rules.right_heads);
        list.heads.reserve_exact(most);
        list.scores.reserve_exact(most);
        window.visit(&self.rules.right_heads, |state, mask, scores| {
            list.heads.push((state, mask));
            list.scores.push(scores);
        });
    }
}

/// Returns the lengths of children that are not combined for the whole tile from `first` on.
fn rest_of_tile(first: usize, length: usize) -> impl Iterator<Item = usize> {
    (1..length.min(TILE)).chain(first.max(TILE)..length)
}
