//! The native module `capeval._native`: batches in, flat arrays out.
//!
//! This crate converts arguments, releases the GIL while the other crates work, and converts their errors to
//! the exceptions of `capeval.errors`. `src/capeval/_native.pyi` documents the interface.

mod arrow;
mod captions;
mod elementary;
mod errors;
mod frequencies;
mod json;
mod mapping;
#[cfg(target_os = "linux")]
mod memory;
mod meteor;
mod metrics;
mod spice;
mod threads;
mod tokens;

use pyo3::prelude::*;

/// Returns freed memory to the system, if the allocator supports it.
#[pyfunction]
fn release_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    memory::release();
}

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(release_memory, module)?)?;
    threads::start();
    captions::add(module)?;
    arrow::add(module)?;
    json::add(module)?;
    tokens::add(module)?;
    frequencies::add(module)?;
    meteor::add(module)?;
    spice::add(module)?;
    metrics::add(module)?;
    elementary::add(module)?;
    threads::add(module)
}
