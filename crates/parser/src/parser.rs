//! Parsing of many sentences.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use capeval_tables::TableError;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::batch::{BatchChart, SentenceOfBatch};
use crate::budget::{Budget, Share};
use crate::compile::BOUNDARY;
use crate::error::ParseError;
use crate::extract::{Extracted, extract};
use crate::lanes::LANES;
use crate::lexicon::{TagScore, WordClass};
use crate::model::Model;
use crate::sentence::SentenceChart;
use crate::tree::{Node, Parse};

/// Default limit on the number of words in a sentence.
///
/// Twice the length needs four times the memory and eight times the time.
pub const DEFAULT_LIMIT: usize = 400;

/// Minimum length of sentences that are parsed by several threads.
const SHORTEST_OF_THREADS: usize = 120;
/// Charts of a thread up to this size are kept after any batch.
const ALWAYS_KEPT: usize = 64 << 20;
/// Number of words whose scores each thread caches.
const MOST_WORDS_KEPT: usize = 4096;
/// Score of impossible tags in a sentence without a parse with likely tags.
const IMPOSSIBLE: f32 = -1000.0;
/// CoreNLP reports the remainder of a tree's score, because the rest stands for unknown words.
const SCORE_MODULUS: f64 = -10000.0;

/// Number of steps in which the progress of a sentence is counted.
const STEPS: f64 = 1000.0;

/// Progress callback with the number of parsed sentences, including fractions of those in progress.
///
/// It is called often, by any thread, and can stop the parsing.
pub type Progress<'a> = &'a (dyn Fn(f64) -> ControlFlow<()> + Sync);

/// A parser with a model.
#[derive(Debug)]
pub struct Parser<'a, B> {
    model: &'a Model<B>,
    limit: usize,
}

/// Sentences of the same length that are parsed in parallel lanes, as indices into the input.
type Batch = Vec<usize>;

impl<'a, B: AsRef<[u8]> + Sync> Parser<'a, B> {
    /// Creates a parser of sentences of up to [`DEFAULT_LIMIT`] words.
    #[must_use]
    pub fn new(model: &'a Model<B>) -> Self {
        Self { model, limit: DEFAULT_LIMIT }
    }

    /// Sets the limit on words per sentence. Memory grows with its square, time with its cube.
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Parses tokenized sentences on all threads of the current rayon pool.
    ///
    /// # Errors
    /// Returns a [`ParseError`] for the first sentence that is empty or too long, before any is parsed.
    pub fn parse_all<S, T>(&self, sentences: &[S], progress: Progress<'_>) -> Result<Vec<Parse>, ParseError>
    where
        S: AsRef<[T]> + Sync,
        T: AsRef<str>,
    {
        for (sentence, words) in sentences.iter().enumerate() {
            self.check_length(sentence, words.as_ref().len())?;
        }
        let words: Vec<Vec<&str>> =
            sentences.iter().map(|words| words.as_ref().iter().map(AsRef::as_ref).collect()).collect();
        let batches = self.batches(&words)?;
        let run = Run {
            model: self.model,
            sentences: &words,
            workers: Mutex::new(Vec::new()),
            progress,
            done: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        };
        let parsed = batches.par_iter().with_max_len(1).map(|batch| run.parse(batch));
        let mut parsed: Vec<_> = parsed.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        parsed.sort_unstable_by_key(|&(sentence, _)| sentence);
        Ok(parsed.into_iter().map(|(_, parse)| parse).collect())
    }

    fn check_length(&self, sentence: usize, found: usize) -> Result<(), ParseError> {
        match found {
            0 => Err(ParseError::Empty { sentence }),
            _ if found > self.limit => Err(ParseError::TooLong { sentence, limit: self.limit, found }),
            _ => Ok(()),
        }
    }

    /// Groups sentences of the same length into batches.
    ///
    /// Sentences with words of the same classes are together, because their charts are similar. The longest
    /// come first, so that no thread finishes late.
    fn batches(&self, sentences: &[Vec<&str>]) -> Result<Vec<Batch>, ParseError> {
        let mut classes: FxHashMap<&str, WordClass> = FxHashMap::default();
        for &word in sentences.iter().flatten() {
            if !classes.contains_key(word) {
                classes.insert(word, self.model.lexicon.class(&self.model.file, word)?);
            }
        }
        let key = |&sentence: &usize| -> (usize, Vec<WordClass>) {
            let words = &sentences[sentence];
            (usize::MAX - words.len(), words.iter().map(|word| classes[word]).collect())
        };
        let mut order: Vec<usize> = (0..sentences.len()).collect();
        order.sort_by_cached_key(key);
        let same_length = order.chunk_by(|&one, &two| sentences[one].len() == sentences[two].len());
        let batches = same_length.flat_map(|group| {
            let length = sentences[group[0]].len();
            group.chunks(LANES).flat_map(move |batch| {
                let size = if is_faster_as_batch(batch.len(), length) { LANES } else { 1 };
                batch.chunks(size).map(<[usize]>::to_vec)
            })
        });
        Ok(batches.collect())
    }
}

/// Returns whether a batch of sentences of `length` words is parsed faster together than one by one.
///
/// The chart of a batch takes the same time for any number of sentences. The longer the sentences, the more of
/// them must share it: 7 of 10 words, 16 of 24 words.
fn is_faster_as_batch(sentences: usize, length: usize) -> bool {
    3 * sentences >= 2 * length
}

/// State shared by all threads of one call.
struct Run<'a, B> {
    model: &'a Model<B>,
    sentences: &'a [Vec<&'a str>],
    /// Idle workers, at most one per thread. rayon has no thread-local state with the lifetime of a call.
    workers: Mutex<Vec<Worker<'a, B>>>,
    progress: Progress<'a>,
    /// Steps of all sentences.
    done: AtomicUsize,
    stopped: AtomicBool,
}

