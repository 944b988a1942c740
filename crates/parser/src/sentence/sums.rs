//! Scores under construction: the best sums of children and rules so far.

use crate::grammar::{Kind, ListedRule};
use crate::lanes::{LANES, Lanes, Mask};
use crate::layout::Layout;
use crate::sentence::block::{Block, Window};
use crate::sentence_rules::{Group, States};

/// Number of lengths that are computed together from long children.
///
/// The lists of the shorter spans are read once for all of them.
pub(crate) const TILE: usize = 4;

/// Number of scores that are loaded together.
///
/// Most come from slow memory. Loads without computations between them overlap.
const LOADED: usize = 32;

/// Loads scores into the processor's cache.
#[inline(always)]
fn load<'a>(scores: impl Iterator<Item = &'a Lanes>) {
    std::hint::black_box(scores.fold(0, |all, scores| all ^ scores.get(0).to_bits()));
}

/// The masks of up to [`TILE`] lengths, 16 bits each.
type Masks = u64;

/// Repeats a mask for each length.
#[inline(always)]
fn repeat(mask: Mask) -> Masks {
    Masks::from(mask) * 0x0001_0001_0001_0001
}

/// The states of right or left children at 16 neighboring starts, for `T` lengths.
///
/// Scores are in a dense table, so that the many rules of the other child find them.
pub(crate) struct Children<const T: usize> {
    first: usize,
    masks: Vec<Masks>,
    /// The masks of the previous use. The table contains their scores.
    before: Vec<Masks>,
    scores: Vec<[Lanes; T]>,
}

impl<const T: usize> Children<T> {
    pub(crate) fn new(states: &States) -> Self {
        let (first, end) = (64 * states.words().start, 64 * states.words().end);
        let (masks, before) = (vec![0; end - first], vec![0; end - first]);
        Self { first, masks, before, scores: vec![[Lanes::NONE; T]; end - first] }
    }

    /// Reads the states of a window for each length.
    pub(crate) fn read<'a>(&mut self, states: &States, window: impl Fn(usize) -> Window<'a>) {
        std::mem::swap(&mut self.masks, &mut self.before);
        self.masks.fill(0);
        let Self { first, masks, before, scores } = self;
        for (tile, window) in std::array::from_fn::<_, T, _>(window).iter().enumerate() {
            window.visit(states, |state, mask, lanes| {
                let place = usize::from(state) - *first;
                masks[place] |= Masks::from(mask) << (LANES * tile);
                scores[place][tile] = lanes;
            });
        }
        for ((&mask, &before), scores) in masks.iter().zip(&*before).zip(scores) {
            for (tile, score) in scores.iter_mut().enumerate() {
                let has = |masks: Masks| (masks >> (LANES * tile)) as Mask != 0;
                if has(before) && !has(mask) {
                    *score = Lanes::NONE;
                }
            }
        }
    }

    #[inline(always)]
    fn mask(&self, state: u16) -> Masks {
        self.masks[usize::from(state) - self.first]
    }

    #[inline(always)]
    fn scores(&self, state: u16) -> &[Lanes; T] {
        &self.scores[usize::from(state) - self.first]
    }
}

/// The best `rule + left` of the groups of a block (see [`Group`](crate::sentence_rules::Group)).
#[derive(Debug, Default)]
pub(crate) struct LeftList {
    pub(crate) entries: Vec<LeftEntry>,
    pub(crate) scores: Vec<Lanes>,
}

impl LeftList {
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<LeftEntry>() + self.scores.capacity() * size_of::<Lanes>()
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftEntry {
    pub(crate) parent: u16,
    pub(crate) right: u16,
    pub(crate) mask: Mask,
}

/// Right heads of spans that end with 16 neighboring words, one lane each.
#[derive(Debug, Default)]
pub(crate) struct RightList {
    pub(crate) heads: Vec<(u16, Mask)>,
    pub(crate) scores: Vec<Lanes>,
}

impl RightList {
    pub(crate) fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<(u16, Mask)>() + self.scores.capacity() * size_of::<Lanes>()
    }
}

/// The best scores so far, by state, for `T` lengths.
pub(crate) struct Sums<const T: usize> {
    masks: Vec<Masks>,
    /// Minus infinity in every lane that does not have the state.
    scores: Vec<[Lanes; T]>,
    /// Rules and children that combine in at least one lane.
    hits: Vec<(u32, u32)>,
}

impl<const T: usize> Sums<T> {
    pub(crate) fn new(states: usize) -> Self {
        Self { masks: vec![0; states], scores: vec![[Lanes::NONE; T]; states], hits: Vec::new() }
    }

    #[inline(always)]
    fn improve(&mut self, state: u16, masks: Masks, sum: impl Fn(usize) -> Lanes) {
        let state = usize::from(state);
        self.masks[state] |= masks;
        for (tile, best) in self.scores[state].iter_mut().enumerate() {
            best.improve(&sum(tile));
        }
    }

    /// Combines the left children of a block with right children at the words after them.
    ///
    /// The combinations are listed first, without branches that the processor cannot predict.
    #[inline(never)]
    pub(crate) fn combine_left(&mut self, left: &LeftList, right: &Children<T>) {
        let mut hits = std::mem::take(&mut self.hits);
        hits.resize(hits.len().max(left.entries.len() + 1), (0, 0));
        let mut count = 0;
        for (place, entry) in left.entries.iter().enumerate() {
            hits[count] = (place as u32, 0);
            count += usize::from(repeat(entry.mask) & right.mask(entry.right) != 0);
        }
        for hits in hits[..count].chunks(LOADED) {
            load(hits.iter().map(|&(place, _)| &left.scores[place as usize]));
            for &(place, _) in hits {
                let (entry, score) = (left.entries[place as usize], &left.scores[place as usize]);
                let others = right.scores(entry.right);
                let masks = repeat(entry.mask) & right.mask(entry.right);
                self.improve(entry.parent, masks, |tile| score.plus_lanes(&others[tile]));
            }
        }
        self.hits = hits;
    }

