//! Runs work without the interpreter's lock, also in a forked child.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::internal;

/// The process that loaded the module, in which rayon's own threads do the work.
static HOME: OnceLock<u32> = OnceLock::new();

/// How often long work looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

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
    py.detach(|| on_threads(work))
}

fn on_threads<T: Send>(work: impl FnOnce() -> T + Send) -> PyResult<T> {
    match HOME.get() {
        Some(&home) if home != process::id() => Ok(own_threads()?.install(work)),
        _ => Ok(work()),
    }
}

/// As [`detached`], for work that takes long: Ctrl-C, or what else a handler of a signal raises, sets the
/// flag that `work` gets, and is raised when `work` has ended.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send) -> PyResult<T> {
    let flag = AtomicBool::new(false);
    let stop = &flag;
    let (sender, receiver) = channel();
    let receiver = Mutex::new(receiver);
    let wait = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK);
    thread::scope(|scope| {
        // This thread is the one that Python handles signals in.
        scope.spawn(move || sender.send(on_threads(|| work(stop))));
        let mut interrupted = Ok(());
        loop {
            match py.detach(wait) {
                Ok(done) => return interrupted.and(done),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(internal("the work has ended without a result"));
                }
                Err(RecvTimeoutError::Timeout) if interrupted.is_err() => {}
                Err(RecvTimeoutError::Timeout) => interrupted = py.check_signals(),
            }
            stop.store(interrupted.is_err(), Ordering::Relaxed);
        }
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
