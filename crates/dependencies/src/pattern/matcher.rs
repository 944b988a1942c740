//! Runs a pattern's steps on a tree.

use super::program::{Check, Condition, Group, Move, Name, Pattern, Step, Walk};
use super::syntax::Link;
use crate::labels::Labels;
use crate::tree::{NodeId, Tree};

/// A tree to match patterns on.
#[derive(Debug, Clone, Copy)]
pub struct Matcher<'a> {
    tree: &'a Tree,
    labels: &'a Labels,
    heads: &'a [NodeId],
    top: NodeId,
}

/// Room for a match in the making, to be used again and again.
#[derive(Debug, Default)]
pub struct Scratch {
    registers: Vec<NodeId>,
    names: Vec<NodeId>,
    variables: Vec<Option<String>>,
}

/// The nodes that a match has named.
#[derive(Debug, Clone, Copy)]
pub struct Match<'a> {
    names: &'a [NodeId],
}

impl Match<'_> {
    /// The node of a name; none if the name stands in a part that was not needed.
    pub fn node(&self, name: Name) -> Option<NodeId> {
        self.names[usize::from(name.0)].get()
    }
}

impl<'a> Matcher<'a> {
    /// Matches on the whole tree. `heads` has the head child of each node; it may be empty where no
    /// pattern asks for heads.
    pub fn new(tree: &'a Tree, labels: &'a Labels, heads: &'a [NodeId]) -> Self {
        Matcher { tree, labels, heads, top: tree.root() }
    }

    /// Matches as if `top` were the root: it has no sisters for `$+` and `$-`.
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

    /// Whether the pattern matches at a node.
    pub fn matches(&self, pattern: &Pattern, start: NodeId, scratch: &mut Scratch) -> bool {
        self.each(pattern, start, scratch, &mut |_| true)
    }

    /// The nodes of the names in the first match that starts at a node.
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

    /// The parent, for relations that don't leave the tree that is matched on.
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
        let follow = |first: Option<NodeId>,
                      next: &dyn Fn(NodeId) -> Option<NodeId>,
                      visit: &mut dyn FnMut(NodeId) -> bool| {
            std::iter::successors(first, |&at| next(at)).any(visit)
        };
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
            Link::Ancestor => follow(tree.parent(node), &|at| tree.parent(at), &mut visit),
            Link::LeftEdge => follow(tree.first_child(node), &|at| tree.first_child(at), &mut visit),
            Link::RightEdge => follow(tree.last_child(node), &|at| tree.last_child(at), &mut visit),
            Link::LeftEdgeOf => {
                let up = |at| tree.parent(at).filter(|&p| tree.first_child(p) == Some(at));
                follow(up(node), &up, &mut visit)
            }
            Link::RightEdgeOf => {
                let up = |at| tree.parent(at).filter(|&p| tree.last_child(p) == Some(at));
                follow(up(node), &up, &mut visit)
            }
            Link::UnaryPath => follow(tree.only_child(node), &|at| tree.only_child(at), &mut visit),
            Link::UnaryPathOf => {
                let up = |at| tree.parent(at).filter(|&p| tree.only_child(p).is_some());
                follow(up(node), &up, &mut visit)
            }
            Link::Sister => {
                tree.parent(node).is_some_and(|p| tree.children(p).any(|at| at != node && visit(at)))
            }
            Link::SisterRight => {
                let last = tree.parent(node).and_then(|p| tree.last_child(p));
                let left = |at| tree.previous_sibling(at);
                std::iter::successors(last, |&at| left(at)).take_while(|&at| at != node).any(visit)
            }
            Link::SisterLeft => {
                let first = tree.parent(node).and_then(|p| tree.first_child(p));
                std::iter::successors(first, |&at| tree.next_sibling(at))
                    .take_while(|&at| at != node)
                    .any(visit)
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
            Link::HeadPath => follow(self.head(node), &|at| self.head(at), &mut visit),
            Link::HeadPathOf => {
                let up = |at| tree.parent(at).filter(|&p| self.head(p) == Some(at));
                follow(up(node), &up, &mut visit)
            }
            Link::DescendantThrough(_) | Link::AncestorThrough(_) => {
                unreachable!("the compiler makes moves of their own of these")
            }
        }
    }

    /// Relations of word order. The subtrees beside the highest ancestor come first.
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
    /// Runs the steps from one on; true ends the run (or the inside of a `Not` or `Optional`).
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
        self.go_on(walk, candidate, next)
    }

    fn go_on(&mut self, walk: &Walk, candidate: NodeId, next: usize) -> bool {
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
        let ended = agree && self.go_on(walk, candidate, next);
        if !ended {
            set.into_iter().for_each(|variable: usize| self.scratch.variables[variable] = None);
        }
        ended
    }

    /// Whether a group stands for what its variable has; a variable without value takes it.
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
