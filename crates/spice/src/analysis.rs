//! The pipeline from captions to tuples.

use std::cell::RefCell;
use std::ops::Range;

use capeval_dependencies::processed::{BasicDependency, Graph, Sentence, process};
use capeval_dependencies::{ConversionError, ConverterScratch, Label, Labels, Tree, TreeError};
use capeval_parser::{Parse, ParseError, Parser, Progress};
use capeval_ptb::{Options, Punctuation, Release, Tokenizer};
use rayon::prelude::*;

use crate::{Model, ParsedSentence, ReadError, Tuple, read_tuples, rewrite};

/// Options of the reference's tokenizer before parsing.
const TOKENS: Options = Options { lowercase: false, punctuation: Punctuation::Keep };
/// Maximum number of labels per thread, after which the words among them are removed.
const MOST_LABELS: usize = 100_000;

/// Error of analyzing captions.
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// A sentence has more words than the limit.
    #[error("a sentence of caption {caption} has {words} words, more than {limit}")]
    TooLong {
        /// Index of the caption in the input.
        caption: usize,
        /// Number of words in the sentence.
        words: usize,
        /// Maximum number of words.
        limit: usize,
    },
    /// The model is damaged.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A parse is not a tree of its words.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The rules are not applicable to a tree.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
    /// The results of the stages are inconsistent.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// An edge of a dependency graph: relation, governor and dependent.
///
/// Words are numbered from 1. The second number of a word is the index of its copy. The governor of a root is
/// 0.
pub type NamedEdge = (String, (usize, usize), (usize, usize));

/// The results of all analysis stages of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Stages {
    /// The tokens.
    pub tokens: Vec<String>,
    /// Part-of-speech tag of each token.
    pub tags: Vec<String>,
    /// Lemma of each token.
    pub lemmas: Vec<String>,
    /// The natural logarithm of the tree's probability.
    pub score: f64,
    /// The tree in brackets.
    pub tree: String,
    /// The basic dependencies.
    pub basic: Vec<NamedEdge>,
    /// The processed dependencies: relations are propagated to conjuncts, and prepositions are part of
    /// relation names.
    pub processed: Vec<NamedEdge>,
    /// The processed dependencies after rewriting quantities and pronouns.
    pub rewritten: Vec<NamedEdge>,
}

/// The tokens of captions, split into sentences.
struct Sentences {
    /// The tokens of each caption.
    tokens: Vec<Vec<String>>,
    /// Caption, index in the caption, and token range of each sentence.
    places: Vec<(usize, usize, Range<usize>)>,
}

thread_local! {
    static TOKENIZER: RefCell<Option<Box<Tokenizer>>> = const { RefCell::new(None) };
}

fn tokenize(caption: &str) -> Vec<String> {
    TOKENIZER.with_borrow_mut(|tokenizer| {
        let tokenizer = tokenizer.get_or_insert_with(|| Box::new(Tokenizer::with_release(Release::V3_6_0)));
        let mut tokens = Vec::new();
        tokenizer.tokenize_into(caption, &TOKENS, |token| tokens.push(token.to_owned()));
        tokens
    })
}

impl Sentences {
    fn new(captions: &[&str]) -> Self {
        let tokens: Vec<Vec<String>> =
            captions.par_iter().with_min_len(64).map(|caption| tokenize(caption)).collect();
        let mut places = Vec::with_capacity(captions.len());
        for (caption, words) in tokens.iter().enumerate() {
            let sentences = capeval_ptb::sentences(words).into_iter().enumerate();
            places.extend(sentences.map(|(number, range)| (caption, number, range)));
        }
        Self { tokens, places }
    }

    fn words(&self, sentence: usize) -> &[String] {
        let (caption, _, range) = &self.places[sentence];
        &self.tokens[*caption][range.clone()]
    }
}

