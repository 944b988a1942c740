//! Metric kernels, which return one row of statistics per candidate.

use std::sync::Arc;

use capeval_metrics::bleu::{self, ReferenceLength};
use capeval_metrics::cider::{self, Options, Pooling};
use capeval_metrics::frequencies;
use capeval_metrics::{MAX_ORDER, rouge, stem};
use capeval_tokens::{Candidates, References, Replaced};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::errors::internal;
use crate::frequencies::DocumentFrequencies;
use crate::threads::detached;
use crate::tokens::{TokenizedCandidates, TokenizedReferences};

type Rows<'py> = PyResult<Bound<'py, PyArray2<f64>>>;

fn rows<'py>(
    py: Python<'py>,
    candidates: &TokenizedCandidates,
    kernel: impl FnOnce(&References, &Candidates) -> Vec<f64> + Send,
) -> Rows<'py> {
    let count = candidates.candidates.len();
    let values = detached(py, || kernel(&candidates.references, &candidates.candidates))?;
    let width = values.len().checked_div(count).unwrap_or(0);
    values.into_pyarray(py).reshape([count, width])
}

fn checked(order: usize) -> PyResult<usize> {
    if (1..=MAX_ORDER).contains(&order) { Ok(order) } else { Err(internal("n-gram order out of range")) }
}

#[pyfunction]
fn bleu_statistics<'py>(
    py: Python<'py>,
    candidates: &TokenizedCandidates,
    max_order: usize,
    reference_length: &str,
) -> Rows<'py> {
    let order = checked(max_order)?;
    let length = match reference_length {
        "closest" => ReferenceLength::Closest,
        "shortest" => ReferenceLength::Shortest,
        "average" => ReferenceLength::Average,
        other => return Err(internal(other)),
    };
    rows(py, candidates, |references, candidates| bleu::statistics(references, candidates, order, length))
}

#[pyfunction]
fn rouge_l_statistics<'py>(py: Python<'py>, candidates: &TokenizedCandidates, beta: f64) -> Rows<'py> {
    rows(py, candidates, |references, candidates| rouge::l_statistics(references, candidates, beta))
}

#[pyfunction]
fn rouge_n_statistics<'py>(py: Python<'py>, candidates: &TokenizedCandidates, order: usize) -> Rows<'py> {
    let order = checked(order)?;
    rows(py, candidates, |references, candidates| rouge::n_statistics(references, candidates, order))
}

#[pyfunction]
#[pyo3(signature = (candidates, distance, beta))]
fn rouge_s_statistics<'py>(
    py: Python<'py>,
    candidates: &TokenizedCandidates,
    distance: Option<usize>,
    beta: f64,
) -> Rows<'py> {
    rows(py, candidates, |references, candidates| rouge::s_statistics(references, candidates, distance, beta))
}

#[pyclass(frozen, module = "capeval._native")]
struct CiderReferences {
    prepared: cider::PreparedReferences,
    /// The stemmed references, if the metric compares stems.
    stemmed: Option<Replaced>,
}

/// The source of document frequencies. `None` gives all n-grams the same weight.
enum Source {
    References,
    Given(Option<Arc<frequencies::DocumentFrequencies>>),
}

#[pymethods]
impl CiderReferences {
    #[new]
    #[pyo3(signature = (references, frequencies, *, max_order, sigma, clip, pooling, relative, stem))]
    #[expect(clippy::too_many_arguments, reason = "one Python keyword argument per option")]
    fn new(
        py: Python<'_>,
        references: &TokenizedReferences,
        frequencies: &Bound<'_, PyAny>,
        max_order: usize,
        sigma: Option<f64>,
        clip: bool,
        pooling: &str,
        relative: bool,
        stem: bool,
    ) -> PyResult<Self> {
        let pooling = match pooling {
            "mean" => Pooling::Mean,
            "max" => Pooling::Max,
            other => return Err(internal(other)),
        };
        let options = Options { max_order: checked(max_order)?, sigma, clip, pooling, relative };
        let given = match frequencies.extract::<&str>() {
            Ok("references") => Source::References,
            Ok("uniform") => Source::Given(None),
            _ => Source::Given(Some(Arc::clone(&frequencies.cast::<DocumentFrequencies>()?.get().0))),
        };
        detached(py, || {
            let stemmed = stem.then(|| references.0.replaced(capeval_metrics::stem));
            let references = stemmed.as_ref().map_or(&references.0, |stemmed| &stemmed.references);
            let references = Arc::clone(references);
            let prepared = match given {
                Source::References => cider::PreparedReferences::new(references, options),
                Source::Given(given) => cider::PreparedReferences::weighed(references, given, options),
            };
            Self { prepared, stemmed }
        })
    }

    fn statistics<'py>(&self, py: Python<'py>, candidates: &TokenizedCandidates) -> Rows<'py> {
        rows(py, candidates, |_, candidates| match &self.stemmed {
            Some(stemmed) => self.prepared.statistics(&stemmed.candidates(candidates, stem)),
            None => self.prepared.statistics(candidates),
        })
    }
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CiderReferences>()?;
    module.add_function(wrap_pyfunction!(bleu_statistics, module)?)?;
    module.add_function(wrap_pyfunction!(rouge_l_statistics, module)?)?;
    module.add_function(wrap_pyfunction!(rouge_n_statistics, module)?)?;
    module.add_function(wrap_pyfunction!(rouge_s_statistics, module)?)
}
