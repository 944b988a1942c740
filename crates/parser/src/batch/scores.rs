//! The scores of all cells of a batch.

use crate::lanes::Lanes;

/// The list with a cell's scores, and their offset in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScoresPlace {
    pub(super) list: usize,
    pub(super) first: usize,
}

/// Size of a list in bytes.
///
/// Above 32 MB, the C library on Linux takes memory from the system and returns it when freed, instead of
/// keeping it for one thread. Pages that are not written to use no memory.
const LIST_BYTES: usize = 33 << 20;

/// The scores of all cells, in lists of the same size.
///
/// A single list would be copied whenever it grows, which needs twice the memory.
#[derive(Default)]
pub(super) struct Scores {
    pub(super) lists: Vec<Vec<Lanes>>,
    /// Number of lists in use.
    used: usize,
}

impl Scores {
    pub(super) fn clear(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
        self.used = 0;
    }

    /// Reserves a place for the scores of a cell with up to `most` states.
    pub(super) fn begin_cell(&mut self, most: usize) -> ScoresPlace {
        let size = most.max(LIST_BYTES / size_of::<Lanes>());
        if self.used == 0 || self.lists[self.used - 1].len() + most > size {
            if self.lists.len() == self.used {
                self.lists.push(Vec::with_capacity(size));
            }
            self.used += 1;
        }
        let list = self.used - 1;
        ScoresPlace { list, first: self.lists[list].len() }
    }

    pub(super) fn of(&self, place: ScoresPlace) -> &[Lanes] {
        &self.lists[place.list][place.first..]
    }

    pub(super) fn bytes(&self) -> usize {
        self.lists.iter().map(|list| size_of_val(&list[..])).sum()
    }
}
