//! Operations on the nodes named by a pattern, in the Tsurgeon language: `relabel`, `excise`, `delete`,
//! `prune`, `move`, `createSubtree`, and `if exists` before any of them.

use std::collections::VecDeque;

use regex::Regex;

use super::error::RewritingError;
use crate::labels::Labels;
use crate::tree::{NodeId, Tree};

/// Index of a node's name in the pattern.
type Place = usize;

#[derive(Debug)]
enum NewLabel {
    Fixed(String),
    /// Replaces the matches of the expression in the old label.
    Replaced(Regex, String),
}

#[derive(Debug, Clone, Copy)]
enum Target {
    /// Position of a child, from 1, or backwards from -1. 0 is also the first.
    Child(i32),
    Before,
    After,
}

#[derive(Debug)]
enum Operation {
    Relabel(Place, NewLabel),
    Excise(Place),
    Delete(Place),
    Prune(Place),
    Move(Place, Target, Place),
    Wrap(String, Place, Place),
    /// Applies operations if a node exists (or does not).
    If {
        node: Place,
        exists: bool,
        operations: Vec<Operation>,
    },
}

/// The operations of one rule for one pattern.
#[derive(Debug)]
pub(super) struct Operations {
    operations: Vec<Operation>,
}

impl Operations {
    /// Parses `[operation] [operation] ...` or a single operation.
    pub fn compile(text: &str, names: &[&str]) -> Result<Self, RewritingError> {
        let mut reader = Reader { text, words: words(text), names };
        let mut operations = Vec::new();
        if reader.peek() == Some("[") {
            while reader.peek().is_some() {
                reader.expect("[")?;
                operations.extend(reader.operation()?);
                reader.expect("]")?;
            }
        } else {
            operations.extend(reader.operation()?);
        }
        match reader.peek() {
            Some(word) => Err(reader.error(&format!("unexpected {word:?}"))),
            None => Ok(Operations { operations }),
        }
    }

    pub fn apply(
        &self,
        tree: &mut Tree,
        labels: &mut Labels,
        named: &[Option<NodeId>],
    ) -> Result<(), &'static str> {
        apply_all(&self.operations, tree, labels, named)
    }
}

fn apply_all(
    operations: &[Operation],
    tree: &mut Tree,
    labels: &mut Labels,
    named: &[Option<NodeId>],
) -> Result<(), &'static str> {
    let node = |place: &Place| named[*place].ok_or("a node of an operation is missing");
    for operation in operations {
        match operation {
            Operation::Relabel(place, label) => relabel(tree, labels, node(place)?, label),
            Operation::Excise(place) => excise(tree, node(place)?)?,
            Operation::Delete(place) => {
                let node = node(place)?;
                tree.parent(node).ok_or("the root would be deleted")?;
                tree.detach(node);
            }
            Operation::Prune(place) => prune(tree, node(place)?)?,
            Operation::Move(place, target, anchor) => move_node(tree, node(place)?, *target, node(anchor)?)?,
            Operation::Wrap(label, first, last) => wrap(tree, labels, label, node(first)?, node(last)?)?,
            Operation::If { node, exists, operations } => {
                if named[*node].is_some() == *exists {
                    apply_all(operations, tree, labels, named)?;
                }
            }
        }
    }
    Ok(())
}

fn relabel(tree: &mut Tree, labels: &mut Labels, node: NodeId, label: &NewLabel) {
    let label = match label {
        NewLabel::Fixed(label) => labels.intern(label),
        NewLabel::Replaced(expression, replacement) => {
            let old = labels.text(tree.label(node));
            let new = expression.replace_all(old, replacement).into_owned();
            labels.intern(&new)
        }
    };
    tree.relabel(node, label);
}

/// Replaces a node by its children. A root must have a single child, which becomes the root.
fn excise(tree: &mut Tree, node: NodeId) -> Result<(), &'static str> {
    if tree.parent(node).is_some() {
        tree.excise(node);
        return Ok(());
    }
    let child = tree.only_child(node).ok_or("the root would be replaced by several nodes")?;
    tree.set_root(child);
    Ok(())
}

fn prune(tree: &mut Tree, node: NodeId) -> Result<(), &'static str> {
    let is_alone = |node: &NodeId| tree.parent(*node).is_some_and(|parent| tree.only_child(parent).is_some());
    let mut highest = node;
    while is_alone(&highest) {
        highest = tree.parent(highest).unwrap_or(highest);
    }
    tree.parent(highest).ok_or("the whole tree would be deleted")?;
    tree.detach(highest);
    Ok(())
}

fn move_node(tree: &mut Tree, node: NodeId, target: Target, anchor: NodeId) -> Result<(), &'static str> {
    if tree.subtree(node).any(|below| below == anchor) {
        return Err("a node would be moved into itself");
    }
    tree.parent(node).ok_or("the root would be moved")?;
    tree.detach(node);
    let (parent, next) = match target {
        Target::Child(place @ 0..) => (anchor, tree.child(anchor, place.max(1))),
        Target::Child(-1) => (anchor, None),
        Target::Child(place) => (anchor, tree.child(anchor, place + 1)),
        Target::Before => (tree.parent(anchor).ok_or("the root has no sisters")?, Some(anchor)),
        Target::After => (tree.parent(anchor).ok_or("the root has no sisters")?, tree.next_sibling(anchor)),
    };
    tree.insert(parent, next, node);
    Ok(())
}

