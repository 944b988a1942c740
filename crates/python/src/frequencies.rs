//! Document frequencies: counted, converted to arrays for saving, and made from arrays.

use std::sync::Arc;

use capeval_metrics::frequencies;
use capeval_tokens::Vocabulary;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

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

    /// `orders[k]` holds the n-grams of `k + 1` words, a row of word numbers each, and their counts.
    #[staticmethod]
    fn from_arrays(
        words: Vec<String>,
        images: f64,
        orders: Vec<(PyReadonlyArray2<'_, u32>, PyReadonlyArray1<'_, u32>)>,
    ) -> PyResult<Self> {
        let mut vocabulary = Vocabulary::default();
        words.iter().for_each(|word| _ = vocabulary.intern(word));
        if vocabulary.len() != words.len() {
            return Err(internal("a word stands twice"));
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

    fn words(&self) -> Vec<String> {
        self.0.vocabulary().words().map(str::to_owned).collect()
    }

    fn images(&self) -> f64 {
        self.0.images()
    }

    /// The n-grams of `order` words, a row of word numbers each, and their counts.
    fn of_order<'py>(&self, py: Python<'py>, order: usize) -> PyResult<Order<'py>> {
        let ngrams = detached(py, || self.0.of_order(order))?;
        let counts: Vec<u32> = ngrams.iter().map(|(_, count)| *count).collect();
        let words: Vec<u32> = ngrams.into_iter().flat_map(|(words, _)| words).collect();
        let rows = words.into_pyarray(py).reshape([counts.len(), order])?;
        Ok((rows, counts.into_pyarray(py)))
    }
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DocumentFrequencies>()
}
