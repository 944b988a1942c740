//! From captions to tuples: every stage, one after the other.

use std::cell::RefCell;
use std::ops::Range;

use capeval_dependencies::processed::{BasicDependency, Graph, Sentence, process};
use capeval_dependencies::{ConversionError, ConverterScratch, Label, Labels, Tree, TreeError};
use capeval_parser::{Parse, ParseError, Parser, Progress};
use capeval_ptb::{Options, Punctuation, Release, Tokenizer};
use rayon::prelude::*;

use crate::{Model, ParsedSentence, ReadError, Tuple, read_tuples, rewrite};

/// What the reference's tokenizer does before it parses.
const TOKENS: Options = Options { lowercase: false, punctuation: Punctuation::Keep };
/// Labels that a thread keeps before it forgets the words among them.
const MOST_LABELS: usize = 100_000;

/// Why captions can't be analyzed.
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// A sentence has more words than the limit.
    #[error("a sentence of caption {caption} has {words} words, more than {limit}")]
    TooLong {
        /// The caption's place in the input.
        caption: usize,
        /// How many words the sentence has.
        words: usize,
        /// How many it may have.
        limit: usize,
    },
    /// The model is damaged.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A parse is no tree of its words.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The rules don't fit a tree.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
    /// The stages don't fit each other.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// An edge of a dependency graph: relation, governor and dependent. Words are numbered from 1; the
/// second number counts copies of a word; the governor of a root is 0.
pub type NamedEdge = (String, (usize, usize), (usize, usize));

/// All that is known of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Stages {
    /// The tokens.
    pub tokens: Vec<String>,
    /// Their part-of-speech tags.
    pub tags: Vec<String>,
    /// Their lemmas.
    pub lemmas: Vec<String>,
    /// The natural logarithm of the tree's probability.
    pub score: f64,
    /// The tree in brackets.
    pub tree: String,
    /// The basic dependencies.
    pub basic: Vec<NamedEdge>,
    /// The dependencies in which conjuncts share relations and prepositions are named.
    pub processed: Vec<NamedEdge>,
    /// The same after quantities and pronouns were rewritten.
    pub rewritten: Vec<NamedEdge>,
}

/// The tokens of captions, and which of them make a sentence.
struct Sentences {
    /// The tokens of each caption.
    tokens: Vec<Vec<String>>,
    /// Caption, place in the caption, and the range of its tokens, for each sentence.
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
    /// The tuples of each caption, in the reference's order and before anything is merged, made on
    /// all threads of the current rayon pool. Sentences may have up to `limit` words.
    ///
    /// # Errors
    /// An [`AnalysisError`] if a sentence is too long, before any is parsed, the model is damaged, or
    /// `progress` asks to stop.
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

    /// All stages of each sentence of each caption.
    ///
    /// # Errors
    /// As [`Model::tuples`].
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

    /// Parses all sentences, then does something with each, in order.
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
        let parses = parser.parse_all(&words, progress)?;
        let all = parses.par_iter().zip(&words).zip(&sentences.places).with_min_len(16);
        let analyzed = all.map_init(
            || Worker::new(self),
            |worker, ((parse, words), (caption, number, _))| {
                if progress(parses.len()).is_break() {
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

/// A sentence that was parsed.
struct Parsed<'a> {
    parse: &'a Parse,
    /// Its place in the caption.
    number: usize,
    words: Vec<&'a str>,
    tags: Vec<&'a str>,
    lemmas: Vec<String>,
}

/// What one thread needs.
struct Worker<'a, B> {
    model: &'a Model<B>,
    labels: Labels,
    scratch: ConverterScratch,
    /// The labels of phrases and tags, by the grammar's numbers.
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

    /// Relation, governor and dependent of each basic dependency.
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

/// Roots first, then edges by dependent, governor and relation.
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
