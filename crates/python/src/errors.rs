//! Conversion of the other crates' errors to the exceptions of `capeval.errors`.

use capeval_formats::ReadError;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

fn raise(py: Python<'_>, class: &str, message: &str, fields: Option<&Bound<'_, PyDict>>) -> PyErr {
    let made = || -> PyResult<Bound<'_, PyAny>> {
        let module = py.import(intern!(py, "capeval.errors"))?;
        module.getattr(class)?.call((message,), fields)
    };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// Creates a `FormatError` with the problem in a file and its place.
pub fn format_error(py: Python<'_>, error: &ReadError) -> PyErr {
    let fields = || -> PyResult<Bound<'_, PyDict>> {
        let fields = PyDict::new(py);
        fields.set_item("kind", error.kind.name())?;
        fields.set_item("entry", error.place.as_ref().map(|place| place.entry.as_str()))?;
        fields.set_item("field", error.place.as_ref().and_then(|place| place.field.as_deref()))?;
        fields.set_item("line", error.position.map(|position| position.line))?;
        fields.set_item("column", error.position.map(|position| position.column))?;
        Ok(fields)
    };
    match fields() {
        Ok(fields) => raise(py, "FormatError", &error.message, Some(&fields)),
        Err(error) => error,
    }
}

/// Creates a `CaptionError` for an invalid image id or caption from Python.
pub fn caption_error(py: Python<'_>, message: &str) -> PyErr {
    raise(py, "CaptionError", message, None)
}

/// Creates an `OptionError` for an option that is out of range.
pub fn option_error(py: Python<'_>, message: &str) -> PyErr {
    raise(py, "OptionError", message, None)
}

/// Creates a `ResourceError` for tables that are damaged or cannot be compiled.
pub fn resource_error(py: Python<'_>, message: &str) -> PyErr {
    raise(py, "ResourceError", message, None)
}

/// Creates a `ValueError` for invalid arguments that only a bug in `capeval` can cause.
pub fn internal(message: &str) -> PyErr {
    PyValueError::new_err(message.to_owned())
}
