//! METEOR: tables, prepared references and alignments.

use std::fs::File;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use capeval_meteor::{
    self as meteor, Language, MeteorError, Options, PreparedReferences, Sources, Stage, Statistics, Tables,
    WeightedStage,
};
use memmap2::Mmap;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{internal, option_error, resource_error};
use crate::mapping::map_file;
use crate::threads::detached;
use crate::tokens::{TokenizedCandidates, TokenizedReferences};

#[pyclass(frozen, module = "capeval._native", from_py_object)]
#[derive(Clone)]
struct MeteorOptions(Options);

#[pymethods]
impl MeteorOptions {
    #[new]
    #[pyo3(signature = (*, language, stages, alpha, beta, gamma, delta, beam_size, normalize, penalize_perfect))]
    #[expect(clippy::too_many_arguments, reason = "one Python keyword argument per option")]
    fn new(
        py: Python<'_>,
        language: &str,
        stages: Vec<(String, f64)>,
        alpha: f64,
        beta: f64,
        gamma: f64,
        delta: f64,
        beam_size: usize,
        normalize: bool,
        penalize_perfect: bool,
    ) -> PyResult<Self> {
        let stages =
            stages.iter().map(|(name, weight)| Ok(WeightedStage { stage: stage(name)?, weight: *weight }));
        let stages = stages.collect::<PyResult<_>>()?;
        let language = Language::of_code(language).ok_or_else(|| internal(language))?;
        let options =
            Options { language, stages, alpha, beta, gamma, delta, beam_size, normalize, penalize_perfect };
        options.validate().map_err(|error| raised(py, &error))?;
        Ok(Self(options))
    }
}

fn stage(name: &str) -> PyResult<Stage> {
    Stage::ALL.into_iter().find(|stage| stage.name() == name).ok_or_else(|| internal(name))
}

create_exception!(
    capeval._native,
    TooManyMatchesError,
    PyValueError,
    "Captions that are too long to align. Arguments: candidate index, reference index in its image, and limits."
);

fn raised(py: Python<'_>, error: &MeteorError) -> PyErr {
    match error {
        MeteorError::Option { .. } => option_error(py, &error.to_string()),
        MeteorError::TooManyMatches { candidate, reference } => {
            TooManyMatchesError::new_err((*candidate, *reference, meteor::match_limits()))
        }
        MeteorError::Table(_) => resource_error(py, &error.to_string()),
        _ => internal(&error.to_string()),
    }
}

#[pyclass(frozen, module = "capeval._native")]
struct MeteorTables(Arc<Tables<Mmap>>);

#[pymethods]
impl MeteorTables {
    /// Maps compiled tables into memory, reading only their header.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let map = map_file(&path)?;
        let tables = Tables::open(map).map_err(|error| resource_error(py, &error.to_string()))?;
        Ok(Self(Arc::new(tables)))
    }

    /// Reads the whole tables and verifies their checksum.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.verify()).map_err(|error| resource_error(py, &error.to_string()))
    }
}

