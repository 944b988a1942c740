//! Dates without inner phrases.

use crate::tree::{NodeId, Tree};

/// The named node at `root` keeps as children only the named tags.
pub(super) fn flatten(tree: &mut Tree, root: usize, named: &[Option<NodeId>]) {
    let Some(root) = named[root] else {
        return;
    };
    let is_named_tag = |&node: &NodeId| named.contains(&Some(node)) && tree.is_preterminal(node);
    let tags: Vec<NodeId> = tree.subtree(root).filter(is_named_tag).collect();
    while let Some(child) = tree.first_child(root) {
        tree.detach(child);
    }
    for tag in tags {
        tree.append(root, tag);
    }
}
