//! Tables of other libraries, read through Arrow's C data interface.

use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayReader, RecordBatch};
use arrow_schema::{DataType, Schema};
use capeval_formats::{Columns, read_batches};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::captions::Captions;
use crate::errors::{caption_error, format_error, internal};
use crate::threads::detached;

/// Name of the capsules that contain Arrow streams.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// A table that can be read once.
#[pyclass(frozen, module = "capeval._native")]
pub struct ArrowTable {
    schema: Schema,
    stream: Mutex<Option<ArrayStreamReader>>,
}

#[pymethods]
impl ArrowTable {
    #[new]
    fn new(py: Python<'_>, stream: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let pointer = stream.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name contains a stream, and the stream is marked as taken.
        #[expect(unsafe_code, reason = "Arrow's C data interface")]
        let taken = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
        let stream = ArrayStreamReader::try_new(taken).map_err(|error| unreadable(py, &error.to_string()))?;
        let field = stream.field();
        let DataType::Struct(fields) = field.data_type() else {
            return Err(unreadable(py, &format!("it is a single column of {}", field.data_type())));
        };
        Ok(Self { schema: Schema::new(fields.clone()), stream: Mutex::new(Some(stream)) })
    }

    fn names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    #[pyo3(signature = (image, caption, *, is_single, split = None))]
    fn captions(
        &self,
        py: Python<'_>,
        image: String,
        caption: String,
        is_single: bool,
        split: Option<(String, Vec<String>)>,
    ) -> PyResult<Captions> {
        let columns = Columns { image, caption, split, is_single };
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stream =
            stream.ok_or_else(|| internal("the table can be read only once, and was read before"))?;
        // The GIL is released because a stream may need it in its own threads.
        let read = detached(py, || {
            let batches = batches(stream)?;
            Ok(read_batches(&self.schema, &batches, &columns))
        })?;
        let captions = read.map_err(|error: String| unreadable(py, &error))?;
        captions.map(Captions::made).map_err(|error| format_error(py, &error))
    }
}

fn batches(stream: ArrayStreamReader) -> Result<Vec<RecordBatch>, String> {
    let mut rows = 0;
    let mut batches = Vec::new();
    for array in stream {
        let array = array.map_err(|error| error.to_string())?;
        if let Some(null) = array.nulls().and_then(|nulls| (0..nulls.len()).find(|&row| nulls.is_null(row))) {
            return Err(format!("row {} is null", rows + null));
        }
        rows += array.len();
        batches.push(RecordBatch::from(array.as_struct()));
    }
    Ok(batches)
}

fn unreadable(py: Python<'_>, reason: &str) -> PyErr {
    caption_error(py, &format!("cannot read the table ({reason})"))
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ArrowTable>()
}
