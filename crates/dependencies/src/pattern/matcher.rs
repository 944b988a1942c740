//! Execution of a pattern's steps on a tree.

use super::program::{Check, Condition, Group, Move, Name, Pattern, Step, Walk};
use super::syntax::Link;
use crate::labels::Labels;
use crate::tree::{NodeId, Tree};

/// A matcher of patterns on a tree.
#[derive(Debug, Clone, Copy)]
pub struct Matcher<'a> {
    tree: &'a Tree,
    labels: &'a Labels,
    heads: &'a [NodeId],
    top: NodeId,
}

/// Reusable working memory of a match.
#[derive(Debug, Default)]
pub struct Scratch {
    registers: Vec<NodeId>,
    names: Vec<NodeId>,
    variables: Vec<Option<String>>,
}

/// The named nodes of a match.
#[derive(Debug, Clone, Copy)]
pub struct Match<'a> {
    names: &'a [NodeId],
}

impl Match<'_> {
    /// Returns the node with a name, or `None` if the name is in an optional part that did not match.
    pub fn node(&self, name: Name) -> Option<NodeId> {
        self.names[usize::from(name.0)].get()
    }
}

impl<'a> Matcher<'a> {
    /// Creates a matcher for the whole tree.
    ///
    /// `heads` has the head child of each node, and may be empty if no pattern uses heads.
    pub fn new(tree: &'a Tree, labels: &'a Labels, heads: &'a [NodeId]) -> Self {
        Matcher { tree, labels, heads, top: tree.root() }
    }

    /// Matches as if `top` were the root, without sisters for `$+` and `$-`.
    pub fn below(self, top: NodeId) -> Self {
        Matcher { top, ..self }
    }

