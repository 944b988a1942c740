//! Constituent trees in one vector of linked nodes, so that rewriting only changes links.

use crate::labels::{Label, Labels};

/// A node of a [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// No node. In vectors, an `Option` would take twice the memory.
    pub(crate) const NONE: NodeId = NodeId(u32::MAX);

    /// Returns the index of the node in vectors with one entry per node.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(crate) fn get(self) -> Option<NodeId> {
        (self != NodeId::NONE).then_some(self)
    }
}

#[derive(Debug, Clone)]
struct Node {
    label: Label,
    parent: NodeId,
    first: NodeId,
    last: NodeId,
    next: NodeId,
    previous: NodeId,
    token: u32,
}

/// Error in the input of [`Tree::read`] or [`Tree::from_parse`].
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum TreeError {
    /// Brackets, labels and words are in the wrong order.
    #[error("expected a bracketed tree, but at byte {at} {found} ({text:?})")]
    Brackets {
        /// The whole text.
        text: String,
        /// Byte offset of the problem.
        at: usize,
        /// Description of the unexpected text.
        found: &'static str,
    },
    /// The tags of a parse do not match the words, or the parse is not a single tree.
    #[error(
        "a parse of {words} words must be one tree with a tag for each word, found {tags} tags and {trees} trees"
    )]
    Parse {
        /// Number of words.
        words: usize,
        /// Number of tags.
        tags: usize,
        /// Number of trees.
        trees: usize,
    },
}

/// A constituent tree.
///
/// Leaves are words with the number of their token, from 1, which does not change during rewriting.
#[derive(Debug, Clone)]
pub struct Tree {
    nodes: Vec<Node>,
    root: NodeId,
}

impl Tree {
    /// Creates a tree with one node.
    pub fn new(label: Label) -> Self {
        let mut tree = Tree { nodes: Vec::new(), root: NodeId(0) };
        tree.create(label);
        tree
    }

    /// Parses `(S (NP (DT a) (NN dog)) ...)`. Tokens are numbered from left to right.
    pub fn read(text: &str, labels: &mut Labels) -> Result<Self, TreeError> {
        Reader { text, at: 0, labels }.tree()
    }

    /// Builds the tree of a parse.
    ///
    /// `nodes` has the label and the subtree size of each node in pre-order. Nodes of size 1 are tags, and
    /// each gets the next word. Tokens are numbered from left to right.
    ///
    /// # Errors
    /// Returns a [`TreeError`] if the numbers of tags and words differ, or if there is not exactly one tree.
    pub fn from_parse(nodes: &[(Label, usize)], words: &[Label]) -> Result<Self, TreeError> {
        let tags = nodes.iter().filter(|(_, size)| *size == 1).count();
        let whole = nodes.first().is_some_and(|(_, size)| *size == nodes.len());
        let [(label, _), rest @ ..] = nodes else {
            return Err(TreeError::Parse { words: words.len(), tags, trees: 0 });
        };
        if tags != words.len() || !whole {
            return Err(TreeError::Parse { words: words.len(), tags, trees: usize::from(whole) });
        }
        let mut tree = Tree::new(*label);
        let mut open = vec![(tree.root, nodes.len())];
        let mut words = words.iter().zip(1..);
        if let ([], Some((&word, token))) = (rest, words.clone().next()) {
            let leaf = tree.create_leaf(word, token);
            tree.append(tree.root, leaf);
        }
        for (place, &(label, size)) in rest.iter().enumerate() {
            while open.len() > 1 && open[open.len() - 1].1 <= place + 1 {
                open.pop();
            }
            let node = tree.create(label);
            tree.append(open[open.len() - 1].0, node);
            if size > 1 {
                open.push((node, place + 1 + size));
            } else if let Some((&word, token)) = words.next() {
                let leaf = tree.create_leaf(word, token);
                tree.append(node, leaf);
            }
        }
        Ok(tree)
    }

    /// Formats the tree in brackets.
    pub fn to_text(&self, labels: &Labels) -> String {
        let mut text = String::new();
        self.write(self.root, labels, &mut text);
        text
    }

    fn write(&self, node: NodeId, labels: &Labels, text: &mut String) {
        let label = labels.text(self.label(node));
        if self.is_leaf(node) {
            text.push_str(label);
            return;
        }
        text.push('(');
        text.push_str(label);
        for child in self.children(node) {
            text.push(' ');
            self.write(child, labels, text);
        }
        text.push(')');
    }

