//! Document frequencies: counting, and conversion from and to arrays.

use std::sync::Arc;

use capeval_metrics::frequencies;
use capeval_metrics::partial::{self, RowError};
use capeval_tokens::{References, Vocabulary};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::internal;
use crate::threads::detached;
use crate::tokens::TokenizedReferences;

#[pyclass(frozen, module = "capeval._native")]
pub struct DocumentFrequencies(pub Arc<frequencies::DocumentFrequencies>);

type Order<'py> = (Bound<'py, PyArray2<u32>>, Bound<'py, PyArray1<u32>>);

#[pymethods]
impl DocumentFrequencies {
    #[staticmethod]
    fn of_references(
        py: Python<'_>,
        references: &TokenizedReferences,
        max_order: usize,
        stem: bool,
    ) -> PyResult<Self> {
        let counted = detached(py, || {
            if stem {
                let stemmed = references.0.replaced(capeval_metrics::stem);
                frequencies::DocumentFrequencies::of_references(&stemmed.references, max_order)
            } else {
                frequencies::DocumentFrequencies::of_references(&references.0, max_order)
            }
        })?;
        Ok(Self(Arc::new(counted)))
    }

    /// Creates document frequencies from arrays.
    ///
    /// `orders[k]` has one row of `k + 1` word ids per n-gram, and the counts.
    #[staticmethod]
    fn from_arrays(
        words: Vec<String>,
        images: f64,
        orders: Vec<(PyReadonlyArray2<'_, u32>, PyReadonlyArray1<'_, u32>)>,
    ) -> PyResult<Self> {
        let mut vocabulary = Vocabulary::default();
        words.iter().for_each(|word| _ = vocabulary.intern(word));
        if vocabulary.len() != words.len() {
            return Err(internal("duplicate word"));
        }
        let mut ngrams = Vec::new();
        for (rows, counts) in &orders {
            let (width, rows, counts) = (rows.as_array().ncols(), rows.as_slice()?, counts.as_slice()?);
            if width == 0 || rows.len() != counts.len() * width {
                return Err(internal("n-grams and counts differ in length"));
            }
            if rows.iter().any(|&word| word as usize >= words.len()) {
                return Err(internal("an n-gram has an unknown word"));
            }
            ngrams.extend(rows.chunks_exact(width).zip(counts.iter().copied()));
        }
        let made = frequencies::DocumentFrequencies::from_counts(vocabulary, images, ngrams.into_iter());
        Ok(Self(Arc::new(made)))
    }

    /// Returns the sum of the n-grams' fingerprints, which combine the fingerprints of their words.
    fn fingerprint(
        &self,
        py: Python<'_>,
        words: PyReadonlyArray1<'_, u64>,
        max_order: usize,
    ) -> PyResult<u64> {
        let words = words.as_slice()?;
        if words.len() != self.0.vocabulary().len() {
            return Err(internal("words and fingerprints differ in length"));
        }
        detached(py, || self.0.fingerprint(words, max_order))
    }

    /// Returns the words, the number of images of each, and the longer n-grams that occur in at least two
    /// images.
    fn to_parts<'py>(&self, py: Python<'py>) -> PyResult<Arrays<'py>> {
        let (counts, longer) = detached(py, || self.0.to_parts())?;
        Ok(arrays(py, self.0.vocabulary(), self.0.images(), counts, longer))
    }

    /// Creates document frequencies from the result of `to_parts`.
    #[staticmethod]
    fn from_parts(
        py: Python<'_>,
        words: Vec<String>,
        images: f64,
        counts: Given<'_>,
        longer: Vec<(Given<'_>, Given<'_>, Given<'_>)>,
    ) -> PyResult<Self> {
        let (vocabulary, counts, longer) = (vocabulary(&words), counts.as_slice()?, slices(&longer)?);
        let made = detached(py, || {
            frequencies::DocumentFrequencies::from_parts(vocabulary, images, counts, &longer)
        })?;
        made.map(|made| Self(Arc::new(made)))
            .ok_or_else(|| internal("n-grams and their parts are inconsistent"))
    }

    fn words(&self) -> Vec<String> {
        self.0.vocabulary().words().map(str::to_owned).collect()
    }

    fn images(&self) -> f64 {
        self.0.images()
    }

    /// Returns the n-grams of `order` words, one row of word ids each, and their counts.
    fn of_order<'py>(&self, py: Python<'py>, order: usize) -> PyResult<Order<'py>> {
        let ngrams = detached(py, || self.0.of_order(order))?;
        let counts: Vec<u32> = ngrams.iter().map(|(_, count)| *count).collect();
        let words: Vec<u32> = ngrams.into_iter().flat_map(|(words, _)| words).collect();
        let rows = words.into_pyarray(py).reshape([counts.len(), order])?;
        Ok((rows, counts.into_pyarray(py)))
    }
}

/// Document frequencies of one part of the images.
#[pyclass(frozen, module = "capeval._native")]
pub struct PartialFrequencies(Arc<partial::PartialFrequencies>);

