//! Tokenized captions.

use std::sync::Arc;

use capeval_ptb::{Options, Punctuation};
use capeval_tokens::{self as tokens, Tokenization};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use rayon::prelude::*;

use crate::captions::Captions;
use crate::errors::internal;
use crate::threads::detached;

#[pyclass(frozen, module = "capeval._native", get_all, from_py_object)]
#[derive(Clone)]
pub struct TokenizerOptions {
    penn_treebank: bool,
    lowercase: bool,
    punctuation: String,
    alone: bool,
}

#[pymethods]
impl TokenizerOptions {
    #[new]
    #[pyo3(signature = (*, penn_treebank, lowercase, punctuation, alone))]
    fn new(penn_treebank: bool, lowercase: bool, punctuation: String, alone: bool) -> Self {
        Self { penn_treebank, lowercase, punctuation, alone }
    }
}

impl TokenizerOptions {
    fn tokenization(&self) -> PyResult<Tokenization> {
        if !self.penn_treebank {
            return Ok(Tokenization::None);
        }
        let punctuation = match self.punctuation.as_str() {
            "reference" => Punctuation::Reference,
            "paper" => Punctuation::Paper,
            "keep" => Punctuation::Keep,
            other => return Err(internal(other)),
        };
        let options = Options { lowercase: self.lowercase, punctuation };
        Ok(Tokenization::PennTreebank { options, alone: self.alone })
    }
}

#[pyclass(frozen, module = "capeval._native")]
pub struct TokenizedReferences(pub Arc<tokens::References>);

#[pymethods]
impl TokenizedReferences {
    #[new]
    fn new(py: Python<'_>, captions: &Captions, options: &TokenizerOptions) -> PyResult<Self> {
        let tokenization = options.tokenization()?;
        let references = detached(py, || {
            let texts = texts(captions);
            tokens::References::new(&texts, captions.0.image_offsets().to_vec(), tokenization)
        })?;
        Ok(Self(Arc::new(references)))
    }

    fn __len__(&self) -> usize {
        self.0.images()
    }

    /// Returns the number of distinct words in all references.
    fn words(&self) -> usize {
        self.0.tokens().all_words().len()
    }

    /// Returns the references of one image as tokenized texts.
    fn of<'py>(&self, py: Python<'py>, image: usize) -> PyResult<Bound<'py, PyList>> {
        let texts = self.0.of(image).map(|row| self.0.text(row));
        PyList::new(py, texts.collect::<Vec<_>>())
    }
}

#[pyclass(frozen, module = "capeval._native")]
pub struct TokenizedCandidates {
    pub candidates: tokens::Candidates,
    pub references: Arc<tokens::References>,
}

#[pymethods]
impl TokenizedCandidates {
    /// Tokenizes candidates. `images` has the index of each caption's image in the references.
    #[new]
    fn new(
        py: Python<'_>,
        references: &TokenizedReferences,
        captions: &Captions,
        images: PyReadonlyArray1<'_, i64>,
        options: &TokenizerOptions,
    ) -> PyResult<Self> {
        let tokenization = options.tokenization()?;
        let images = images.as_slice()?;
        let known = 0..references.0.images() as i64;
        if images.len() != captions.0.len() || images.iter().any(|image| !known.contains(image)) {
            return Err(internal("images out of range"));
        }
        let references = Arc::clone(&references.0);
        let candidates = detached(py, || {
            let texts = texts(captions);
            let of_each = captions.0.iter().map(|(group, _)| images[group] as u32).collect();
            tokens::Candidates::new(&references, &texts, of_each, tokenization)
        })?;
        Ok(Self { candidates, references })
    }

    fn __len__(&self) -> usize {
        self.candidates.len()
    }

    /// Returns the candidates as tokenized texts.
    fn texts(&self) -> Vec<String> {
        (0..self.candidates.len()).map(|row| self.candidates.text(row)).collect()
    }
}

fn texts(captions: &Captions) -> Vec<&str> {
    let texts = (0..captions.0.caption_count()).into_par_iter().with_min_len(1 << 14);
    texts.map(|caption| captions.0.caption(caption)).collect()
}

/// Returns the tokens of each caption.
#[pyfunction]
fn tokenize(py: Python<'_>, captions: Vec<String>, options: &TokenizerOptions) -> PyResult<Vec<Vec<String>>> {
    let tokenization = options.tokenization()?;
    let captions: Vec<&str> = captions.iter().map(String::as_str).collect();
    detached(py, || tokens::tokenize_all(&captions, tokenization))
}

/// Tokenizes each line of a text, including the line ends.
#[pyfunction]
fn tokenize_lines<'py>(
    py: Python<'py>,
    lines: &str,
    options: &TokenizerOptions,
) -> PyResult<Bound<'py, PyBytes>> {
    let tokenization = options.tokenization()?;
    let text = detached(py, || tokens::tokenize_lines(lines, tokenization))?;
    Ok(PyBytes::new(py, text.as_bytes()))
}

/// Returns what the Stanford tokenizer prints for a file with the option `-preserveLines`.
#[pyfunction]
fn print_tokens(py: Python<'_>, text: &str, lowercase: bool) -> PyResult<String> {
    detached(py, || {
        let mut printed = String::with_capacity(text.len());
        capeval_ptb::Tokenizer::new().print_file(text, lowercase, &mut printed);
        printed
    })
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TokenizerOptions>()?;
    module.add_class::<TokenizedReferences>()?;
    module.add_class::<TokenizedCandidates>()?;
    module.add_function(wrap_pyfunction!(print_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(tokenize, module)?)?;
    module.add_function(wrap_pyfunction!(tokenize_lines, module)?)
}