impl<B: AsRef<[u8]> + Send + Sync> Model<B> {
    /// Returns the tuples of each caption, in the reference's order and before merging.
    ///
    /// Runs on all threads of the current rayon pool. Sentences may have up to `limit` words. `progress` is
    /// called with the finished fraction of the work.
    ///
    /// # Errors
    /// Returns an [`AnalysisError`] if a sentence is too long (before any is parsed), if the model is
    /// damaged, or if `progress` requests a stop.
    pub fn tuples(
        &self,
        captions: &[&str],
        limit: usize,
        progress: Progress<'_>,
    ) -> Result<Vec<Vec<Tuple>>, AnalysisError> {
        let analyzed = self.each_sentence(captions, limit, progress, |worker, place| worker.tuples(place))?;
        let mut tuples: Vec<Vec<Tuple>> = captions.iter().map(|_| Vec::new()).collect();
        for (caption, found) in analyzed {
            tuples[caption].extend(found);
        }
        Ok(tuples)
    }

    /// Returns all analysis stages of each sentence of each caption.
    ///
    /// # Errors
    /// Returns the errors of [`Model::tuples`].
    pub fn stages(
        &self,
        captions: &[&str],
        limit: usize,
        progress: Progress<'_>,
    ) -> Result<Vec<Vec<Stages>>, AnalysisError> {
        let analyzed = self.each_sentence(captions, limit, progress, |worker, place| worker.stages(place))?;
        let mut stages: Vec<Vec<Stages>> = captions.iter().map(|_| Vec::new()).collect();
        for (caption, sentence) in analyzed {
            stages[caption].push(sentence);
        }
        Ok(stages)
    }

    /// Parses all sentences, then calls a function on each, in order.
    fn each_sentence<T: Send>(
        &self,
        captions: &[&str],
        limit: usize,
        progress: Progress<'_>,
        analyze: impl Fn(&mut Worker<'_, B>, &Parsed<'_>) -> Result<T, AnalysisError> + Sync,
    ) -> Result<Vec<(usize, T)>, AnalysisError> {
        let sentences = Sentences::new(captions);
        for (sentence, (caption, ..)) in sentences.places.iter().enumerate() {
            let words = sentences.words(sentence).len();
            if words > limit {
                return Err(AnalysisError::TooLong { caption: *caption, words, limit });
            }
        }
        let words: Vec<&[String]> =
            (0..sentences.places.len()).map(|sentence| sentences.words(sentence)).collect();
        let parser = Parser::new(&self.grammar).with_limit(limit);
        let parses = parser.parse_all(&words, &|done| progress(done / words.len() as f64))?;
        let all = parses.par_iter().zip(&words).zip(&sentences.places).with_min_len(16);
        let analyzed = all.map_init(
            || Worker::new(self),
            |worker, ((parse, words), (caption, number, _))| {
                if progress(1.0).is_break() {
                    return Err(ParseError::Stopped.into());
                }
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let tags = parse.tags.iter().map(|&tag| self.grammar.labels()[usize::from(tag)].as_str());
                let tags: Vec<&str> = tags.collect();
                let lemmas =
                    words.iter().zip(&tags).map(|(word, tag)| self.lemmatizer.lemma(word, tag)).collect();
                let parsed = Parsed { parse, number: *number, words, tags, lemmas };
                Ok((*caption, analyze(worker, &parsed)?))
            },
        );
        analyzed.collect()
    }
}

/// A parsed sentence.
struct Parsed<'a> {
    parse: &'a Parse,
    /// Its index in the caption.
    number: usize,
    words: Vec<&'a str>,
    tags: Vec<&'a str>,
    lemmas: Vec<String>,
}

/// The working data of one thread.
struct Worker<'a, B> {
    model: &'a Model<B>,
    labels: Labels,
    scratch: ConverterScratch,
    /// Labels of phrases and tags, by grammar label.
    grammar_labels: Vec<Label>,
}

impl<'a, B: AsRef<[u8]>> Worker<'a, B> {
    fn new(model: &'a Model<B>) -> Self {
        let mut labels = model.converter.labels();
        let grammar_labels = model.grammar.labels().iter().map(|label| labels.intern(label)).collect();
        labels.keep();
        Self { model, labels, scratch: ConverterScratch::default(), grammar_labels }
    }