/// Wraps all sisters between two sisters, in either order, in a new node.
fn wrap(
    tree: &mut Tree,
    labels: &mut Labels,
    label: &str,
    one: NodeId,
    other: NodeId,
) -> Result<(), &'static str> {
    let parent = tree.parent(one).ok_or("the root would get a parent")?;
    if tree.parent(other) != Some(parent) {
        return Err("the ends of a new phrase must be sisters");
    }
    let first = tree.children(parent).find(|&child| child == one || child == other);
    let (first, last) = if first == Some(one) { (one, other) } else { (other, one) };
    let label = labels.intern(label);
    tree.wrap(label, first, last);
    Ok(())
}

/// Splits text into words. Brackets are separate words, and text between slashes is one word.
fn words(text: &str) -> VecDeque<&str> {
    let mut words = VecDeque::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = if rest.starts_with(['[', ']']) {
            1
        } else {
            let end = rest.find([' ', '\t']).unwrap_or(rest.len());
            let word = &rest[..end];
            let last =
                if word.starts_with('/') { word.rfind('/').map(|at| at + 1) } else { word.find(['[', ']']) };
            last.unwrap_or(end)
        };
        words.push_back(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    words
}

struct Reader<'a> {
    text: &'a str,
    words: VecDeque<&'a str>,
    names: &'a [&'a str],
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.front().copied()
    }

    fn word(&mut self) -> Result<&'a str, RewritingError> {
        self.words.pop_front().ok_or_else(|| self.error("missing a word at the end"))
    }

    fn expect(&mut self, expected: &str) -> Result<(), RewritingError> {
        let found = self.word()?;
        if found == expected {
            return Ok(());
        }
        Err(self.error(&format!("expected {expected:?}, found {found:?}")))
    }

    fn error(&self, problem: &str) -> RewritingError {
        RewritingError::Operation { operation: self.text.to_owned(), problem: problem.to_owned() }
    }

    fn find(&self, name: &str) -> Option<Place> {
        self.names.iter().position(|&known| known == name)
    }

    fn place(&mut self) -> Result<Place, RewritingError> {
        let name = self.word()?;
        self.find(name)
            .ok_or_else(|| self.error(&format!("the pattern has no node named {name:?}, which is used")))
    }

    /// Parses one operation. Returns `None` if it depends on a node that is not in the pattern.
    fn operation(&mut self) -> Result<Option<Operation>, RewritingError> {
        let word = self.word()?;
        Ok(Some(match word {
            "relabel" => Operation::Relabel(self.place()?, self.new_label()?),
            "excise" => {
                let (top, bottom) = (self.place()?, self.place()?);
                if top != bottom {
                    return Err(self.error("only a single node can be excised"));
                }
                Operation::Excise(top)
            }
            "delete" => Operation::Delete(self.place()?),
            "prune" => Operation::Prune(self.place()?),
            "move" => Operation::Move(self.place()?, self.target()?, self.place()?),
            "createSubtree" => {
                let label = self.word()?.to_owned();
                let first = self.place()?;
                let last = if matches!(self.peek(), None | Some("]")) { first } else { self.place()? };
                Operation::Wrap(label, first, last)
            }
            "if" => return self.condition(),
            _ => return Err(self.error(&format!("unknown operation {word:?}"))),
        }))
    }

    fn condition(&mut self) -> Result<Option<Operation>, RewritingError> {
        let exists = self.peek() != Some("not");
        if !exists {
            self.word()?;
        }
        self.expect("exists")?;
        let name = self.word()?;
        match (self.find(name), exists) {
            (Some(node), _) => {
                let operations = self.operation()?.into_iter().collect();
                Ok(Some(Operation::If { node, exists, operations }))
            }
            (None, false) => self.operation(),
            (None, true) => {
                while !matches!(self.peek(), None | Some("]")) {
                    self.word()?;
                }
                Ok(None)
            }
        }
    }

    fn new_label(&mut self) -> Result<NewLabel, RewritingError> {
        let word = self.word()?;
        let Some(inside) = word.strip_prefix('/').and_then(|word| word.strip_suffix('/')) else {
            return Ok(NewLabel::Fixed(word.to_owned()));
        };
        let Some((expression, replacement)) = inside.rsplit_once('/') else {
            return Ok(NewLabel::Fixed(inside.to_owned()));
        };
        let expression = Regex::new(expression).map_err(|error| self.error(&error.to_string()))?;
        Ok(NewLabel::Replaced(expression, numbered_groups(replacement)))
    }

    fn target(&mut self) -> Result<Target, RewritingError> {
        let word = self.word()?;
        match word {
            "$+" => Ok(Target::Before),
            "$-" => Ok(Target::After),
            _ => {
                let place = word.strip_prefix('>').and_then(|place| place.parse().ok());
                place.map(Target::Child).ok_or_else(|| self.error(&format!("{word:?} is not a position")))
            }
        }
    }
}

/// Converts `$1` to `${1}`, because letters may follow.
fn numbered_groups(replacement: &str) -> String {
    let mut numbered = String::new();
    let mut characters = replacement.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek().copied()) {
            ('$', Some(digit @ '0'..='9')) => {
                characters.next();
                numbered.push_str(&format!("${{{digit}}}"));
            }
            _ => numbered.push(character),
        }
    }
    numbered
}
