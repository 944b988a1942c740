//! Captions grouped by image, and their readers.

use capeval_formats::{self as formats, ImageId, ImageIds, Looks, ReadError};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

use crate::errors::{caption_error, format_error, internal};
use crate::threads::detached;

/// Keys that may contain a list of results.
const RESULT_LISTS: [&str; 3] = ["annotations", "predictions", "results"];

#[pyclass(frozen, module = "capeval._native")]
pub struct Captions(pub formats::Captions, OnceLock<Positions>);

/// The position of each image, computed on first use.
enum Positions {
    Integers(FxHashMap<i64, usize>),
    Strings(FxHashMap<String, usize>),
}

impl Captions {
    pub fn made(captions: formats::Captions) -> Self {
        Self(captions, OnceLock::new())
    }

    fn position(&self, id: ImageId<'_>) -> Option<usize> {
        let positions = self.1.get_or_init(|| match self.0.ids() {
            ImageIds::Integers(ids) => Positions::Integers(ids.iter().copied().zip(0..).collect()),
            ImageIds::Strings(ids) => Positions::Strings(ids.iter().cloned().zip(0..).collect()),
        });
        match (positions, id) {
            (Positions::Integers(positions), ImageId::Integer(id)) => positions.get(&id).copied(),
            (Positions::Strings(positions), ImageId::String(id)) => positions.get(id).copied(),
            _ => None,
        }
    }
}

#[pymethods]
impl Captions {
    #[staticmethod]
    fn from_groups(py: Python<'_>, ids: &Bound<'_, PyList>, groups: &Bound<'_, PyList>) -> PyResult<Self> {
        let ids = image_ids(ids)?;
        let groups = groups.iter().enumerate();
        let groups: PyResult<Vec<Vec<String>>> = groups.map(|(i, group)| texts(&ids, i, &group)).collect();
        let captions = formats::Captions::from_grouped(ids, &groups?);
        captions.map(Self::made).map_err(|error| caption_error(py, &error.to_string()))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn count(&self) -> usize {
        self.0.caption_count()
    }

    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match self.0.ids() {
            ImageIds::Integers(ids) => PyList::new(py, ids),
            ImageIds::Strings(ids) => PyList::new(py, ids),
        }
    }

    fn of<'py>(&self, py: Python<'py>, image: usize) -> PyResult<Bound<'py, PyList>> {
        if image >= self.0.len() {
            return Err(PyIndexError::new_err("image out of range"));
        }
        PyList::new(py, self.0.captions_of(image))
    }

    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let offsets = self.0.image_offsets().windows(2);
        offsets.map(|pair| (pair[1] - pair[0]) as i64).collect::<Vec<_>>().into_pyarray(py)
    }

    /// Returns the position of each caption that contains a line end other than `\n`, among all captions.
    fn line_ends<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let found = py.detach(|| self.0.with_line_ends());
        found.into_iter().map(|caption| caption as i64).collect::<Vec<_>>().into_pyarray(py)
    }

    /// Returns a fingerprint of each image's id and captions.
    fn fingerprints<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let fingerprints = detached(py, || {
            let images = (0..self.0.len()).into_par_iter().with_min_len(1024);
            images.map(|image| self.0.fingerprint(image)).collect::<Vec<_>>()
        })?;
        Ok(fingerprints.into_pyarray(py))
    }

    fn select(&self, py: Python<'_>, images: Vec<usize>) -> PyResult<Self> {
        let selected = py.detach(|| self.0.select(&images));
        selected.map(Self::made).map_err(|error| caption_error(py, &error.to_string()))
    }

    /// Returns the position of each image in `other`, or -1 if `other` does not have it.
    fn positions_in<'py>(&self, py: Python<'py>, other: &Self) -> Bound<'py, PyArray1<i64>> {
        let positions: Vec<i64> = py.detach(|| {
            if self.0.ids() == other.0.ids() {
                return (0..self.0.len() as i64).collect();
            }
            self.0.ids().iter().map(|id| other.position(id).map_or(-1, |place| place as i64)).collect()
        });
        positions.into_pyarray(py)
    }
}

fn image_ids(ids: &Bound<'_, PyList>) -> PyResult<ImageIds> {
    let py = ids.py();
    let strings = ids.iter().next().is_some_and(|id| id.is_instance_of::<PyString>());
    if strings {
        let id = |(i, id): (usize, Bound<'_, PyAny>)| match id.cast::<PyString>() {
            Ok(id) => {
                text(id).ok_or_else(|| caption_error(py, &format!("image id {i} contains a lone surrogate")))
            }
            Err(_) => Err(unlike(&id, i, "a string, as the first id is")),
        };
        return ids.iter().enumerate().map(id).collect::<PyResult<_>>().map(ImageIds::Strings);
    }
    let id = |(i, id): (usize, Bound<'_, PyAny>)| {
        // numpy integers are accepted as integers. Booleans are rejected as likely mistakes.
        let integer =
            !id.is_instance_of::<PyBool>() && (id.is_instance_of::<PyInt>() || id.hasattr("__index__")?);
        match id.extract::<i64>() {
            Ok(id) if integer => Ok(id),
            Err(_) if integer => Err(unlike(&id, i, "an integer of at most 64 bits")),
            _ if i == 0 => Err(unlike(&id, i, "an integer or a string")),
            _ => Err(unlike(&id, i, "an integer, as the first id is")),
        }
    };
    ids.iter().enumerate().map(id).collect::<PyResult<_>>().map(ImageIds::Integers)
}

