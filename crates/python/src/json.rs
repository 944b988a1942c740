//! JSON files as Python objects.

use std::borrow::Cow;
use std::cell::RefCell;

use capeval_formats::{self as formats, Build, ReadError, ReadErrorKind};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::errors::format_error;

/// Builds Python objects and keeps the first exception.
struct Objects<'py> {
    py: Python<'py>,
    raised: RefCell<Option<PyErr>>,
}

impl<'py> Objects<'py> {
    fn new(py: Python<'py>) -> Self {
        Self { py, raised: RefCell::new(None) }
    }

    /// Keeps the exception of a failed call.
    fn keep(&self, error: PyErr) {
        self.raised.borrow_mut().get_or_insert(error);
    }

    fn finished<T>(self, read: Result<T, ReadError>) -> PyResult<T> {
        match self.raised.into_inner() {
            Some(raised) => Err(raised),
            None => read.map_err(|error| format_error(self.py, &error)),
        }
    }
}

impl<'py> Build for Objects<'py> {
    type Value = Bound<'py, PyAny>;

    fn null(&self) -> Self::Value {
        self.py.None().into_bound(self.py)
    }

    fn boolean(&self, value: bool) -> Self::Value {
        PyBool::new(self.py, value).to_owned().into_any()
    }

    fn integer(&self, value: i64) -> Self::Value {
        PyInt::new(self.py, value).into_any()
    }

    fn large_integer(&self, value: u64) -> Self::Value {
        PyInt::new(self.py, value).into_any()
    }

    fn float(&self, value: f64) -> Self::Value {
        PyFloat::new(self.py, value).into_any()
    }

    fn string(&self, value: &str) -> Self::Value {
        PyString::new(self.py, value).into_any()
    }

    fn list(&self, values: Vec<Self::Value>) -> Self::Value {
        match PyList::new(self.py, values) {
            Ok(list) => list.into_any(),
            Err(error) => {
                self.keep(error);
                self.null()
            }
        }
    }

    fn object(&self, keys: &[Cow<'_, str>], values: Vec<Self::Value>) -> Self::Value {
        let object = PyDict::new(self.py);
        for (key, value) in keys.iter().zip(values) {
            // Keys are interned because the entries of a list repeat them.
            if let Err(error) = object.set_item(PyString::intern(self.py, key), value) {
                self.keep(error);
            }
        }
        object.into_any()
    }
}

#[pyfunction]
fn read_json<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let objects = Objects::new(py);
    let read = formats::read_json(data, &objects);
    objects.finished(read)
}

#[pyfunction]
fn read_json_lines<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Vec<(usize, Bound<'py, PyAny>)>> {
    let objects = Objects::new(py);
    let read = formats::read_json_lines(data, &objects);
    objects.finished(read)
}

/// Returns the names of the readers' error kinds.
#[pyfunction]
fn read_error_kinds() -> Vec<&'static str> {
    ReadErrorKind::ALL.iter().map(|kind| kind.name()).collect()
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_json, module)?)?;
    module.add_function(wrap_pyfunction!(read_json_lines, module)?)?;
    module.add_function(wrap_pyfunction!(read_error_kinds, module)?)
}