    /// Combines right heads with the left children at the words before them.
    #[inline(never)]
    pub(crate) fn combine_right(&mut self, layout: &Layout, right: &RightList, left: &Children<T>) {
        let list = &layout.lists[Kind::RightWithPhrase as usize];
        let mut hits = std::mem::take(&mut self.hits);
        let mut count = 0;
        for (slot, &(state, mask)) in right.heads.iter().enumerate() {
            let range = list.heads[usize::from(state)].range(false, false);
            hits.resize(hits.len().max(count + range.len() + 1), (0, 0));
            let masks = repeat(mask);
            for (rule, listed) in range.clone().zip(&list.rules[range]) {
                hits[count] = (rule as u32, slot as u32);
                count += usize::from(masks & left.mask(listed.other) != 0);
            }
        }
        for hits in hits[..count].chunks(LOADED) {
            load(hits.iter().map(|&(_, slot)| &right.scores[slot as usize]));
            for &(rule, slot) in hits {
                let ListedRule { other, parent, score } = list.rules[rule as usize];
                let (head, others) = (&right.scores[slot as usize], left.scores(other));
                let masks = repeat(right.heads[slot as usize].1) & left.mask(other);
                self.improve(parent, masks, |tile| Lanes::sum(score, &others[tile], head));
            }
        }
        self.hits = hits;
    }

    /// Stores each length's scores in a block, and clears them.
    pub(crate) fn finish(&mut self, blocks: &mut [Block; T]) {
        let count = self.masks.iter().filter(|&&masks| masks != 0).count();
        for block in &mut *blocks {
            block.clear();
            block.masks.reserve_exact(count);
            block.scores.reserve_exact(count);
        }
        for word in 0..self.masks.len().div_ceil(64) {
            let first = 64 * word;
            let end = self.masks.len().min(first + 64);
            let mut states = 0_u64;
            for (bit, &masks) in self.masks[first..end].iter().enumerate() {
                states |= u64::from(masks != 0) << bit;
            }
            for block in &mut *blocks {
                block.places.bits.push(0);
                block.places.before.push(block.scores.len() as u16);
            }
            while states != 0 {
                let bit = states.trailing_zeros() as usize;
                states &= states - 1;
                let masks = std::mem::take(&mut self.masks[first + bit]);
                for (tile, (block, score)) in blocks.iter_mut().zip(&mut self.scores[first + bit]).enumerate()
                {
                    let mask = (masks >> (LANES * tile)) as Mask;
                    if mask != 0 {
                        let score = std::mem::replace(score, Lanes::NONE);
                        block.places.bits[word] |= 1 << bit;
                        block.masks.push(mask);
                        block.scores.push(score);
                        block.highest.improve(&score);
                    }
                }
            }
        }
    }
}

impl Sums<1> {
    /// Stores the scores of groups of rules for a block of left children, and clears them.
    pub(crate) fn finish_groups(&mut self, groups: &[Group], list: &mut LeftList) {
        list.entries.clear();
        list.scores.clear();
        let count = self.masks.iter().filter(|&&masks| masks != 0).count();
        list.entries.reserve_exact(count);
        list.scores.reserve_exact(count);
        for ((masks, [score]), &Group { parent, right }) in
            self.masks.iter_mut().zip(&mut self.scores).zip(groups)
        {
            if *masks != 0 {
                let mask = std::mem::take(masks) as Mask;
                list.entries.push(LeftEntry { parent, right, mask });
                list.scores.push(std::mem::replace(score, Lanes::NONE));
            }
        }
    }

    #[inline(always)]
    pub(crate) fn add_group(&mut self, group: u32, mask: Mask, score: &Lanes) {
        let group = group as usize;
        self.masks[group] |= Masks::from(mask);
        let [best] = &mut self.scores[group];
        best.improve(score);
    }

    pub(crate) fn add(&mut self, state: u16, mask: Mask, scores: &Lanes) {
        self.improve(state, Masks::from(mask), |_| *scores);
    }

    pub(crate) fn add_block(&mut self, block: &Block) {
        block.visit(|state, mask, scores| self.add(state, mask, scores));
    }

    pub(crate) fn add_window(&mut self, window: Window<'_>, states: &States) {
        window.visit(states, |state, mask, scores| self.add(state, mask, &scores));
    }

    /// Adds the rules of a left head and a tag.
    #[inline(always)]
    pub(crate) fn combine_with_tag<const HEAD_IS_LEFT: bool>(
        &mut self,
        rules: &[ListedRule],
        (mask, head): (Mask, &Lanes),
        tags: &Children<1>,
    ) {
        for rule in rules {
            let masks = Masks::from(mask) & tags.mask(rule.other);
            if masks != 0 {
                let [tag] = tags.scores(rule.other);
                let (left, right) = if HEAD_IS_LEFT { (head, tag) } else { (tag, head) };
                self.improve(rule.parent, masks, |_| Lanes::sum(rule.score, left, right));
            }
        }
    }

    /// Children are in increasing order, and each uses the scores left by the previous ones.
    pub(crate) fn apply_chains(&mut self, layout: &Layout, is_word: bool) {
        for child in &layout.children {
            if child.is_word_tag && !is_word {
                continue;
            }
            let masks = self.masks[usize::from(child.state)];
            if masks != 0 {
                let [score] = self.scores[usize::from(child.state)];
                for &(parent, rule) in &child.chains {
                    self.improve(parent, masks, |_| score.plus(rule));
                }
            }
        }
    }
}