    /// Returns the root.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// Makes a node the root. The old root is removed unless it is below the new one.
    pub fn set_root(&mut self, node: NodeId) {
        self.detach(node);
        self.root = node;
    }

    /// Returns the number of nodes ever created, which is the length of vectors with one entry per node.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the label of a node.
    #[inline]
    pub fn label(&self, node: NodeId) -> Label {
        self.nodes[node.index()].label
    }

    /// Returns the token number of a leaf, from 1, or 0 for other nodes.
    pub fn token(&self, node: NodeId) -> u32 {
        self.nodes[node.index()].token
    }

    /// Returns the parent, unless the node is the root or detached.
    #[inline]
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node.index()].parent.get()
    }

    /// Returns the first child.
    #[inline]
    pub fn first_child(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node.index()].first.get()
    }

    /// Returns the last child.
    #[inline]
    pub fn last_child(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node.index()].last.get()
    }

    /// Returns the sister to the right.
    #[inline]
    pub fn next_sibling(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node.index()].next.get()
    }

    /// Returns the sister to the left.
    #[inline]
    pub fn previous_sibling(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node.index()].previous.get()
    }

    /// Returns the only child, if there is exactly one.
    #[inline]
    pub fn only_child(&self, node: NodeId) -> Option<NodeId> {
        let Node { first, last, .. } = self.nodes[node.index()];
        (first == last).then_some(first).and_then(NodeId::get)
    }

    /// Iterates over the children from left to right.
    #[inline]
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.first_child(node), |&child| self.next_sibling(child))
    }

    /// Returns the child at a position: 1 is the first, -1 the last.
    pub fn child(&self, node: NodeId, place: i32) -> Option<NodeId> {
        let steps = place.unsigned_abs() as usize - 1;
        if place > 0 {
            self.children(node).nth(steps)
        } else {
            std::iter::successors(self.last_child(node), |&child| self.previous_sibling(child)).nth(steps)
        }
    }

    /// Returns whether a node has no children.
    #[inline]
    pub fn is_leaf(&self, node: NodeId) -> bool {
        self.first_child(node).is_none()
    }

    /// Returns whether a node is a tag: its only child is a leaf.
    #[inline]
    pub fn is_preterminal(&self, node: NodeId) -> bool {
        self.only_child(node).is_some_and(|child| self.is_leaf(child))
    }

    /// Returns whether a node is neither a leaf nor a tag.
    #[inline]
    pub fn is_phrase(&self, node: NodeId) -> bool {
        !self.is_leaf(node) && !self.is_preterminal(node)
    }

    /// Returns the next node in pre-order within the subtree of `top`.
    #[inline]
    pub fn next_in_subtree(&self, node: NodeId, top: NodeId) -> Option<NodeId> {
        self.first_child(node).or_else(|| self.next_outside(node, top))
    }

    /// Returns the next node in pre-order after the subtree of `node`, within the subtree of `top`.
    #[inline]
    pub fn next_outside(&self, mut node: NodeId, top: NodeId) -> Option<NodeId> {
        while node != top {
            if let Some(next) = self.next_sibling(node) {
                return Some(next);
            }
            node = self.parent(node)?;
        }
        None
    }

    /// Iterates over a node and all its descendants in pre-order.
    #[inline]
    pub fn subtree(&self, top: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(top), move |&node| self.next_in_subtree(node, top))
    }

    /// Iterates over all nodes in pre-order.
    #[inline]
    pub fn preorder(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.subtree(self.root)
    }

    /// Creates a detached node.
    pub fn create(&mut self, label: Label) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
        let none = NodeId::NONE;
        self.nodes.push(Node {
            label,
            parent: none,
            first: none,
            last: none,
            next: none,
            previous: none,
            token: 0,
        });
        id
    }

    /// Creates a detached leaf.
    pub fn create_leaf(&mut self, word: Label, token: u32) -> NodeId {
        let leaf = self.create(word);
        self.nodes[leaf.index()].token = token;
        leaf
    }

    /// Changes the token number of a leaf.
    pub fn number(&mut self, leaf: NodeId, token: u32) {
        self.nodes[leaf.index()].token = token;
    }

    /// Changes the label of a node.
    pub fn relabel(&mut self, node: NodeId, label: Label) {
        self.nodes[node.index()].label = label;
    }

    /// Detaches a node with its subtree.
    pub fn detach(&mut self, node: NodeId) {
        let Node { parent, next, previous, .. } = self.nodes[node.index()];
        match previous.get() {
            Some(previous) => self.nodes[previous.index()].next = next,
            None if parent != NodeId::NONE => self.nodes[parent.index()].first = next,
            None => {}
        }
        match next.get() {
            Some(next) => self.nodes[next.index()].previous = previous,
            None if parent != NodeId::NONE => self.nodes[parent.index()].last = previous,
            None => {}
        }
        let node = &mut self.nodes[node.index()];
        (node.parent, node.next, node.previous) = (NodeId::NONE, NodeId::NONE, NodeId::NONE);
    }

    /// Makes a node the last child of `parent`.
    pub fn append(&mut self, parent: NodeId, node: NodeId) {
        self.insert(parent, None, node);
    }

    /// Moves a node to the left of `sister`, which must have a parent.
    pub fn insert_before(&mut self, sister: NodeId, node: NodeId) {
        let parent = self.parent(sister).expect("a sister has a parent");
        self.insert(parent, Some(sister), node);
    }

    /// Moves a node below `parent`, to the left of `next` or to the end.
    pub fn insert(&mut self, parent: NodeId, next: Option<NodeId>, node: NodeId) {
        debug_assert_ne!(next, Some(node));
        self.detach(node);
        let next = next.unwrap_or(NodeId::NONE);
        let previous = match next.get() {
            Some(next) => std::mem::replace(&mut self.nodes[next.index()].previous, node),
            None => std::mem::replace(&mut self.nodes[parent.index()].last, node),
        };
        match previous.get() {
            Some(previous) => self.nodes[previous.index()].next = node,
            None => self.nodes[parent.index()].first = node,
        }
        let node = &mut self.nodes[node.index()];
        (node.parent, node.next, node.previous) = (parent, next, previous);
    }

    /// Replaces a node by its children. The root cannot be excised.
    pub fn excise(&mut self, node: NodeId) {
        while let Some(child) = self.first_child(node) {
            self.insert_before(node, child);
        }
        self.detach(node);
    }

    /// Removes a node, and each ancestor that is left without children.
    pub fn prune(&mut self, node: NodeId) {
        let mut node = node;
        while let Some(parent) = self.parent(node) {
            self.detach(node);
            if !self.is_leaf(parent) {
                return;
            }
            node = parent;
        }
    }

    /// Wraps the sisters from `first` to `last` in a new node.
    pub fn wrap(&mut self, label: Label, first: NodeId, last: NodeId) -> NodeId {
        let wrapper = self.create(label);
        self.insert_before(first, wrapper);
        loop {
            let child = self.next_sibling(wrapper).expect("last is a sister to the right of first");
            self.append(wrapper, child);
            if child == last {
                return wrapper;
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    labels: &'a mut Labels,
}

impl Reader<'_> {
    fn tree(&mut self) -> Result<Tree, TreeError> {
        self.skip_blanks();
        self.expect('(')?;
        let label = self.label()?;
        let mut tree = Tree::new(label);
        let mut open = vec![tree.root];
        let mut token = 0;
        while let Some(&top) = open.last() {
            self.skip_blanks();
            match self.peek() {
                None => return Err(self.error("the text ends")),
                Some(')') => {
                    self.at += 1;
                    open.pop();
                }
                Some('(') => {
                    self.at += 1;
                    let label = self.label()?;
                    let node = tree.create(label);
                    tree.append(top, node);
                    open.push(node);
                }
                Some(_) => {
                    let word = self.label()?;
                    token += 1;
                    let leaf = tree.create_leaf(word, token);
                    tree.append(top, leaf);
                }
            }
        }
        self.skip_blanks();
        if self.at < self.text.len() { Err(self.error("more text follows")) } else { Ok(tree) }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    fn expect(&mut self, bracket: char) -> Result<(), TreeError> {
        if self.peek() != Some(bracket) {
            return Err(self.error("there is no opening bracket"));
        }
        self.at += 1;
        Ok(())
    }

    fn label(&mut self) -> Result<Label, TreeError> {
        let rest = &self.text[self.at..];
        let end = rest.find([' ', '\t', '\r', '\n', '(', ')']).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.error("there is no label"));
        }
        self.at += end;
        Ok(self.labels.intern(&rest[..end]))
    }

    fn error(&self, found: &'static str) -> TreeError {
        TreeError::Brackets { text: self.text.to_owned(), at: self.at, found }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::label_tests::LabelTests;

    fn labels() -> Labels {
        Labels::new(Arc::new(LabelTests::default()))
    }

    fn node(tree: &Tree, labels: &mut Labels, label: &str) -> NodeId {
        let label = labels.intern(label);
        tree.preorder().find(|&node| tree.label(node) == label).unwrap()
    }

    #[test]
    fn bracketed_trees_round_trip() {
        let mut labels = labels();
        let text = "(ROOT (S (NP (DT a) (NN dog)) (VP (VBZ runs))))";
        let tree = Tree::read(text, &mut labels).unwrap();
        assert_eq!(tree.to_text(&labels), text);
        let tokens: Vec<u32> = tree.preorder().map(|n| tree.token(n)).filter(|&t| t > 0).collect();
        assert_eq!(tokens, [1, 2, 3]);
    }

    #[test]
    fn parses_become_trees() {
        let mut labels = labels();
        let text = "(ROOT (S (NP (DT a) (NN dog)) (VP (VBZ runs))))";
        let nodes = [("ROOT", 7), ("S", 6), ("NP", 3), ("DT", 1), ("NN", 1), ("VP", 2), ("VBZ", 1)];
        let nodes = nodes.map(|(label, size)| (labels.intern(label), size));
        let words = ["a", "dog", "runs"].map(|word| labels.intern(word));
        let tree = Tree::from_parse(&nodes, &words).unwrap();
        assert_eq!(tree.to_text(&labels), text);
        assert_eq!(tree.preorder().map(|node| tree.token(node)).max(), Some(3));
        let one = Tree::from_parse(&nodes[3..4], &words[..1]).unwrap();
        assert_eq!(one.to_text(&labels), "(DT a)");
        for (nodes, words) in [(&nodes[..], &words[1..]), (&nodes[1..3], &words[..]), (&[], &[])] {
            assert!(matches!(Tree::from_parse(nodes, words), Err(TreeError::Parse { .. })));
        }
    }

    #[test]
    fn invalid_brackets_are_errors() {
        for (text, at) in [("", 0), ("(S (NP a)", 9), ("(S a) b", 6), ("( (S a))", 1), ("a", 0)] {
            let error = Tree::read(text, &mut labels()).unwrap_err();
            assert!(matches!(error, TreeError::Brackets { at: found, .. } if found == at), "{text}: {error}");
        }
    }

    #[test]
    fn nodes_move_and_keep_their_tokens() {
        let mut labels = labels();
        let mut tree = Tree::read("(S (A a) (B b) (C (D d) (E e)))", &mut labels).unwrap();
        let [a, b, c, d, e] = ["A", "B", "C", "D", "E"].map(|l| node(&tree, &mut labels, l));
        tree.insert_before(b, e);
        assert_eq!(tree.to_text(&labels), "(S (A a) (E e) (B b) (C (D d)))");
        tree.append(c, a);
        assert_eq!(tree.to_text(&labels), "(S (E e) (B b) (C (D d) (A a)))");
        tree.excise(c);
        assert_eq!(tree.to_text(&labels), "(S (E e) (B b) (D d) (A a))");
        let q = labels.intern("Q");
        tree.wrap(q, b, d);
        assert_eq!(tree.to_text(&labels), "(S (E e) (Q (B b) (D d)) (A a))");
        tree.prune(b);
        tree.prune(d);
        assert_eq!(tree.to_text(&labels), "(S (E e) (A a))");
        let tokens: Vec<u32> = tree.preorder().map(|n| tree.token(n)).filter(|&t| t > 0).collect();
        assert_eq!(tokens, [4, 1]);
    }

    #[test]
    fn children_are_counted_from_both_ends() {
        let mut labels = labels();
        let tree = Tree::read("(S (A a) (B b))", &mut labels).unwrap();
        let [a, b] = ["A", "B"].map(|l| node(&tree, &mut labels, l));
        let root = tree.root();
        assert_eq!(
            [1, 2, 3, -1, -2, -3].map(|i| tree.child(root, i)),
            [Some(a), Some(b), None, Some(b), Some(a), None]
        );
        assert_eq!(tree.only_child(root), None);
        assert_eq!(tree.only_child(a), tree.first_child(a));
    }
}
