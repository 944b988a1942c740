//! The iteration order of Java's `HashMap` (Java 8 and later).
//!
//! Buckets are in increasing order. A bucket is a list in insertion order until it has more than eight keys.
//! Then it also becomes a red-black tree whose root is moved to the front of the list, and a new key is
//! inserted after its parent in the tree instead of at the end.

/// Maximum length of a bucket that is only a list.
///
/// Java resizes tables of fewer than 64 buckets instead, which [`order`] does not do.
const LONGEST_LIST: usize = 8;

/// Sorts keys in the iteration order of a table.
///
/// `buckets` is a power of two of at least 64, large enough to hold the keys without resizing. Different keys
/// must have different hashes.
pub(crate) fn order<K>(keys: Vec<K>, buckets: usize, hash: impl Fn(&K) -> u32) -> Vec<K> {
    let mut table: Vec<Bucket<K>> = Vec::new();
    table.resize_with(buckets, Bucket::default);
    for key in keys {
        let hash = hash(&key);
        let spread = hash ^ (hash >> 16);
        table[spread as usize & (buckets - 1)].insert(key, spread.cast_signed());
    }
    table.into_iter().flat_map(Bucket::into_keys).collect()
}

struct Bucket<K> {
    keys: Vec<Option<K>>,
    hashes: Vec<i32>,
    /// Key indices in the order of the bucket.
    list: Vec<usize>,
    tree: Option<Tree>,
}

impl<K> Default for Bucket<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), hashes: Vec::new(), list: Vec::new(), tree: None }
    }
}

impl<K> Bucket<K> {
    fn insert(&mut self, key: K, hash: i32) {
        let number = self.keys.len();
        self.keys.push(Some(key));
        self.hashes.push(hash);
        if let Some(tree) = &mut self.tree {
            let parent = tree.insert(hash);
            let behind =
                self.list.iter().position(|&other| Some(other) == parent).map_or(0, |place| place + 1);
            self.list.insert(behind, number);
        } else {
            self.list.push(number);
            if self.list.len() <= LONGEST_LIST {
                return;
            }
            let tree = self.tree.insert(Tree::default());
            self.hashes.iter().for_each(|&hash| {
                tree.insert(hash);
            });
        }
        self.move_root_to_front();
    }

    fn move_root_to_front(&mut self) {
        let root = self.tree.as_ref().and_then(|tree| tree.root);
        if let Some(place) = self.list.iter().position(|&number| Some(number) == root) {
            self.list[..=place].rotate_right(1);
        }
    }

    fn into_keys(mut self) -> Vec<K> {
        self.list.iter().filter_map(|&number| self.keys[number].take()).collect()
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    hash: i32,
    parent: Option<usize>,
    /// Left and right child.
    children: [Option<usize>; 2],
    red: bool,
}

/// A red-black tree as in T. Cormen et al., "Introduction to Algorithms", chapter 13.
#[derive(Debug, Default)]
struct Tree {
    nodes: Vec<Node>,
    root: Option<usize>,
}

impl Tree {
    /// Inserts a hash as the next node, and returns its parent at insertion.
    fn insert(&mut self, hash: i32) -> Option<usize> {
        let (mut parent, mut side) = (None, 0);
        let mut next = self.root;
        while let Some(node) = next {
            side = usize::from(self.nodes[node].hash < hash);
            parent = next;
            next = self.nodes[node].children[side];
        }
        let number = self.nodes.len();
        self.nodes.push(Node { hash, parent, children: [None; 2], red: true });
        match parent {
            Some(parent) => self.nodes[parent].children[side] = Some(number),
            None => self.root = Some(number),
        }
        self.repair(number);
        parent
    }

    fn is_red(&self, node: Option<usize>) -> bool {
        node.is_some_and(|node| self.nodes[node].red)
    }

    /// Restores the property that no red node has a red child.
    fn repair(&mut self, mut node: usize) {
        while let Some(parent) = self.nodes[node].parent
            && self.nodes[parent].red
            && let Some(grandparent) = self.nodes[parent].parent
        {
            let side = usize::from(self.nodes[grandparent].children[1] == Some(parent));
            let uncle = self.nodes[grandparent].children[1 - side];
            self.nodes[grandparent].red = true;
            if let Some(uncle) = uncle.filter(|_| self.is_red(uncle)) {
                self.nodes[parent].red = false;
                self.nodes[uncle].red = false;
                node = grandparent;
                continue;
            }
            let mut upper = parent;
            if self.nodes[parent].children[1 - side] == Some(node) {
                self.rotate(parent, side);
                (upper, node) = (node, parent);
            }
            self.nodes[upper].red = false;
            self.rotate(grandparent, 1 - side);
        }
        if let Some(root) = self.root {
            self.nodes[root].red = false;
        }
    }

    /// Rotates a node down to a side. Its child on the other side takes its place.
    fn rotate(&mut self, node: usize, side: usize) {
        let Some(child) = self.nodes[node].children[1 - side] else { return };
        let (parent, inner) = (self.nodes[node].parent, self.nodes[child].children[side]);
        self.nodes[node].children[1 - side] = inner;
        if let Some(inner) = inner {
            self.nodes[inner].parent = Some(node);
        }
        self.nodes[child].children[side] = Some(node);
        self.nodes[child].parent = parent;
        self.nodes[node].parent = Some(child);
        match parent {
            Some(parent) => {
                let place = usize::from(self.nodes[parent].children[1] == Some(node));
                self.nodes[parent].children[place] = Some(child);
            }
            None => self.root = Some(child),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::order;

    /// From OpenJDK 17: keys with these hash codes, inserted in this order into `new HashSet<>(64)` and
    /// printed in iteration order.
    ///
    /// One bucket has 18 of them.
    #[test]
    fn a_long_bucket_has_the_order_of_java() {
        let put = [
            29957, 20485, 26885, 10373, 16389, 25861, 6277, 8197, 58757, 59013, 10885, 48901, 35461, 14597,
            61573, 39173, 9733, 17541, 886, 99, 911, 92, 385, 795,
        ];
        let walked = [
            385, 16389, 26885, 29957, 48901, 39173, 35461, 20485, 17541, 10373, 9733, 10885, 14597, 25861,
            6277, 8197, 58757, 59013, 61573, 911, 795, 92, 99, 886,
        ];
        assert_eq!(order(put.to_vec(), 64, |&hash| hash), walked);
    }

    #[test]
    fn short_buckets_keep_the_order_of_insertion() {
        assert_eq!(order(vec![128, 64, 1, 0, 65], 64, |&hash| hash), [128, 64, 0, 1, 65]);
    }
}
