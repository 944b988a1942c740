//! SPICE: model, parsed captions and prepared references.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use capeval_classfiles::{Jars, ModelCompileError, compile_model};
use capeval_spice::{
    AnalysisError, Category, Comparison, Concept, GraphTuples, Model, NamedEdge, SceneTuple, Stages, Tuple,
    compare, image_graphs,
};
use memmap2::Mmap;
use numpy::{IntoPyArray, PyArray3, PyArrayMethods, PyReadonlyArray1};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;

use crate::errors::{internal, resource_error};
use crate::mapping::map_file;
use crate::threads::{Watch, detached, interruptible};

create_exception!(
    capeval._native,
    SentenceTooLongError,
    PyValueError,
    "A sentence that is too long to parse. Arguments: caption index and number of tokens."
);

fn analysis_error(py: Python<'_>, error: &AnalysisError) -> PyErr {
    match error {
        AnalysisError::TooLong { caption, words, .. } => SentenceTooLongError::new_err((*caption, *words)),
        _ => resource_error(py, &error.to_string()),
    }
}

fn damaged(py: Python<'_>, error: &impl ToString) -> PyErr {
    resource_error(py, &error.to_string())
}

fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

#[pyclass(frozen, module = "capeval._native")]
struct SpiceModel(Arc<Model<Mmap>>);

#[pymethods]
impl SpiceModel {
    /// Maps a compiled model into memory.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = Model::open(map_file(&path)?).map_err(|error| damaged(py, &error))?;
        Ok(Self(Arc::new(model)))
    }

    /// Reads the whole model and verifies its checksum.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.verify()).map_err(|error| damaged(py, &error))
    }

    /// Returns the fingerprint that identifies the model.
    #[getter]
    fn fingerprint(&self) -> String {
        format!("{:08x}", self.0.fingerprint())
    }

    /// Returns the parse of each text.
    #[pyo3(signature = (texts, longest, progress = None))]
    fn parse<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<String>,
        longest: usize,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let work = |watch: &Watch| self.0.tuples(&borrowed(&texts), longest, &|done| watch.report(done));
        let parsed = interruptible(py, progress, work)?;
        let parsed = parsed.map_err(|error| analysis_error(py, &error))?;
        Ok(parsed.iter().map(|tuples| PyBytes::new(py, &Tuple::pack(tuples))).collect())
    }

    /// Returns all analysis stages of the sentences of each text.
    #[pyo3(signature = (texts, longest, progress = None))]
    fn stages(
        &self,
        py: Python<'_>,
        texts: Vec<String>,
        longest: usize,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Vec<SentenceStages>>> {
        let work = |watch: &Watch| self.0.stages(&borrowed(&texts), longest, &|done| watch.report(done));
        let stages = interruptible(py, progress, work)?;
        let stages = stages.map_err(|error| analysis_error(py, &error))?;
        Ok(stages.into_iter().map(|texts| texts.into_iter().map(SentenceStages::from).collect()).collect())
    }
}

/// The analysis stages of a sentence.
#[pyclass(frozen, module = "capeval._native", get_all)]
struct SentenceStages {
    tokens: Vec<String>,
    tags: Vec<String>,
    lemmas: Vec<String>,
    score: f64,
    tree: String,
    basic: Vec<NamedEdge>,
    processed: Vec<NamedEdge>,
    rewritten: Vec<NamedEdge>,
}

impl From<Stages> for SentenceStages {
    fn from(stages: Stages) -> Self {
        let Stages { tokens, tags, lemmas, score, tree, basic, processed, rewritten } = stages;
        Self { tokens, tags, lemmas, score, tree, basic, processed, rewritten }
    }
}

/// Returns the compiled model as bytes.
#[pyfunction]
#[pyo3(signature = (*, models, corenlp, scene_graph_parser, spice, synsets, exceptions))]
fn compile_spice_model<'py>(
    py: Python<'py>,
    models: PathBuf,
    corenlp: PathBuf,
    scene_graph_parser: PathBuf,
    spice: PathBuf,
    synsets: &[u8],
    exceptions: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let jars = Jars {
        corenlp: std::fs::read(corenlp)?,
        scene_graph_parser: std::fs::read(scene_graph_parser)?,
        spice: std::fs::read(spice)?,
    };
    let models = File::open(models)?;
    let compiled: Result<Vec<u8>, ModelCompileError> =
        py.detach(|| compile_model(jars, models, synsets, exceptions));
    Ok(PyBytes::new(py, &compiled.map_err(|error| damaged(py, &error))?))
}

/// Returns the tuples of a parse, of one to three strings each.
#[pyfunction]
fn spice_tuples(py: Python<'_>, parse: &[u8]) -> PyResult<Vec<Vec<String>>> {
    let tuples = Tuple::unpack(parse).map_err(|error| damaged(py, &error))?;
    Ok(tuples.iter().map(|tuple| tuple.parts().iter().map(|&part| part.to_owned()).collect()).collect())
}