impl<'a, B: AsRef<[u8]> + Sync> Run<'a, B> {
    fn parse(&self, batch: &Batch) -> Result<Vec<(usize, Parse)>, ParseError> {
        let counted = Cell::new(0);
        let check = |done: f64| {
            let more = (batch.len() * (done * STEPS) as usize).saturating_sub(counted.get());
            counted.set(counted.get() + more);
            self.check(more)
        };
        check(0.0)?;
        let sentences: Vec<&[&str]> = batch.iter().map(|&sentence| &self.sentences[sentence][..]).collect();
        let idle = self.workers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut worker = idle.unwrap_or_else(|| Worker::new(self.model));
        let parses = worker.parse(&sentences, &check)?;
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        check(1.0)?;
        Ok(batch.iter().copied().zip(parses).collect())
    }

    /// Reports more steps, and returns an error if parsing must stop.
    fn check(&self, more: usize) -> Result<(), ParseError> {
        let done = self.done.fetch_add(more, Ordering::Relaxed) + more;
        if self.stopped.load(Ordering::Relaxed) || (self.progress)(done as f64 / STEPS).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
            return Err(ParseError::Stopped);
        }
        Ok(())
    }
}

/// The scores of each word of a sentence, including the boundary.
type SentenceTags = Vec<Arc<[TagScore]>>;

type Words = FxHashMap<(String, bool), Arc<[TagScore]>>;

/// Check called while a chart is filled, with the finished fraction of its time, to stop early.
type Check<'a> = &'a dyn Fn(f64) -> Result<(), ParseError>;

/// The charts and cached word scores of one thread.
struct Worker<'a, B> {
    model: &'a Model<B>,
    batch: Option<BatchChart<'a>>,
    sentence: Option<SentenceChart<'a>>,
    share: Share<'static>,
    words: Words,
}

impl<'a, B: AsRef<[u8]>> Worker<'a, B> {
    fn new(model: &'a Model<B>) -> Self {
        Self {
            model,
            batch: None,
            sentence: None,
            share: Share::new(Budget::of_process()),
            words: Words::default(),
        }
    }

    /// Parses up to one batch of sentences of the same length.
    fn parse(&mut self, sentences: &[&[&str]], check: Check<'_>) -> Result<Vec<Parse>, ParseError> {
        let tags = self.tag_scores(sentences)?;
        self.share.begin();
        let (trees, used) = match &tags[..] {
            [tags] => (vec![self.tree(tags, check)?], self.sentence.as_ref().map_or(0, SentenceChart::used)),
            _ => (self.trees(&tags, check)?, self.batch.as_ref().map_or(0, BatchChart::used)),
        };
        let mut parses = Vec::with_capacity(trees.len());
        for (tree, words) in trees.into_iter().zip(sentences) {
            let tree = match tree {
                Some(tree) => Some(tree),
                None => self.recover(words, check)?,
            };
            parses.push(self.finish(tree, words.len()));
        }
        self.share.end();
        self.trim(used);
        Ok(parses)
    }

