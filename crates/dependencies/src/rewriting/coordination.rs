//! Grouping of coordinations in noun phrases.
//!
//! The parser leaves them flat, as in (NP (NN cats) (CC and) (JJ big) (NNS dogs)). Here the conjuncts become
//! phrases, based only on position and label.

use crate::label_tests::TestId;
use crate::labels::{Label, Labels};
use crate::tree::{NodeId, Tree};

/// Groups coordinations until none is flat. Returns whether there was one.
pub(super) fn group(tree: &mut Tree, labels: &mut Labels, is_conjunction: TestId) -> bool {
    let mut is_changed = false;
    while let Some((phrase, conjunction)) = flat_coordination(tree, labels, is_conjunction) {
        Coordination::new(tree, labels, phrase, conjunction).group();
        is_changed = true;
    }
    is_changed
}

/// Returns the first conjunction in a noun phrase with at least two nodes after it, none of them a noun
/// phrase, and its index among the children.
fn flat_coordination(tree: &Tree, labels: &Labels, is_conjunction: TestId) -> Option<(NodeId, usize)> {
    let starts = |node: NodeId, prefix: &str| labels.text(tree.label(node)).starts_with(prefix);
    let is_tag = |node: NodeId| labels.passes(tree.label(node), is_conjunction) && tree.is_preterminal(node);
    tree.preorder().filter(|&node| is_tag(node)).find_map(|node| {
        let phrase = tree.parent(node).filter(|&parent| starts(parent, "NP"))?;
        let children: Vec<NodeId> = tree.children(phrase).collect();
        let place = children.iter().position(|&child| child == node)?;
        let after = &children[place + 1..];
        let is_flat = place > 0
            && after.len() >= 2
            && !after.iter().any(|&child| starts(child, "NP"))
            && !starts(after[0], "CC");
        is_flat.then_some((phrase, place))
    })
}

struct Coordination<'a> {
    tree: &'a mut Tree,
    labels: &'a mut Labels,
    phrase: NodeId,
    children: Vec<NodeId>,
    /// Index of the conjunction.
    conjunction: usize,
    /// Index of the next conjunction that is not the last child.
    next_conjunction: Option<usize>,
}

impl<'a> Coordination<'a> {
    fn new(tree: &'a mut Tree, labels: &'a mut Labels, phrase: NodeId, conjunction: usize) -> Self {
        let children: Vec<NodeId> = tree.children(phrase).collect();
        let is_conjunction = |place: &usize| labels.text(tree.label(children[*place])).starts_with("CC");
        let next_conjunction = (conjunction + 1..children.len() - 1).find(is_conjunction);
        Coordination { tree, labels, phrase, children, conjunction, next_conjunction }
    }

    fn text(&self, place: usize) -> &str {
        self.labels.text(self.tree.label(self.children[place]))
    }

    /// Returns the category of a phrase that ends with a child.
    fn category(&mut self, last: usize) -> Label {
        let category = if self.text(last).starts_with("JJ") { "ADJP" } else { "NP" };
        self.labels.intern(category)
    }

    /// Wraps adjacent children in a phrase.
    fn wrap(&mut self, label: Label, first: NodeId, last: NodeId) -> NodeId {
        self.tree.wrap(label, first, last)
    }

    fn group(&mut self) {
        let before = self.conjunction - 1;
        let is_plural = self.text(before) == "NNS";
        if self.joins_first_two() {
            self.group_first_two();
        } else if self.conjunction == 2
            && self.text(0).starts_with("DT")
            && !is_plural
            && (self.children.len() == 5 || self.next_conjunction == Some(5))
        {
            self.group_around(1);
        } else if self.conjunction > 2 && self.text(before - 1) == "," && !is_plural {
            self.group_around(self.first_of_list());
        } else {
            self.group_halves();
        }
    }

    /// Returns whether the words on both sides of the conjunction form a group before the following words:
    /// "red and blue shirts".
    fn joins_first_two(&self) -> bool {
        let before = self.text(0);
        self.conjunction == 1
            && (matches!(before, "DT" | "JJ" | "RB") || self.text(2) != "DT")
            && !(before.starts_with("NP") || matches!(before, "ADJP" | "NNS"))
    }

