//! The iteration order of Java's `HashMap` and `HashSet`.
//!
//! Buckets are in increasing order, and keys in a bucket are in insertion order. A table starts with 16
//! buckets and doubles when it is more than three quarters full, or when a bucket gets a ninth key while
//! there are fewer than 64 buckets. (In larger tables, Java converts a bucket of nine keys to a tree. This
//! does not happen here, because it would need nine copies of one word.)

const FIRST_BUCKETS: u32 = 16;
const LONGEST_BUCKET: usize = 8;
const BUCKETS_FOR_TREES: u32 = 64;

/// Keys with values in the order of a Java hash table.
///
/// A key may have several entries, which stay together in insertion order.
#[derive(Clone, Debug)]
pub struct HashOrder<V> {
    entries: Vec<Entry<V>>,
    buckets: u32,
    keys: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry<V> {
    key: u32,
    hash: u32,
    value: V,
}

impl<V: Copy> Default for HashOrder<V> {
    fn default() -> Self {
        Self::with_buckets(FIRST_BUCKETS)
    }
}

impl<V: Copy> HashOrder<V> {
    /// Creates a table with another initial number of buckets, which must be a power of two.
    #[must_use]
    pub fn with_buckets(buckets: u32) -> Self {
        Self { entries: Vec::new(), buckets, keys: 0 }
    }

    fn bucket(&self, hash: u32) -> u32 {
        hash & (self.buckets - 1)
    }

    fn grow(&mut self) {
        self.buckets *= 2;
        let mask = self.buckets - 1;
        self.entries.sort_by_key(|entry| entry.hash & mask);
    }

    /// Adds an entry after the others of its key, or at the end of its bucket.
    pub fn insert(&mut self, key: u32, hash: i32, value: V) {
        let hash = (hash as u32) ^ (hash as u32 >> 16);
        let entry = Entry { key, hash, value };
        if let Some(last) = self.entries.iter().rposition(|entry| entry.key == key) {
            self.entries.insert(last + 1, entry);
            return;
        }
        let bucket = self.bucket(hash);
        let end = self.entries.partition_point(|entry| self.bucket(entry.hash) <= bucket);
        let in_bucket = self.keys_in_bucket(bucket);
        self.entries.insert(end, entry);
        self.keys += 1;
        if in_bucket >= LONGEST_BUCKET && self.buckets < BUCKETS_FOR_TREES {
            self.grow();
        }
        if 4 * self.keys > 3 * self.buckets {
            self.grow();
        }
    }

    fn keys_in_bucket(&self, bucket: u32) -> usize {
        let mut last = None;
        let entries = self.entries.iter().filter(|entry| self.bucket(entry.hash) == bucket);
        entries.filter(|entry| last.replace(entry.key) != Some(entry.key)).count()
    }

    /// Removes the first entry of a key with a matching value. As in Java, the table does not shrink.
    pub fn remove(&mut self, key: u32, fits: impl Fn(V) -> bool) -> Option<V> {
        let place = self.entries.iter().position(|entry| entry.key == key && fits(entry.value))?;
        let removed = self.entries.remove(place);
        if !self.contains(key) {
            self.keys -= 1;
        }
        Some(removed.value)
    }

    /// Returns whether a key has an entry.
    #[must_use]
    pub fn contains(&self, key: u32) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// Returns whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over all entries: keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (u32, V)> + '_ {
        self.entries.iter().map(|entry| (entry.key, entry.value))
    }

    /// Iterates over the distinct keys.
    pub fn keys(&self) -> impl Iterator<Item = u32> + '_ {
        let mut last = None;
        let first_of_key = move |entry: &&Entry<V>| last.replace(entry.key) != Some(entry.key);
        self.entries.iter().filter(first_of_key).map(|entry| entry.key)
    }

    /// Returns whether the table has more buckets than initially.
    #[must_use]
    pub fn has_grown(&self) -> bool {
        self.buckets > FIRST_BUCKETS
    }

    /// Sorts the entries of each key by the result of `by`, and removes duplicates.
    pub fn sort_and_dedup<K: Ord>(&mut self, by: impl Fn(V) -> K) {
        for entries in self.entries.chunk_by_mut(|one, other| one.key == other.key) {
            entries.sort_by_key(|entry| by(entry.value));
        }
        self.entries.dedup_by(|one, other| one.key == other.key && by(one.value) == by(other.value));
    }
}
