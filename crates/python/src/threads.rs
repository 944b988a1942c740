//! Work without the GIL, also in forked child processes.

use std::ops::ControlFlow;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::internal;

/// The process that loaded the module and uses rayon's global threads.
static HOME: OnceLock<u32> = OnceLock::new();

/// Interval of Ctrl-C checks during long work.
const LOOK: Duration = Duration::from_millis(100);

/// Interval of progress reports during long work.
const REPORT: Duration = Duration::from_secs(1);

/// Our own threads: those of a forked child, or the requested number.
///
/// The mutex is locked only while the thread is attached to the interpreter. Before a fork, Python waits until
/// no other thread is attached (it needs the GIL, or stops all threads if there is none), so a child never
/// inherits a mutex locked by a thread that no longer exists.
static OWN: Mutex<Option<(Pool, Arc<ThreadPool>)>> = Mutex::new(None);

/// Requested number of threads, or 0 for rayon's default.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// The process that a thread pool belongs to, and its number of threads.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Pool {
    process: u32,
    threads: usize,
}

/// Records the process that loads the module.
pub fn start() {
    HOME.get_or_init(process::id);
}

/// Sets the number of threads, or 0 for rayon's default.
#[pyfunction]
fn set_threads(count: usize) {
    WANTED.store(count, Ordering::Relaxed);
}

/// Returns the number of threads.
#[pyfunction]
fn threads(py: Python<'_>) -> PyResult<usize> {
    detached(py, rayon::current_num_threads)
}

/// Releases the GIL while `work` runs.
///
/// A forked child has none of its parent's threads and would wait for rayon's threads forever, so it gets its
/// own.
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

/// The progress of long work, and whether it must stop.
#[derive(Default)]
pub struct Watch {
    /// Bits of the finished fraction.
    done: AtomicU64,
    must_stop: AtomicBool,
}

impl Watch {
    /// Records the finished fraction of the work, and returns whether to continue.
    pub fn report(&self, done: f64) -> ControlFlow<()> {
        self.done.store(done.to_bits(), Ordering::Relaxed);
        if self.must_stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Releases the GIL like [`detached`] and can be interrupted, for long work.
///
/// Every second, `progress` is called with the finished fraction, if it has grown. Ctrl-C, or any exception of
/// a signal handler or of `progress`, stops the work. The exception is raised once `work` has ended.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<T> {
    let own = own_threads(py)?;
    let watch = &Watch::default();
    let (mut reported, mut last) = (0.0, Instant::now());
    let mut look = || {
        py.check_signals()?;
        let done = f64::from_bits(watch.done.load(Ordering::Relaxed));
        if let Some(progress) = &progress
            && last.elapsed() >= REPORT
            && done > reported
        {
            (reported, last) = (done, Instant::now());
            progress.call1((done,))?;
        }
        Ok(())
    };
    let (sender, receiver) = channel();
    let receiver = Mutex::new(receiver);
    let wait = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK);
    thread::scope(|scope| {
        // Work runs on another thread because Python handles signals in this one.
        scope.spawn(move || sender.send(on_threads(own, || work(watch))));
        let mut interrupted = Ok(());
        loop {
            match py.detach(wait) {
                Ok(done) => return interrupted.map(|()| done),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(internal("the work ended without a result"));
                }
                Err(RecvTimeoutError::Timeout) if interrupted.is_err() => {}
                Err(RecvTimeoutError::Timeout) => interrupted = look(),
            }
            watch.must_stop.store(interrupted.is_err(), Ordering::Relaxed);
        }
    })
}

/// Returns our own threads, if rayon's global ones are not used.
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
    let failed = |error| PyOSError::new_err(format!("cannot start threads: {error}"));
    let threads = ThreadPoolBuilder::new().num_threads(pool.threads).build().map_err(failed)?;
    let threads = Arc::new(threads);
    if let Some((made, former)) = own.replace((pool, Arc::clone(&threads)))
        && made.process != pool.process
    {
        // Dropping a pool created before a fork would wait for threads that do not exist in this process.
        std::mem::forget(former);
    }
    Ok(Some(threads))
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(threads, module)?)
}
