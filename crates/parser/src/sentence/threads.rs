//! Work of one sentence on several threads.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Calls a function with each item, on one thread per tool.
///
/// These are not tasks of rayon, because a task that waits for other tasks may start another sentence, which
/// waits for the memory of the first.
pub(crate) fn for_each<T: Send, U: Send>(
    items: impl Iterator<Item = T> + Send,
    tools: &mut [U],
    work: impl Fn(T, &mut U) + Sync,
) {
    if let [tool] = tools {
        return items.for_each(|item| work(item, tool));
    }
    let items = Mutex::new(items);
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for tool in tools {
            scope.spawn(|| {
                while let Some(item) = next() {
                    work(item, tool);
                }
            });
        }
    });
}