    fn tuples(&mut self, parsed: &Parsed<'_>) -> Result<Vec<Tuple>, AnalysisError> {
        let basic = self.basic(parsed)?;
        let lemmas: Vec<&str> = parsed.lemmas.iter().map(String::as_str).collect();
        let sentence = ParsedSentence { sentence: parsed.sentence(), lemmas: &lemmas };
        Ok(read_tuples(&sentence, &dependencies(&basic), &self.model.lists)?)
    }

    fn stages(&mut self, parsed: &Parsed<'_>) -> Result<Stages, AnalysisError> {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let basic = self.basic(parsed)?;
        let (sentence, lists) = (parsed.sentence(), &self.model.lists);
        let graph = process(&sentence, &dependencies(&basic), &lists.prepositions);
        let mut graph = graph.map_err(ReadError::from)?;
        let processed = edges(&graph);
        rewrite(&mut graph, &sentence, lists);
        let basic = basic.iter().map(|&(relation, governor, dependent)| {
            (relation.to_owned(), (governor as usize, 0), (dependent as usize, 0))
        });
        Ok(Stages {
            tokens: owned(&parsed.words),
            tags: owned(&parsed.tags),
            lemmas: parsed.lemmas.clone(),
            score: parsed.parse.score,
            tree: parsed.parse.to_brackets(self.model.grammar.labels(), &parsed.words),
            basic: basic.collect(),
            processed,
            rewritten: edges(&graph),
        })
    }

    /// Returns relation, governor and dependent of each basic dependency.
    fn basic(&mut self, parsed: &Parsed<'_>) -> Result<Vec<(&'a str, u32, u32)>, AnalysisError> {
        if self.labels.len() > MOST_LABELS {
            self.labels.forget();
            self.scratch.forget();
        }
        let mut tree = self.tree(parsed)?;
        let model = self.model;
        let lemma = |word: &str, tag: &str| model.lemmatizer.lemma(word, tag);
        let number = parsed.number as u32;
        let edges =
            model.converter.convert(&mut tree, &mut self.labels, number, &lemma, &mut self.scratch)?;
        let names = model.converter.relations();
        Ok(edges.iter().map(|edge| (names.name(edge.relation), edge.governor, edge.dependent)).collect())
    }

    fn tree(&mut self, parsed: &Parsed<'_>) -> Result<Tree, TreeError> {
        let labels = &self.grammar_labels;
        let nodes = parsed.parse.nodes.iter();
        let nodes: Vec<(Label, usize)> =
            nodes.map(|node| (labels[usize::from(node.label)], node.size as usize)).collect();
        let words: Vec<Label> = parsed.words.iter().map(|word| self.labels.intern(word)).collect();
        Tree::from_parse(&nodes, &words)
    }
}

impl Parsed<'_> {
    fn sentence(&self) -> Sentence<'_> {
        Sentence { number: self.number, words: &self.words, tags: &self.tags }
    }
}

fn dependencies<'n>(basic: &[(&'n str, u32, u32)]) -> Vec<BasicDependency<'n>> {
    let basic = basic.iter().map(|&(relation, governor, dependent)| {
        let (governor, dependent) = (governor as usize, dependent as usize);
        BasicDependency { relation, governor, dependent }
    });
    basic.collect()
}

/// Lists the roots first, then the edges sorted by dependent, governor and relation.
fn edges(graph: &Graph) -> Vec<NamedEdge> {
    let node = |word| (graph.index(word), graph.copy(word));
    let mut roots: Vec<_> = graph.roots().collect();
    roots.sort_by(|&one, &other| graph.compare(one, other));
    let mut edges: Vec<_> = graph.edges().collect();
    edges.sort_by(|one, other| {
        let dependents = graph.compare(one.dependent, other.dependent);
        let words = dependents.then_with(|| graph.compare(one.governor, other.governor));
        words.then_with(|| graph.name(one.relation).cmp(graph.name(other.relation)))
    });
    let roots = roots.into_iter().map(|root| ("root".to_owned(), (0, 0), node(root)));
    let edges = edges
        .into_iter()
        .map(|edge| (graph.name(edge.relation).to_owned(), node(edge.governor), node(edge.dependent)));
    roots.chain(edges).collect()
}