/// Returns the compiled tables as bytes.
#[pyfunction]
#[pyo3(signature = (*, synsets, exceptions, function_words, prefixes, paraphrases, progress))]
fn compile_meteor_tables<'py>(
    py: Python<'py>,
    synsets: &[u8],
    exceptions: &[u8],
    function_words: &[u8],
    prefixes: &[u8],
    paraphrases: PathBuf,
    progress: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let paraphrases = &mut BufReader::with_capacity(1 << 20, File::open(paraphrases)?);
    let progress = progress.clone().unbind();
    let compiled = py.detach(|| {
        let (synsets, exceptions, function_words, prefixes) =
            (&mut &*synsets, &mut &*exceptions, &mut &*function_words, &mut &*prefixes);
        let mut stopped = None;
        let sources = Sources { synsets, exceptions, function_words, prefixes, paraphrases };
        let compiled = meteor::compile(sources, &mut |pairs| {
            let told = Python::attach(|py| {
                py.check_signals()?;
                progress.call1(py, (pairs,)).map(drop)
            });
            stopped = told.err();
            if stopped.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (compiled, stopped)
    });
    match compiled {
        (_, Some(stopped)) => Err(stopped),
        (Ok(bytes), None) => Ok(PyBytes::new(py, &bytes)),
        (Err(error), None) => Err(resource_error(py, &error.to_string())),
    }
}

#[pyclass(frozen, module = "capeval._native")]
struct MeteorReferences {
    tables: Arc<Tables<Mmap>>,
    prepared: PreparedReferences,
}

#[pymethods]
impl MeteorReferences {
    #[new]
    fn new(
        py: Python<'_>,
        references: &TokenizedReferences,
        tables: &MeteorTables,
        options: &MeteorOptions,
    ) -> PyResult<Self> {
        let tables = Arc::clone(&tables.0);
        let references = &references.0;
        let prepared = detached(py, || PreparedReferences::new(&tables, &options.0, references))?;
        Ok(Self { prepared: prepared.map_err(|error| raised(py, &error))?, tables })
    }

    fn statistics<'py>(
        &self,
        py: Python<'py>,
        candidates: &TokenizedCandidates,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let segments = detached(py, || self.prepared.score(&self.tables, &candidates.candidates))?;
        let segments = segments.map_err(|error| raised(py, &error))?;
        let values: Vec<f64> = segments.iter().flat_map(|segment| segment.statistics.0).collect();
        values.into_pyarray(py).reshape([segments.len(), Statistics::LEN])
    }
}

/// Returns the score of each row of statistics.
#[pyfunction]
fn meteor_scores<'py>(
    py: Python<'py>,
    statistics: PyReadonlyArray2<'py, f64>,
    options: &MeteorOptions,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let rows = statistics.as_array();
    if rows.ncols() != Statistics::LEN {
        return Err(internal("the rows are not METEOR statistics"));
    }
    let score = |row: numpy::ndarray::ArrayView1<'_, f64>| {
        let mut numbers = [0.0; Statistics::LEN];
        numbers.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
        meteor::score(&Statistics(numbers), &options.0)
    };
    Ok(rows.rows().into_iter().map(score).collect::<Vec<_>>().into_pyarray(py))
}

type Match = (usize, usize, usize, usize, &'static str, f64);
/// Words of both sides, matches, number of chunks, and precision, recall, F mean, penalty and score.
type Aligned = (Vec<String>, Vec<String>, Vec<Match>, usize, [f64; 5]);

#[pyfunction]
fn meteor_align(
    py: Python<'_>,
    tables: &MeteorTables,
    options: &MeteorOptions,
    candidate: &str,
    reference: &str,
) -> PyResult<Aligned> {
    let aligned = detached(py, || meteor::align(&tables.0, &options.0, candidate, reference))?;
    let aligned = aligned.map_err(|error| raised(py, &error))?;
    let matches = aligned.matches.iter().map(|m| {
        let (start, length) = (m.candidate_start, m.candidate_len);
        (start, length, m.reference_start, m.reference_len, m.stage.name(), m.weight)
    });
    let parts = aligned.parts;
    let parts = [parts.precision, parts.recall, parts.f_mean, parts.penalty, parts.score];
    Ok((aligned.candidate, aligned.reference, matches.collect(), aligned.chunks, parts))
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TooManyMatchesError", module.py().get_type::<TooManyMatchesError>())?;
    module.add_class::<MeteorOptions>()?;
    module.add_class::<MeteorTables>()?;
    module.add_class::<MeteorReferences>()?;
    module.add_function(wrap_pyfunction!(compile_meteor_tables, module)?)?;
    module.add_function(wrap_pyfunction!(meteor_scores, module)?)?;
    module.add_function(wrap_pyfunction!(meteor_align, module)?)
}