    /// Calls `found` for each match that starts at a node, until it returns true. Returns whether it did.
    pub fn each(
        &self,
        pattern: &Pattern,
        start: NodeId,
        scratch: &mut Scratch,
        found: &mut dyn FnMut(Match<'_>) -> bool,
    ) -> bool {
        scratch.registers.clear();
        scratch.registers.resize(pattern.registers, NodeId::NONE);
        scratch.registers[0] = start;
        scratch.names.clear();
        scratch.names.resize(pattern.name_count(), NodeId::NONE);
        scratch.variables.clear();
        scratch.variables.resize(pattern.variables, None);
        Run { matcher: self, steps: &pattern.steps, scratch, found }.from(0)
    }

    /// Returns whether the pattern matches at a node.
    pub fn matches(&self, pattern: &Pattern, start: NodeId, scratch: &mut Scratch) -> bool {
        self.each(pattern, start, scratch, &mut |_| true)
    }

    /// Returns the named nodes of the first match that starts at a node.
    pub fn first(
        &self,
        pattern: &Pattern,
        start: NodeId,
        scratch: &mut Scratch,
    ) -> Option<Vec<Option<NodeId>>> {
        let mut nodes = Vec::new();
        let found = self.each(pattern, start, scratch, &mut |found| {
            nodes.extend(found.names.iter().map(|node| node.get()));
            true
        });
        found.then_some(nodes)
    }

    fn passes(&self, node: NodeId, check: Check) -> bool {
        self.labels.passes(self.tree.label(node), check.test) != check.negated
    }

    fn head(&self, node: NodeId) -> Option<NodeId> {
        self.heads.get(node.index()).copied().and_then(NodeId::get)
    }

    /// Returns the parent within the matched tree.
    fn inner_parent(&self, node: NodeId) -> Option<NodeId> {
        if node == self.top { None } else { self.tree.parent(node) }
    }

    /// Calls `visit` for each candidate in order, until it returns true.
    fn candidates(&self, by: &Move, node: NodeId, mut visit: impl FnMut(NodeId) -> bool) -> bool {
        match by {
            Move::Plain(link) => self.linked(link, node, visit),
            Move::DescendantThrough(check) => {
                let mut next = self.tree.first_child(node);
                while let Some(candidate) = next {
                    if visit(candidate) {
                        return true;
                    }
                    next = if self.passes(candidate, *check) {
                        self.tree.next_in_subtree(candidate, node)
                    } else {
                        self.tree.next_outside(candidate, node)
                    };
                }
                false
            }
            Move::AncestorThrough(check) => {
                let mut next = self.tree.parent(node);
                while let Some(candidate) = next {
                    if visit(candidate) {
                        return true;
                    }
                    next = if self.passes(candidate, *check) { self.tree.parent(candidate) } else { None };
                }
                false
            }
        }
    }

    fn linked(&self, link: &Link, node: NodeId, mut visit: impl FnMut(NodeId) -> bool) -> bool {
        let tree = self.tree;
        match link {
            Link::Start | Link::Same => visit(node),
            Link::Anywhere => tree.subtree(self.top).any(visit),
            Link::Child => tree.children(node).any(visit),
            Link::SelfOrChild => visit(node) || tree.children(node).any(visit),
            Link::ChildAt(place) => tree.child(node, *place).is_some_and(visit),
            Link::OnlyChild => tree.only_child(node).is_some_and(visit),
            Link::Parent => tree.parent(node).is_some_and(visit),
            Link::ParentAt(place) => {
                self.inner_parent(node).filter(|&p| tree.child(p, *place) == Some(node)).is_some_and(visit)
            }
            Link::OnlyChildOf => {
                self.inner_parent(node).filter(|&p| tree.only_child(p).is_some()).is_some_and(visit)
            }
            Link::Descendant => tree.subtree(node).skip(1).any(visit),
            Link::Sister => {
                tree.parent(node).is_some_and(|p| tree.children(p).any(|at| at != node && visit(at)))
            }
            Link::SisterRight => {
                let last = tree.parent(node).and_then(|p| tree.last_child(p));
                let left = |at: &NodeId| tree.previous_sibling(*at);
                std::iter::successors(last, left).take_while(|&at| at != node).any(visit)
            }
            Link::SisterLeft => {
                let first = tree.parent(node).and_then(|p| tree.first_child(p));
                let right = |at: &NodeId| tree.next_sibling(*at);
                std::iter::successors(first, right).take_while(|&at| at != node).any(visit)
            }
            Link::NextSister => node != self.top && tree.next_sibling(node).is_some_and(visit),
            Link::PreviousSister => node != self.top && tree.previous_sibling(node).is_some_and(visit),
            Link::Before | Link::JustBefore | Link::After | Link::JustAfter => {
                self.by_words(link, node, &mut visit)
            }
            Link::Head => self.head(node).is_some_and(visit),
            Link::HeadOf => {
                self.inner_parent(node).filter(|&p| self.head(p) == Some(node)).is_some_and(visit)
            }
            path => std::iter::successors(self.step(path, node), |&at| self.step(path, at)).any(visit),
        }
    }

    /// Returns the next node on a path up or down the tree.
    fn step(&self, path: &Link, node: NodeId) -> Option<NodeId> {
        let tree = self.tree;
        let parent = tree.parent(node);
        match path {
            Link::Ancestor => parent,
            Link::LeftEdge => tree.first_child(node),
            Link::RightEdge => tree.last_child(node),
            Link::LeftEdgeOf => parent.filter(|&p| tree.first_child(p) == Some(node)),
            Link::RightEdgeOf => parent.filter(|&p| tree.last_child(p) == Some(node)),
            Link::UnaryPath => tree.only_child(node),
            Link::UnaryPathOf => parent.filter(|&p| tree.only_child(p).is_some()),
            Link::HeadPath => self.head(node),
            Link::HeadPathOf => parent.filter(|&p| self.head(p) == Some(node)),
            other => unreachable!("{other:?} is no path"),
        }
    }

    /// Visits the candidates of a word-order relation, starting with the subtrees next to the highest
    /// ancestor.
    fn by_words(&self, link: &Link, node: NodeId, visit: &mut dyn FnMut(NodeId) -> bool) -> bool {
        let tree = self.tree;
        let to_right = matches!(link, Link::Before | Link::JustBefore);
        let sister = |at| if to_right { tree.next_sibling(at) } else { tree.previous_sibling(at) };
        let inner = |at| if to_right { tree.first_child(at) } else { tree.last_child(at) };
        let mut ancestors = std::iter::successors(Some(node), |&at| tree.parent(at));
        if matches!(link, Link::JustBefore | Link::JustAfter) {
            let beside = ancestors.find_map(sister);
            return std::iter::successors(beside, |&at| inner(at)).any(visit);
        }
        let ancestors: Vec<NodeId> = ancestors.collect();
        ancestors.into_iter().rev().any(|ancestor| {
            std::iter::successors(sister(ancestor), |&at| sister(at))
                .any(|at| tree.subtree(at).any(&mut *visit))
        })
    }
}

struct Run<'a> {
    matcher: &'a Matcher<'a>,
    steps: &'a [Step],
    scratch: &'a mut Scratch,
    found: &'a mut dyn FnMut(Match<'_>) -> bool,
}

