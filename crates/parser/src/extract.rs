//! Extraction of the best tree from a filled chart.
//!
//! Scores are summed in double precision here, from the chart's floats. Among trees of equal score, the first
//! counts: splits from left to right, rules in the grammar's order, then unary rules.

use crate::cells::Cells;
use crate::grammar::ParentRule;
use crate::layout::Layout;
use crate::tree::Node;

/// The derivation of a state over a span.
#[derive(Clone, Copy, Debug)]
enum Step {
    Binary { split: usize, left: u16, right: u16 },
    Unary { child: u16 },
}

/// A tree without the nodes added by binarization.
pub(crate) struct Extracted {
    pub(crate) score: f64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) tags: Vec<u16>,
}

/// Returns the best tree of a sentence, or `None` if the sentence has none.
pub(crate) fn extract<C: Cells>(chart: &C) -> Option<Extracted> {
    let (layout, length) = (chart.layout(), chart.length());
    let mut extraction = Extraction { chart, layout, length, nodes: Vec::new(), tags: Vec::new(), depth: 0 };
    let (score, _) = extraction.best(layout.goal, 0, length)?;
    extraction.add(layout.goal, 0, length)?;
    Some(Extracted { score, nodes: extraction.nodes, tags: extraction.tags })
}

struct Extraction<'a, C> {
    chart: &'a C,
    layout: &'a Layout,
    length: usize,
    nodes: Vec<Node>,
    tags: Vec<u16>,
    depth: usize,
}

impl<C: Cells> Extraction<'_, C> {
    /// Adds the tree of a state. For a node added by binarization, only its children are added.
    fn add(&mut self, state: u16, start: usize, end: usize) -> Option<()> {
        if self.layout.is_tag[usize::from(state)] && end == start + 1 {
            self.add_word(state);
            return Some(());
        }
        // Limits the depth. A cycle of unary rules would need rules of probability 1.
        self.depth += 1;
        if self.depth > 20 * self.length + 100 {
            return None;
        }
        let place = self.nodes.len();
        let phrase = self.layout.names[usize::from(state)].phrase;
        if let Some(label) = phrase {
            self.nodes.push(Node { label, size: 1 });
        }
        match self.best(state, start, end)?.1 {
            Step::Binary { split, left, right } => {
                self.add(left, start, split)?;
                self.add(right, split, end)?;
            }
            Step::Unary { child } => self.add(child, start, end)?,
        }
        if phrase.is_some() {
            self.nodes[place].size = (self.nodes.len() - place) as u32;
        }
        self.depth -= 1;
        Some(())
    }

    fn add_word(&mut self, state: u16) {
        if state != self.layout.boundary_tag {
            let label = self.layout.names[usize::from(state)].tag;
            self.tags.push(label);
            self.nodes.push(Node { label, size: 1 });
        }
    }

    fn best(&self, state: u16, start: usize, end: usize) -> Option<(f64, Step)> {
        let mut best: Option<(f64, Step)> = None;
        let mut offer = |score: f64, step| {
            if score > best.map_or(f64::NEG_INFINITY, |(score, _)| score) {
                best = Some((score, step));
            }
        };
        let cell = self.chart.scores(start, end)?;
        let lowest = lowest(cell.get(state));
        let rules = self.layout.binary.of(state);
        for split in start + 1..end {
            let left_cell = self.chart.scores(start, split);
            let right_cell = self.chart.scores(split, end);
            let (Some(left_cell), Some(right_cell)) = (left_cell, right_cell) else { continue };
            let (lowest_right, lowest_left) = (lowest - left_cell.highest, lowest - right_cell.highest);
            for &ParentRule { left, right, kind, score } in rules {
                // The plain child is usually missing or too unlikely.
                let is_likely = match kind.head_is_left() {
                    true => score + right_cell.get(right) >= lowest_right,
                    false => score + left_cell.get(left) >= lowest_left,
                };
                if is_likely {
                    let score =
                        f64::from(score) + f64::from(left_cell.get(left)) + f64::from(right_cell.get(right));
                    offer(score, Step::Binary { split, left, right });
                }
            }
        }
        for &(child, rule) in self.layout.unary.of(state) {
            offer(f64::from(rule) + f64::from(cell.get(child)), Step::Unary { child });
        }
        best
    }
}

/// Returns a lower bound of the best derivation's score in double precision: the chart's score minus a
/// multiple of the largest rounding error of floats.
fn lowest(score: f32) -> f32 {
    score - 1e-3 - 1e-5 * score.abs()
}
