//! Flattening of dates.

use crate::tree::{NodeId, Tree};

/// Replaces the children of the named node at `root` by the named tags.
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