fn unlike(id: &Bound<'_, PyAny>, place: usize, expected: &str) -> PyErr {
    let kind = id.get_type().qualname().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let message = format!("image id {place} must be {expected} (got {}, {kind})", shown(id));
    caption_error(id.py(), &message)
}

fn shown(value: &Bound<'_, PyAny>) -> String {
    let shown =
        value.repr().map_or_else(|_| "an object".to_owned(), |repr| repr.to_string_lossy().into_owned());
    match shown.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &shown[..end]),
        None => shown,
    }
}

fn texts(ids: &ImageIds, image: usize, group: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let of = || ids.get(image).map_or_else(|| "?".to_owned(), |id| id.to_string());
    let py = group.py();
    let Ok(group) = group.cast::<PyList>() else {
        return Err(caption_error(
            py,
            &format!("captions of image {} must be a list (got {})", of(), shown(group)),
        ));
    };
    let caption = |(i, caption): (usize, Bound<'_, PyAny>)| {
        let Ok(caption) = caption.cast::<PyString>() else {
            let message = format!("caption {i} of image {} must be a string (got {})", of(), shown(&caption));
            return Err(caption_error(py, &message));
        };
        text(caption).ok_or_else(|| {
            let message =
                format!("caption {i} of image {} contains a lone surrogate, which is not a character", of());
            caption_error(py, &message)
        })
    };
    group.iter().enumerate().map(caption).collect()
}

fn text(string: &Bound<'_, PyString>) -> Option<String> {
    string.to_cow().ok().map(std::borrow::Cow::into_owned)
}

fn read(
    py: Python<'_>,
    data: &[u8],
    reader: impl Fn(&[u8]) -> Result<formats::Captions, ReadError> + Send + Sync,
) -> PyResult<Captions> {
    py.detach(|| reader(data)).map(Captions::made).map_err(|error| format_error(py, &error))
}

#[pyfunction]
fn read_annotations(py: Python<'_>, data: &[u8]) -> PyResult<Captions> {
    read(py, data, formats::read_annotations)
}

#[pyfunction]
fn read_results(py: Python<'_>, data: &[u8]) -> PyResult<Captions> {
    read(py, data, formats::read_results)
}

#[pyfunction]
fn read_results_strictly(py: Python<'_>, data: &[u8]) -> PyResult<Captions> {
    read(py, data, formats::read_results_strictly)
}

#[pyfunction]
fn read_results_under(py: Python<'_>, data: &[u8], key: &str) -> PyResult<Captions> {
    let Some(key) = RESULT_LISTS.into_iter().find(|known| *known == key) else {
        return Err(internal("unknown key of a list of results"));
    };
    read(py, data, |data| formats::read_results_under(data, key))
}

#[pyfunction]
fn read_karpathy(
    py: Python<'_>,
    data: &[u8],
    key: &str,
    splits: Vec<String>,
) -> PyResult<(Captions, Vec<String>)> {
    let read = py.detach(|| formats::read_karpathy(data, key, &splits));
    let (captions, splits) = read.map_err(|error| format_error(py, &error))?;
    Ok((Captions::made(captions), splits))
}

/// Returns the structure of a JSON file's top-level value, whether more text follows it, and whether the
/// beginning is valid.
#[pyfunction]
fn read_outline<'py>(py: Python<'py>, data: &[u8]) -> PyResult<(Bound<'py, PyTuple>, bool, bool)> {
    let outline = py.detach(|| formats::read_outline(data));
    Ok((looks(py, &outline.top)?, outline.is_followed, outline.is_sound))
}

/// Returns the type of a value, its fields, and the first element of a list.
fn looks<'py>(py: Python<'py>, value: &Looks) -> PyResult<Bound<'py, PyTuple>> {
    let fields = PyDict::new(py);
    for (key, field) in &value.fields {
        fields.set_item(key, looks(py, field)?)?;
    }
    let first = value.first.as_ref().map(|first| looks(py, first)).transpose()?;
    (value.kind, fields, first).into_pyobject(py)
}

#[pyfunction]
fn read_json_lines_references(py: Python<'_>, data: &[u8]) -> PyResult<Captions> {
    read(py, data, formats::read_json_lines_references)
}

#[pyfunction]
fn read_json_lines_results(py: Python<'_>, data: &[u8]) -> PyResult<Captions> {
    read(py, data, formats::read_json_lines_results)
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Captions>()?;
    module.add_function(wrap_pyfunction!(read_annotations, module)?)?;
    module.add_function(wrap_pyfunction!(read_results, module)?)?;
    module.add_function(wrap_pyfunction!(read_results_strictly, module)?)?;
    module.add_function(wrap_pyfunction!(read_results_under, module)?)?;
    module.add_function(wrap_pyfunction!(read_karpathy, module)?)?;
    module.add_function(wrap_pyfunction!(read_outline, module)?)?;
    module.add_function(wrap_pyfunction!(read_json_lines_references, module)?)?;
    module.add_function(wrap_pyfunction!(read_json_lines_results, module)?)
}
