//! Memory budget for the charts of all threads.

use std::collections::BTreeSet;
use std::process;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// Memory for all charts of a process, which only the oldest batch may exceed.
///
/// The chart of a sentence of 100 words takes 170 MB, of 200 words 370 MB, and of 390 words 1.4 GB. The chart
/// of 16 sentences of 11 common words takes 12 MB.
const BYTES: usize = 800 << 20;

/// Memory shared by batches of sentences.
///
/// A batch requests memory while its chart grows. If the budget is used up, it waits until another batch
/// ends. The oldest batch never waits, so there is always progress, even if it exceeds the budget. Otherwise,
/// older batches get memory before younger ones, so that few batches are in progress at a time.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    /// Number of the next batch. Older batches have lower numbers.
    next: u64,
    batches: BTreeSet<u64>,
    waiting: BTreeSet<u64>,
}

/// The budget of a process, and of a process forked from it.
struct OfProcess {
    process: u32,
    budget: Budget,
    forked: OnceLock<&'static OfProcess>,
}

impl OfProcess {
    fn new() -> Self {
        Self { process: process::id(), budget: Budget::new(BYTES), forked: OnceLock::new() }
    }
}

impl Budget {
    fn new(bytes: usize) -> Self {
        Self { bytes, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Returns the budget of this process.
    ///
    /// A forked process gets its own, because the batches of its parent's threads never end in it.
    pub(crate) fn of_process() -> &'static Self {
        static FIRST: OnceLock<OfProcess> = OnceLock::new();
        let mut found = FIRST.get_or_init(OfProcess::new);
        while found.process != process::id() {
            found = found.forked.get_or_init(|| Box::leak(Box::new(OfProcess::new())));
        }
        &found.budget
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of the budget used by one worker's charts.
#[derive(Debug)]
pub(crate) struct Share<'a> {
    budget: &'a Budget,
    bytes: usize,
    batch: Option<u64>,
}

impl<'a> Share<'a> {
    pub(crate) fn new(budget: &'a Budget) -> Self {
        Self { budget, bytes: 0, batch: None }
    }

    /// Begins a batch, the youngest so far.
    pub(crate) fn begin(&mut self) {
        let mut state = self.budget.lock();
        let batch = state.next;
        state.next += 1;
        state.batches.insert(batch);
        self.batch = Some(batch);
    }

    /// Takes more bytes for the batch, and waits while older batches need them first.
    pub(crate) fn take(&mut self, more: usize) {
        let Some(batch) = self.batch.filter(|_| more > 0) else { return };
        let mut state = self.budget.lock();
        while !state.may_take(batch, more, self.budget.bytes) {
            state.waiting.insert(batch);
            state = self.budget.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.used += more;
        self.bytes += more;
        if state.waiting.remove(&batch) {
            self.budget.changed.notify_all();
        }
    }

    /// Ends the batch. Its memory stays reserved.
    pub(crate) fn end(&mut self) {
        if let Some(batch) = self.batch.take() {
            self.budget.lock().batches.remove(&batch);
            self.budget.changed.notify_all();
        }
    }

    /// Returns whether a batch is waiting for memory.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.budget.lock().waiting.is_empty()
    }

    /// Returns the number of batches in progress that are not waiting, of all threads.
    pub(crate) fn running(&self) -> usize {
        let state = self.budget.lock();
        state.batches.len() - state.waiting.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases all memory.
    pub(crate) fn release(&mut self) {
        self.budget.lock().used -= std::mem::take(&mut self.bytes);
        self.budget.changed.notify_all();
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.end();
        self.release();
    }
}

impl State {
    fn may_take(&self, batch: u64, more: usize, bytes: usize) -> bool {
        let is_oldest = self.batches.first() == Some(&batch);
        let is_next = self.waiting.first().is_none_or(|&first| first >= batch);
        is_oldest || (is_next && self.used + more <= bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::{Budget, Share};

    #[test]
    fn batches_of_many_threads_exceed_the_budget_by_at_most_one_batch() {
        let (budget, most) = (Budget::new(1000), AtomicUsize::new(0));
        thread::scope(|scope| {
            for thread in 0..16 {
                let (budget, most) = (&budget, &most);
                scope.spawn(move || {
                    let mut share = Share::new(budget);
                    for batch in 0..50 {
                        share.begin();
                        for _ in 0..(thread * 7 + batch) % 40 {
                            share.take(10);
                            most.fetch_max(budget.lock().used, Ordering::Relaxed);
                            thread::yield_now();
                        }
                        share.end();
                        if share.is_wanted() || share.bytes() > 300 {
                            share.release();
                        }
                    }
                });
            }
        });
        let most = most.into_inner();
        assert!((1..=1000 + 300 + 400).contains(&most), "{most}");
        assert_eq!(budget.lock().used, 0);
    }

    #[test]
    fn a_batch_larger_than_the_budget_is_parsed() {
        let budget = Budget::new(1000);
        let mut share = Share::new(&budget);
        share.begin();
        share.take(5000);
        assert_eq!(share.bytes(), 5000);
    }

    #[test]
    fn an_older_batch_has_memory_first() {
        let budget = Budget::new(1000);
        let mut shares: Vec<Share<'_>> = (0..3).map(|_| Share::new(&budget)).collect();
        shares.iter_mut().for_each(Share::begin);
        let [oldest, older, younger] = &mut shares[..] else { unreachable!() };
        oldest.take(900);
        let order = thread::scope(|scope| {
            let wait = |count| {
                while budget.lock().waiting.len() < count {
                    thread::yield_now()
                }
            };
            let (sender, receiver) = std::sync::mpsc::channel();
            let other = sender.clone();
            scope.spawn(move || {
                // So much that the younger batch must wait until the memory is released.
                older.take(950);
                sender.send("older").unwrap();
                older.release();
                older.end();
            });
            wait(1);
            // There is enough memory, but an older batch is waiting.
            scope.spawn(move || {
                younger.take(100);
                other.send("younger").unwrap();
            });
            wait(2);
            assert!(receiver.try_recv().is_err());
            oldest.release();
            receiver.iter().take(2).collect::<Vec<_>>()
        });
        assert_eq!(order, ["older", "younger"]);
    }
}
