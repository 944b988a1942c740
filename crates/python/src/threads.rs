//! Runs work without the interpreter's lock, also in a forked child.

use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// Threads of our own, and what they are: those of a forked child, or as many as were asked for. It is locked
/// only while the interpreter is held, as it is to fork: so no child finds it locked by a thread that the fork
/// left behind.
static OWN: Mutex<Option<(Pool, Arc<ThreadPool>)>> = Mutex::new(None);

/// How many threads were asked for; 0 for as many as rayon takes.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// The process that threads belong to, and how many there are.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Pool {
    process: u32,
    threads: usize,
}

/// Records the process that loads the module.
pub fn start() {
    HOME.get_or_init(process::id);
}

/// Sets how many threads do the work from now on; 0 for as many as rayon takes.
#[pyfunction]
fn set_threads(count: usize) {
    WANTED.store(count, Ordering::Relaxed);
}

/// How many threads do the work.
#[pyfunction]
fn threads(py: Python<'_>) -> PyResult<usize> {
    detached(py, rayon::current_num_threads)
}

/// Releases the interpreter while `work` runs.
///
/// A forked child has none of its parent's threads and would wait for rayon's forever, so it gets
/// threads of its own.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let own = own_threads(py)?;
    Ok(py.detach(|| on_threads(own, work)))
}

fn on_threads<T: Send>(own: Option<Arc<ThreadPool>>, work: impl FnOnce() -> T + Send) -> T {
    match own {
        Some(threads) => threads.install(work),
        None => work(),
    }
}

/// As [`detached`], for work that takes long: Ctrl-C, or what else a handler of a signal raises, sets the
/// flag that `work` gets, and is raised when `work` has ended.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send) -> PyResult<T> {
    let own = own_threads(py)?;
    let flag = AtomicBool::new(false);
    let stop = &flag;
    let (sender, receiver) = channel();
    let receiver = Mutex::new(receiver);
    let wait = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK);
    thread::scope(|scope| {
        // This thread is the one that Python handles signals in.
        scope.spawn(move || sender.send(on_threads(own, || work(stop))));
        let mut interrupted = Ok(());
        loop {
            match py.detach(wait) {
                Ok(done) => return interrupted.map(|()| done),
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

/// The threads that are not rayon's own, where there shall be such.
fn own_threads(_: Python<'_>) -> PyResult<Option<Arc<ThreadPool>>> {
    let pool = Pool { process: process::id(), threads: WANTED.load(Ordering::Relaxed) };
    if pool.threads == 0 && HOME.get().is_none_or(|&home| home == pool.process) {
        return Ok(None);
    }
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((made, threads)) = &*own
        && *made == pool
    {
        return Ok(Some(Arc::clone(threads)));
    }
    let failed = |error| PyOSError::new_err(format!("can't start threads: {error}"));
    let threads = ThreadPoolBuilder::new().num_threads(pool.threads).build().map_err(failed)?;
    let threads = Arc::new(threads);
    if let Some((made, former)) = own.replace((pool, Arc::clone(&threads)))
        && made.process != pool.process
    {
        // A pool from before a fork would, when dropped, wait for threads that do not exist here.
        std::mem::forget(former);
    }
    Ok(Some(threads))
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(threads, module)?)
}