impl Run<'_> {
    /// Runs the steps from `at` on. Returning true ends the run (or the body of a `Not` or `Optional`).
    fn from(&mut self, mut at: usize) -> bool {
        let steps = self.steps;
        loop {
            match &steps[at] {
                Step::Walk(walk) => return self.walk(walk, at + 1),
                Step::Jump(to) => at = *to,
                Step::Found => return true,
                Step::Accept => return (self.found)(Match { names: &self.scratch.names }),
                Step::Choices(starts) => return starts.iter().any(|&start| self.from(start)),
                Step::Not { end } => {
                    if self.from(at + 1) {
                        return false;
                    }
                    at = *end;
                }
                Step::Optional { end, names } => {
                    let _ = self.from(at + 1);
                    if self.from(*end) {
                        return true;
                    }
                    names.iter().for_each(|&name| self.scratch.names[usize::from(name)] = NodeId::NONE);
                    return false;
                }
            }
        }
    }

    fn walk(&mut self, walk: &Walk, next: usize) -> bool {
        let from = self.scratch.registers[usize::from(walk.from)];
        let matcher = self.matcher;
        matcher.candidates(&walk.by, from, |candidate| self.visit(walk, candidate, next))
    }

    fn visit(&mut self, walk: &Walk, candidate: NodeId, next: usize) -> bool {
        if !self.holds(&walk.condition, candidate) {
            return false;
        }
        if !walk.groups.is_empty() {
            return self.visit_with_groups(walk, candidate, next);
        }
        self.continue_with(walk, candidate, next)
    }

    fn continue_with(&mut self, walk: &Walk, candidate: NodeId, next: usize) -> bool {
        self.scratch.registers[usize::from(walk.to)] = candidate;
        let Some(name) = walk.name.map(usize::from) else { return self.from(next) };
        self.scratch.names[name] = candidate;
        let ended = self.from(next);
        if !ended {
            self.scratch.names[name] = NodeId::NONE;
        }
        ended
    }

    fn holds(&self, condition: &Condition, candidate: NodeId) -> bool {
        let label = |node| self.matcher.tree.label(node);
        match condition {
            Condition::Label(check) => self.matcher.passes(candidate, *check),
            Condition::Named(name) => self.scratch.names[usize::from(*name)] == candidate,
            Condition::LabelOf { name, on_category } => {
                self.scratch.names[usize::from(*name)].get().is_some_and(|other| {
                    let labels = self.matcher.labels;
                    let value = |node| if *on_category { labels.category(label(node)) } else { label(node) };
                    value(other) == value(candidate)
                })
            }
        }
    }

    fn visit_with_groups(&mut self, walk: &Walk, candidate: NodeId, next: usize) -> bool {
        let mut set = Vec::new();
        let agree = walk.groups.iter().all(|group| self.agrees(group, candidate, &mut set));
        let ended = agree && self.continue_with(walk, candidate, next);
        if !ended {
            set.into_iter().for_each(|variable: usize| self.scratch.variables[variable] = None);
        }
        ended
    }

    /// Returns whether a group's text equals the value of its variable.
    ///
    /// A variable without a value is set to the text.
    fn agrees(&mut self, group: &Group, candidate: NodeId, set: &mut Vec<usize>) -> bool {
        let labels = self.matcher.labels;
        let text = labels.text(self.matcher.tree.label(candidate));
        let value = labels.tests().group(group.test, text, group.group);
        let variable = usize::from(group.variable);
        if self.scratch.variables[variable].is_some() {
            return self.scratch.variables[variable] == value;
        }
        self.scratch.variables[variable] = value;
        set.push(variable);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::label_tests::LabelTests;

    /// Returns the words below the nodes with a name, for each match in order.
    ///
    /// The head of each node is its last child.
    fn found(pattern: &str, name: &str, tree: &str) -> Vec<String> {
        let mut tests = LabelTests::default();
        let pattern = Pattern::compile(pattern, &mut tests).unwrap();
        let name = pattern.name(name).unwrap();
        let mut labels = Labels::new(Arc::new(tests));
        let tree = Tree::read(tree, &mut labels).unwrap();
        let mut heads = vec![NodeId::NONE; tree.size()];
        tree.preorder().for_each(|node| heads[node.index()] = tree.last_child(node).unwrap_or(NodeId::NONE));
        let matcher = Matcher::new(&tree, &labels, &heads);
        let words = |node: NodeId| {
            let leaves = tree.subtree(node).filter(|&node| tree.is_leaf(node));
            leaves.map(|leaf| labels.text(tree.label(leaf))).collect::<Vec<_>>().join(" ")
        };
        let mut all = Vec::new();
        for node in tree.preorder() {
            matcher.each(&pattern, node, &mut Scratch::default(), &mut |matched| {
                all.push(matched.node(name).map_or_else(|| "-".to_owned(), words));
                false
            });
        }
        all
    }

    const TREE: &str = "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (NP (DT a) (NN cat)) (PP (IN on) (NP (NN mats))))) (. .))";

    #[test]
    fn each_relation_has_its_candidates_in_order() {
        let cases: [(&str, &[&str]); 26] = [
            ("S < __=x", &["the dog", "sees a cat on mats", "."]),
            ("S <2 __=x", &["sees a cat on mats"]),
            ("S <- __=x", &["."]),
            ("S <-3 NP=x", &["the dog"]),
            ("S << NN=x", &["dog", "cat", "mats"]),
            ("S <= /^S|VP/=x", &["the dog sees a cat on mats .", "sees a cat on mats"]),
            ("NN=x > NP", &["dog", "cat", "mats"]),
            ("NN=x >1 NP", &["mats"]),
            ("NN=x >: NP", &["mats"]),
            ("NP=x <: NN", &["mats"]),
            ("cat >> NP=x", &["a cat", "a cat on mats"]),
            ("mats >>, NP=x", &["mats"]),
            ("mats >>- VP=x", &["sees a cat on mats"]),
            ("VP <<, __=x", &["sees", "sees"]),
            ("VP <<- NP=x", &["a cat on mats", "mats"]),
            ("NP=x <<: mats", &["mats"]),
            ("NP $++ __=x > S", &[".", "sees a cat on mats"]),
            ("/[.]/ $-- __=x", &["the dog", "sees a cat on mats"]),
            ("VP $+ __=x", &["."]),
            ("VP $- __=x", &["the dog"]),
            ("VP $ __=x", &["the dog", "."]),
            ("S <<# __=x", &[".", "."]),
            ("VP <# NP=x", &["a cat on mats"]),
            ("mats >># /^[VN]P/=x", &["mats", "a cat on mats", "sees a cat on mats"]),
            ("S <+(VP) NP=x", &["the dog", "a cat on mats"]),
            ("DT . NN=x", &["dog", "cat"]),
        ];
        for (pattern, expected) in cases {
            assert_eq!(found(pattern, "x", TREE), expected, "{pattern}");
        }
    }

    #[test]
    fn the_last_relation_varies_fastest_and_matches_can_repeat() {
        let tree = "(S (A a) (A b) (B c) (B d))";
        assert_eq!(found("S < A=x < B", "x", tree), ["a", "a", "b", "b"]);
        assert_eq!(found("S < A < B=x", "x", tree), ["c", "d", "c", "d"]);
        assert_eq!(found("S [ < A=x | < B=x ]", "x", tree), ["a", "b", "c", "d"]);
        assert_eq!(found("A=x !$+ A", "x", tree), ["b"]);
        assert_eq!(found("S=s < (A=x !$++ (A > =s))", "x", tree), ["b"]);
    }

    #[test]
    fn optional_parts_name_their_first_match_or_nothing() {
        let tree = "(S (A a) (A b) (B c))";
        assert_eq!(found("S ?< A=x < B", "x", tree), ["a"]);
        assert_eq!(found("S ?< C=x < B", "x", tree), ["-"]);
    }

    #[test]
    fn names_links_and_groups_compare_nodes() {
        let tree = "(S (NP-1 a) (CC and) (NP-2 a))";
        assert_eq!(found("S < (NP-1=x $++ ~x=y)", "y", tree), Vec::<String>::new());
        assert_eq!(found("S < (@NP=x $++ @~x=y)", "y", tree), ["a"]);
        assert_eq!(found("S < (/^NP-(.)$/#1%n=x $++ /^NP-(.)$/#1%n)", "x", tree), Vec::<String>::new());
        assert_eq!(found("S < (/^(N.)-.$/#1%n=x $++ /^(N.)-.$/#1%n)", "x", tree), ["a"]);
        assert_eq!(found("S < (NP-1=x !== =x)", "x", tree), Vec::<String>::new());
        assert_eq!(found("S < NP-1=x : (=x $+ CC)", "x", tree), ["a"]);
    }

    #[test]
    fn below_a_node_ignores_its_sisters() {
        let mut tests = LabelTests::default();
        let pattern = Pattern::compile("A $+ B", &mut tests).unwrap();
        let mut labels = Labels::new(Arc::new(tests));
        let tree = Tree::read("(S (A a) (B b))", &mut labels).unwrap();
        let a = tree.first_child(tree.root()).unwrap();
        let matcher = Matcher::new(&tree, &labels, &[]);
        assert!(matcher.matches(&pattern, a, &mut Scratch::default()));
        assert!(!matcher.below(a).matches(&pattern, a, &mut Scratch::default()));
    }
}