    fn group_first_two(&mut self) {
        let label = self.category(0);
        let left = self.wrap(label, self.children[0], self.children[2]);
        let Some(next) = self.next_conjunction else {
            return;
        };
        let has_comma = self.text(next - 1) == ",";
        let end = if has_comma { next - 1 } else { next };
        if end > 3 {
            let label = self.category(end - 1);
            self.wrap(label, left, self.children[end - 1]);
        }
        let noun_phrase = self.labels.intern("NP");
        let right = self.tree.create(noun_phrase);
        // The children after the next conjunction and its comma form one phrase.
        let kept = if has_comma { 3 } else { 2 };
        let rest: Vec<NodeId> = self.tree.children(self.phrase).skip(kept).collect();
        for child in rest {
            self.tree.append(right, child);
        }
        self.tree.append(self.phrase, right);
    }

    /// Wraps the children from `first` up to the word after the conjunction in one phrase.
    fn group_around(&mut self, first: usize) {
        let label = self.category(self.conjunction - 1);
        self.wrap(label, self.children[first], self.children[self.conjunction + 1]);
    }

    /// Returns the first member of a list such as "a, b and c", in which all members except the last two are
    /// followed by a comma.
    fn first_of_list(&self) -> usize {
        let mut first = self.conjunction - 3;
        while first >= 2 && self.text(first - 1) == "," {
            first -= 2;
        }
        first
    }

    /// Wraps the phrases on both sides of the conjunction: "the phone book and tour guide".
    fn group_halves(&mut self) {
        let end = self.next_conjunction.unwrap_or(self.children.len());
        let correlative = self.correlative();
        let begin = usize::from(correlative.is_some());
        let left_label = self.category(self.conjunction - 1);
        let right_label = self.category(end - 1);
        let (left, left_comma) = self.half(left_label, begin, self.conjunction);
        let (right, right_comma) = self.half(right_label, self.conjunction + 1, end);
        if begin == 1 && self.conjunction > 1 {
            self.tree.detach(self.children[0]);
        }
        let conjunction = Some(self.children[self.conjunction]);
        let parts = [correlative, left, left_comma, conjunction, right];
        let rest: Vec<NodeId> = self.children[end..].to_vec();
        let mut parent = self.phrase;
        if !rest.is_empty() {
            let noun_phrase = self.labels.intern("NP");
            parent = self.tree.create(noun_phrase);
            self.tree.append(self.phrase, parent);
        }
        parts.into_iter().flatten().for_each(|part| self.tree.append(parent, part));
        right_comma.into_iter().chain(rest).for_each(|node| self.tree.append(self.phrase, node));
    }

    /// Wraps an initial "either", "neither" or "both" as a separate conjunction.
    fn correlative(&mut self) -> Option<NodeId> {
        let word = self.tree.first_child(self.children[0])?;
        let label = self.tree.label(word);
        let text = self.labels.text(label).to_lowercase();
        if !matches!(text.as_str(), "either" | "neither" | "both") {
            return None;
        }
        let conjunction = self.labels.intern("CC");
        let correlative = self.tree.create(conjunction);
        let copy = self.tree.create_leaf(label, self.tree.token(word));
        self.tree.append(correlative, copy);
        Some(correlative)
    }

    /// Wraps the children in a range in a phrase, and returns it with the comma at its end, if any.
    fn half(&mut self, label: Label, first: usize, end: usize) -> (Option<NodeId>, Option<NodeId>) {
        let comma = (self.text(end - 1) == ",").then(|| self.children[end - 1]);
        // A correlative directly before the conjunction is still a member.
        let first = if comma.is_none() { first.min(end - 1) } else { first };
        let members = self.children[first..end - usize::from(comma.is_some())].to_vec();
        if members.is_empty() {
            return (None, comma);
        }
        let half = self.tree.create(label);
        members.into_iter().for_each(|member| self.tree.append(half, member));
        (Some(half), comma)
    }
}
