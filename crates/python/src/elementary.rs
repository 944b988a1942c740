//! Functions with correctly rounded results, which are the same on every platform.

use numpy::{IntoPyArray, PyArrayDyn, PyReadonlyArrayDyn};
use pxfm::{f_exp, f_pow};
use pyo3::prelude::*;

type Array<'py> = Bound<'py, PyArrayDyn<f64>>;

#[pyfunction]
fn exp<'py>(py: Python<'py>, values: PyReadonlyArrayDyn<'py, f64>) -> Array<'py> {
    values.as_array().mapv(f_exp).into_pyarray(py)
}

#[pyfunction]
fn power<'py>(py: Python<'py>, values: PyReadonlyArrayDyn<'py, f64>, exponent: f64) -> Array<'py> {
    values.as_array().mapv(|value| f_pow(value, exponent)).into_pyarray(py)
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(exp, module)?)?;
    module.add_function(wrap_pyfunction!(power, module)?)
}