#[pyclass(frozen, module = "capeval._native")]
struct SpiceReferences {
    model: Arc<Model<Mmap>>,
    graphs: Vec<GraphTuples>,
}

/// Objects (name, matched, attributes) and relations (subject, name, object, matched).
type Drawn = (Vec<(String, bool, Vec<(String, bool)>)>, Vec<(usize, String, usize, bool)>);

#[pymethods]
impl SpiceReferences {
    /// Merges the scene graphs of each image's references, given as one list of parses per image.
    #[new]
    fn new(py: Python<'_>, model: &SpiceModel, parses: Vec<Vec<Vec<u8>>>) -> PyResult<Self> {
        let model = Arc::clone(&model.0);
        let mut starts = vec![0];
        starts.extend(parses.iter().scan(0, |end, group| {
            *end += group.len();
            Some(*end)
        }));
        let parses: Vec<Vec<u8>> = parses.into_iter().flatten().collect();
        let graphs =
            detached(py, || graphs(&model, &parses, &starts))?.map_err(|error| damaged(py, &error))?;
        Ok(Self { model, graphs })
    }

    /// Returns the statistics of candidates, one row per candidate in each category.
    fn statistics<'py>(
        &self,
        py: Python<'py>,
        images: PyReadonlyArray1<'py, i64>,
        parses: Vec<Vec<u8>>,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let images = images.as_slice()?;
        let known = |&image: &i64| usize::try_from(image).is_ok_and(|image| image < self.graphs.len());
        if images.len() != parses.len() || !images.iter().all(known) {
            return Err(internal("images and parses differ"));
        }
        let values = detached(py, || {
            let starts: Vec<usize> = (0..=parses.len()).collect();
            let candidates = graphs(&self.model, &parses, &starts)?;
            let pairs = candidates.par_iter().zip(images);
            let rows = pairs.map(|(graph, &image)| compare(graph, &self.graphs[image as usize]).row());
            Ok::<_, String>(rows.flat_map_iter(|row| row).collect::<Vec<f64>>())
        })?;
        let values = values.map_err(|error| damaged(py, &error))?;
        values.into_pyarray(py).reshape([images.len(), Category::LIST.len(), Comparison::COLUMNS])
    }

    /// Returns the scene graphs of a candidate and of its image's references.
    fn compare(&self, py: Python<'_>, image: usize, parse: Vec<u8>) -> PyResult<(Drawn, Drawn)> {
        let references = self.graphs.get(image).ok_or_else(|| internal("no such image"))?;
        let candidates = graphs(&self.model, &[parse], &[0, 1]).map_err(|error| damaged(py, &error))?;
        let candidate = candidates.first().ok_or_else(|| internal("no candidate"))?;
        let Comparison { candidate_matches, reference_matched, .. } = compare(candidate, references);
        let candidate_matched: Vec<bool> = candidate_matches.iter().map(Option::is_some).collect();
        Ok((drawn(candidate, &candidate_matched), drawn(references, &reference_matched)))
    }
}

/// Merges the scene graphs of each group of parses. Returns a message if a parse is damaged.
fn graphs(model: &Model<Mmap>, parses: &[Vec<u8>], starts: &[usize]) -> Result<Vec<GraphTuples>, String> {
    let tuples = parses.par_iter().with_min_len(256).map(|parse| Tuple::unpack(parse));
    let tuples = tuples.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let graphs = image_graphs(&tuples, starts, model.synonyms(), model.lists());
    graphs.map_err(|error| error.to_string())
}

fn drawn(graph: &GraphTuples, matched: &[bool]) -> Drawn {
    let scene = graph.graph();
    let name = |concept: &Concept| concept.words().join("/");
    let is_matched = |wanted: SceneTuple| {
        graph.tuples().iter().zip(matched).any(|(tuple, &matched)| matched && *tuple == wanted)
    };
    let objects = scene.objects().iter().enumerate().map(|(number, object)| {
        let attributes = object.attributes.iter().enumerate();
        let attributes = attributes
            .map(|(place, concept)| (name(concept), is_matched(SceneTuple::Attribute(number, place))));
        (name(&object.concept), is_matched(SceneTuple::Object(number)), attributes.collect())
    });
    let relations = scene.relations().iter().enumerate().map(|(number, relation)| {
        let matched = is_matched(SceneTuple::Relation(number));
        (relation.subject, name(&relation.concept), relation.object, matched)
    });
    (objects.collect(), relations.collect())
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SentenceTooLongError", module.py().get_type::<SentenceTooLongError>())?;
    module.add_class::<SpiceModel>()?;
    module.add_class::<SentenceStages>()?;
    module.add_class::<SpiceReferences>()?;
    module.add_function(wrap_pyfunction!(compile_spice_model, module)?)?;
    module.add_function(wrap_pyfunction!(spice_tuples, module)?)
}