    /// Parses a sentence again with every tag for every word, after it had no parse.
    fn recover(&mut self, words: &[&str], check: Check<'_>) -> Result<Option<Extracted>, ParseError> {
        let (lexicon, file) = (&self.model.lexicon, &self.model.file);
        let mut tags = SentenceTags::new();
        for (place, word) in words.iter().enumerate() {
            let scores = match *word {
                BOUNDARY => lexicon.tag_scores(file, word, place == 0)?,
                _ => lexicon.all_tag_scores(file, word, place == 0, IMPOSSIBLE)?,
            };
            tags.push(scores.into());
        }
        tags.push(self.word(BOUNDARY, false)?);
        self.tree(&tags, check)
    }

    fn finish(&self, tree: Option<Extracted>, words: usize) -> Parse {
        if let Some(Extracted { score, nodes, tags }) = tree {
            return Parse { score: score % SCORE_MODULUS, nodes, tags };
        }
        let [phrase, tag] = self.model.no_parse;
        let mut nodes = vec![Node { label: phrase, size: words as u32 + 1 }];
        nodes.resize(words + 1, Node { label: tag, size: 1 });
        Parse { score: f64::NAN, nodes, tags: vec![tag; words] }
    }

    fn tag_scores(&mut self, sentences: &[&[&str]]) -> Result<Vec<SentenceTags>, TableError> {
        let mut all = Vec::with_capacity(sentences.len());
        for words in sentences {
            let mut tags = Vec::with_capacity(words.len() + 1);
            for (place, word) in words.iter().enumerate() {
                tags.push(self.word(word, place == 0)?);
            }
            tags.push(self.word(BOUNDARY, false)?);
            all.push(tags);
        }
        Ok(all)
    }

    fn word(&mut self, word: &str, first: bool) -> Result<Arc<[TagScore]>, TableError> {
        let key = (word.to_owned(), first);
        if let Some(scores) = self.words.get(&key) {
            return Ok(Arc::clone(scores));
        }
        if self.words.len() >= MOST_WORDS_KEPT {
            self.words.clear();
        }
        let scores: Arc<[TagScore]> = self.model.lexicon.tag_scores(&self.model.file, word, first)?.into();
        self.words.insert(key, Arc::clone(&scores));
        Ok(scores)
    }

    /// Returns the best tree of a sentence, if it has one.
    fn tree(&mut self, tags: &SentenceTags, check: Check<'_>) -> Result<Option<Extracted>, ParseError> {
        let add_tags = |place: usize, add: &mut dyn FnMut(u16, f32)| {
            tags[place].iter().for_each(|&(state, score)| add(state, score));
        };
        let chart = self.sentence.get_or_insert_with(|| SentenceChart::new(&self.model.layout));
        let is_long = tags.len() > SHORTEST_OF_THREADS;
        let (lengths, mut finished) = ((tags.len() - 1) as f64, 0.0);
        chart.fill(tags.len(), add_tags, |bytes| {
            self.share.take(bytes);
            // A length takes time for each of its spans and splits.
            let part: f64 = finished / lengths;
            check(part * part * (3.0 - 2.0 * part))?;
            finished += 1.0;
            // The threads that have no other sentence.
            Ok::<_, ParseError>(if is_long {
                (rayon::current_num_threads() / self.share.running()).max(1)
            } else {
                1
            })
        })?;
        Ok(extract(chart))
    }

    /// Returns the best tree of each sentence of a batch.
    fn trees(
        &mut self,
        tags: &[SentenceTags],
        check: Check<'_>,
    ) -> Result<Vec<Option<Extracted>>, ParseError> {
        let add_tags = |place: usize, add: &mut dyn FnMut(usize, u16, f32)| {
            for (lane, words) in tags.iter().enumerate() {
                words[place].iter().for_each(|&(state, score)| add(lane, state, score));
            }
        };
        let chart = self.batch.get_or_insert_with(|| BatchChart::new(&self.model.layout));
        let (columns, mut finished) = ((tags[0].len() - 1) as f64, 0.0);
        chart.fill(tags[0].len(), add_tags, |bytes| {
            self.share.take(bytes);
            // A column takes time for each of its starts and splits.
            let part: f64 = finished / columns;
            finished += 1.0;
            check(part * part * part)
        })?;
        let chart = &chart.finished();
        Ok((0..tags.len()).map(|lane| extract(&SentenceOfBatch { chart, lane })).collect())
    }

    /// Frees the charts if a batch used less than half of their memory, or if another is waiting for memory.
    ///
    /// The batches of a call become shorter, so the next one will not need more.
    fn trim(&mut self, used: usize) {
        let is_large = self.share.bytes() > ALWAYS_KEPT && used < self.share.bytes() / 2;
        if is_large || self.share.is_wanted() {
            self.batch = None;
            self.sentence = None;
            self.share.release();
        }
    }
}
