//! Labels without annotations.

use crate::labels::{Label, Labels};
use crate::tree::Tree;

/// Reduces every label to its category. Temporal and adverbial noun phrases keep their annotation.
pub(super) fn clean(tree: &mut Tree, labels: &mut Labels) {
    let root = tree.root();
    if labels.text(tree.label(root)) == "TOP" {
        let label = labels.intern("ROOT");
        tree.relabel(root, label);
    }
    let mut next = Some(root);
    while let Some(node) = next {
        next = tree.next_in_subtree(node, root);
        if !tree.is_leaf(node) {
            let label = cleaned(tree.label(node), labels);
            tree.relabel(node, label);
        }
    }
}

fn cleaned(label: Label, labels: &mut Labels) -> Label {
    let category = labels.category(label);
    if category == label {
        return label;
    }
    let text = labels.text(label);
    let Some(rest) = text.strip_prefix("NP").or_else(|| text.strip_prefix("UCP")) else {
        return category;
    };
    let Some(mark) = ["-TMP", "-ADV"].into_iter().find(|mark| rest.contains(mark)) else {
        return category;
    };
    let marked = format!("{}{mark}", labels.text(category));
    labels.intern(&marked)
}
