//! Runs work without the interpreter's lock, also in a forked child.

use std::process;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process that loaded the module, in which rayon's own threads do the work.
static HOME: OnceLock<u32> = OnceLock::new();

/// The threads of a forked child, and the process they belong to. The first process never locks this,
/// so no child finds it locked by a thread that the fork left behind.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Records the process that loads the module.
pub fn start() {
    HOME.get_or_init(process::id);
}

/// Releases the interpreter while `work` runs.
///
/// A forked child has none of its parent's threads and would wait for rayon's forever, so it gets
/// threads of its own.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| match HOME.get() {
        Some(&home) if home != process::id() => Ok(own_threads()?.install(work)),
        _ => Ok(work()),
    })
}

fn own_threads() -> PyResult<Arc<ThreadPool>> {
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((process, threads)) = &*forked
        && *process == process::id()
    {
        return Ok(Arc::clone(threads));
    }
    let failed = |error| PyOSError::new_err(format!("can't start threads: {error}"));
    let threads = Arc::new(ThreadPoolBuilder::new().build().map_err(failed)?);
    // A pool from before another fork would, when dropped, wait for threads that do not exist here.
    std::mem::forget(forked.replace((process::id(), Arc::clone(&threads))));
    Ok(threads)
}
