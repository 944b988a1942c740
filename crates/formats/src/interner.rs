//! Numbers image ids in order of first appearance.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::ids::{ImageId, ImageIds};

/// Assigns a slot to each distinct image id: 0, 1, 2, ... in order of first appearance.
#[derive(Debug)]
pub(crate) struct Interner {
    ids: ImageIds,
    table: HashTable<usize>,
    // Randomly seeded, so that a file with crafted hash collisions does not slow the reader down.
    hasher: DefaultHashBuilder,
}

impl Default for Interner {
    fn default() -> Self {
        Interner {
            ids: ImageIds::Integers(Vec::new()),
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl Interner {
    /// Returns the slot of an id and whether it is new.
    ///
    /// Returns `None` if the earlier ids are of the other type.
    pub(crate) fn slot(&mut self, id: ImageId<'_>) -> Option<(usize, bool)> {
        if self.ids.is_empty() && matches!(id, ImageId::String(_)) {
            self.ids = ImageIds::Strings(Vec::new());
        }
        let (table, hasher) = (&mut self.table, &self.hasher);
        match (&mut self.ids, id) {
            (ImageIds::Integers(ids), ImageId::Integer(id)) => Some(find_or_add(ids, table, hasher, &id)),
            (ImageIds::Strings(ids), ImageId::String(id)) => Some(find_or_add(ids, table, hasher, id)),
            _ => None,
        }
    }

    /// Returns the slots of many ids of one type. The interner must be empty.
    pub(crate) fn slots(&mut self, ids: &ImageIds) -> Vec<usize> {
        ids.iter().filter_map(|id| self.slot(id)).map(|(slot, _)| slot).collect()
    }

    /// Returns the ids so far.
    pub(crate) fn ids(&self) -> &ImageIds {
        &self.ids
    }

    /// Returns the ids in order of first appearance.
    pub(crate) fn into_ids(self) -> ImageIds {
        self.ids
    }
}

fn find_or_add<T, Q>(
    ids: &mut Vec<T>,
    table: &mut HashTable<usize>,
    hasher: &DefaultHashBuilder,
    id: &Q,
) -> (usize, bool)
where
    T: std::borrow::Borrow<Q> + Hash,
    Q: ToOwned<Owned = T> + Hash + Eq + ?Sized,
{
    let hash = hasher.hash_one(id);
    if let Some(&slot) = table.find(hash, |&slot| ids[slot].borrow() == id) {
        return (slot, false);
    }
    let slot = ids.len();
    ids.push(id.to_owned());
    table.insert_unique(hash, slot, |&slot| hasher.hash_one(ids[slot].borrow()));
    (slot, true)
}