type Array<'py> = Bound<'py, PyArray1<u32>>;
type Rows<'py> = (Bound<'py, PyBytes>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i64>>);
type Arrays<'py> = (Vec<String>, f64, Array<'py>, Vec<(Array<'py>, Array<'py>, Array<'py>)>);
type Given<'py> = PyReadonlyArray1<'py, u32>;

#[pymethods]
impl PartialFrequencies {
    /// Counts several sets of references together, which is faster than counting each.
    #[staticmethod]
    fn of_references(py: Python<'_>, references: Vec<Py<TokenizedReferences>>, stem: bool) -> PyResult<Self> {
        let references: Vec<_> = references.iter().map(|part| Arc::clone(&part.get().0)).collect();
        let counted = detached(py, || {
            let references = match &references[..] {
                [all] => Arc::clone(all),
                parts => Arc::new(References::joined(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>())),
            };
            if stem {
                let stemmed = references.replaced(capeval_metrics::stem);
                partial::PartialFrequencies::of_references(&stemmed.references)
            } else {
                partial::PartialFrequencies::of_references(&references)
            }
        })?;
        Ok(Self(Arc::new(counted)))
    }

    #[staticmethod]
    fn merged(py: Python<'_>, parts: Vec<Py<Self>>) -> PyResult<Self> {
        let parts: Vec<_> = parts.iter().map(|part| Arc::clone(&part.get().0)).collect();
        let merged = detached(py, || {
            partial::PartialFrequencies::merged(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>())
        })?;
        Ok(Self(Arc::new(merged)))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<DocumentFrequencies> {
        Ok(DocumentFrequencies(Arc::new(detached(py, || self.0.finish())?)))
    }

    fn images(&self) -> f64 {
        self.0.images()
    }

    fn size(&self, order: usize) -> usize {
        self.0.size(order)
    }

    /// Returns a range of n-grams: their concatenated texts, the end offset of each, and the numbers of
    /// images.
    fn rows<'py>(&self, py: Python<'py>, order: usize, start: usize, end: usize) -> PyResult<Rows<'py>> {
        if !(1..=capeval_metrics::MAX_ORDER).contains(&order) || start > end || end > self.0.size(order) {
            return Err(internal("n-gram range out of bounds"));
        }
        let (text, ends, images) = detached(py, || self.0.rows(order, start..end))?;
        Ok((PyBytes::new(py, text.as_bytes()), ends.into_pyarray(py), images.into_pyarray(py)))
    }

    /// Creates frequencies from rows. Text `i` ends at byte `ends[i]` and begins where the previous one ends.
    #[staticmethod]
    fn from_rows(
        py: Python<'_>,
        images: f64,
        text: &[u8],
        ends: PyReadonlyArray1<'_, i64>,
        counts: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<Self> {
        let text = str::from_utf8(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let (ends, counts) = (ends.as_slice()?, counts.as_slice()?);
        if ends.len() != counts.len() {
            return Err(internal("n-grams and counts differ in length"));
        }
        let mut start = 0;
        let texts: Option<Vec<&str>> = ends
            .iter()
            .map(|&end| {
                let end = usize::try_from(end).ok()?;
                text.get(std::mem::replace(&mut start, end)..end)
            })
            .collect();
        let texts = texts.ok_or_else(|| internal("an n-gram ends outside of the text"))?;
        let rows = texts.into_iter().zip(counts.iter().copied());
        let read = detached(py, || partial::PartialFrequencies::from_rows(images, rows))?;
        read.map(|counted| Self(Arc::new(counted))).map_err(|error| match error {
            RowError::Ngram(row) => PyValueError::new_err(("ngram", row)),
            RowError::Images(row) => PyValueError::new_err(("images", row)),
        })
    }

    fn to_arrays<'py>(&self, py: Python<'py>) -> Arrays<'py> {
        let (vocabulary, counts) = self.0.words();
        arrays(py, vocabulary, self.0.images(), counts, self.0.longer())
    }

    #[staticmethod]
    fn from_arrays(
        words: Vec<String>,
        images: f64,
        counts: Given<'_>,
        longer: Vec<(Given<'_>, Given<'_>, Given<'_>)>,
    ) -> PyResult<Self> {
        let (vocabulary, longer) = (vocabulary(&words), slices(&longer)?);
        let made = partial::PartialFrequencies::from_arrays(vocabulary, images, counts.as_slice()?, &longer);
        made.map(|made| Self(Arc::new(made)))
            .ok_or_else(|| internal("n-grams and their parts are inconsistent"))
    }
}

fn arrays<'py>(
    py: Python<'py>,
    vocabulary: &Vocabulary,
    images: f64,
    counts: &[u32],
    longer: Vec<partial::Ngrams>,
) -> Arrays<'py> {
    let words = vocabulary.words().map(str::to_owned).collect();
    let longer = longer.into_iter().map(|(first, last, counts)| {
        (first.into_pyarray(py), last.into_pyarray(py), counts.into_pyarray(py))
    });
    (words, images, PyArray1::from_slice(py, counts), longer.collect())
}

fn vocabulary(words: &[String]) -> Vocabulary {
    let mut vocabulary = Vocabulary::default();
    words.iter().for_each(|word| _ = vocabulary.intern(word));
    vocabulary
}

fn slices<'a>(longer: &'a [(Given<'_>, Given<'_>, Given<'_>)]) -> PyResult<Vec<partial::GivenNgrams<'a>>> {
    let slices = longer
        .iter()
        .map(|(first, last, counts)| Ok((first.as_slice()?, last.as_slice()?, counts.as_slice()?)));
    slices.collect()
}

#[pyfunction]
fn check_pickle(py: Python<'_>, pickle: &[u8]) -> PyResult<()> {
    py.detach(|| capeval_formats::check_pickle(pickle)).map_err(PyValueError::new_err)
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_pickle, module)?)?;
    module.add_class::<PartialFrequencies>()?;
    module.add_class::<DocumentFrequencies>()
}
