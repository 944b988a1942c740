//! The native module `capeval._native`: whole batches in, flat arrays out.
//!
//! Everything here converts arguments, releases the interpreter while the pure crates work, and turns
//! their errors into those of `capeval.errors`. `src/capeval/_native.pyi` documents the surface.

mod arrow;
mod captions;
mod errors;
mod frequencies;
mod json;
mod mapping;
mod meteor;
mod metrics;
mod spice;
mod threads;
mod tokens;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    threads::start();
    captions::add(module)?;
    arrow::add(module)?;
    json::add(module)?;
    tokens::add(module)?;
    frequencies::add(module)?;
    meteor::add(module)?;
    spice::add(module)?;
    metrics::add(module)?;
    threads::add(module)
}
