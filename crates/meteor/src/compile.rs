//! Compiles METEOR's text sources into one table file. [`crate::tables`] describes its format.

use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;

use capeval_tables::{Contents, Kind, write};
use capeval_tokens::Vocabulary;
use flate2::bufread::MultiGzDecoder;
use rustc_hash::FxHashMap;

use crate::error::{CompileError, Source};
use crate::tables::{
    FUNCTION, HAS_BASES, HAS_SYNSETS, IS_PARAPHRASE, KIND, NUMERIC_PREFIX, PREFIX, SYNONYMS, step_bit,
    word_hash,
};

/// The texts that METEOR 1.5 reads for English, as buffered readers.
pub struct Sources<'a> {
    /// `synonym/english.synsets` of the METEOR jar.
    pub synsets: &'a mut dyn BufRead,
    /// `synonym/english.exceptions` of the METEOR jar.
    pub exceptions: &'a mut dyn BufRead,
    /// `function/english.words` of the METEOR jar.
    pub function_words: &'a mut dyn BufRead,
    /// `nonbreaking/english.prefixes` of the METEOR jar.
    pub prefixes: &'a mut dyn BufRead,
    /// `paraphrase-en.gz`, compressed or not.
    pub paraphrases: &'a mut dyn BufRead,
}

/// Progress callback with the number of paraphrase pairs read. It can stop the compilation.
pub type Progress<'a> = &'a mut dyn FnMut(u64) -> ControlFlow<()>;

/// Compiles the sources. `progress` is called repeatedly with the number of paraphrase pairs read.
///
/// For METEOR's own sources, this takes about as long as decompressing the paraphrases, and about 400 MB of
/// memory.
///
/// # Errors
/// Returns a [`CompileError`] with the source and the invalid line.
pub fn compile(sources: Sources<'_>, progress: Progress<'_>) -> Result<Vec<u8>, CompileError> {
    let mut lexicon = Lexicon::default();
    let phrases = Phrases::read(sources.paraphrases, &mut lexicon, progress)?;
    lexicon.read_synsets(sources.synsets)?;
    lexicon.read_exceptions(sources.exceptions)?;
    lexicon.read_function_words(sources.function_words)?;
    lexicon.read_prefixes(sources.prefixes)?;
    if lexicon.words.len() >= IS_PARAPHRASE as usize {
        return Err(CompileError::TooLarge("words"));
    }
    let trie = phrases.into_trie(lexicon.words.len());
    Ok(lexicon.into_file(KIND, &trie))
}

/// Compiles only the synonyms, for [`crate::Synonyms`].
///
/// The sources are `synonym/english.synsets` and `synonym/english.exceptions` of the METEOR jar.
///
/// # Errors
/// Returns a [`CompileError`] with the source and the invalid line.
pub fn compile_synonyms(
    synsets: &mut dyn BufRead,
    exceptions: &mut dyn BufRead,
) -> Result<Vec<u8>, CompileError> {
    let mut lexicon = Lexicon::default();
    lexicon.read_synsets(synsets)?;
    lexicon.read_exceptions(exceptions)?;
    let no_phrases = Phrases { children: FxHashMap::default(), pairs: Vec::new() };
    let trie = no_phrases.into_trie(lexicon.words.len());
    Ok(lexicon.into_file(SYNONYMS, &trie))
}

/// Numbered lines of a source.
struct Lines<R> {
    source: Source,
    reader: R,
    line: u64,
    text: String,
}

impl<R: BufRead> Lines<R> {
    fn new(source: Source, reader: R) -> Self {
        Self { source, reader, line: 0, text: String::new() }
    }

    /// Returns the next line without its line end, or `None` after the last line.
    fn next(&mut self) -> Result<Option<&str>, CompileError> {
        self.text.clear();
        self.line += 1;
        let (origin, line) = (self.source, self.line);
        let read = self.reader.read_line(&mut self.text);
        if read.map_err(|error| CompileError::Read { origin, line, error })? == 0 {
            return Ok(None);
        }
        let text = self.text.strip_suffix('\n').unwrap_or(&self.text);
        Ok(Some(text.strip_suffix('\r').unwrap_or(text)))
    }

    /// Returns the next line. The end of the file is an error.
    fn expect(&mut self, expected: &'static str) -> Result<&str, CompileError> {
        let (origin, line) = (self.source, self.line + 1);
        let end = || CompileError::Line { origin, line, expected, found: "the end of the file".into() };
        self.next()?.ok_or_else(end)
    }

    fn wrong(&self, expected: &'static str, found: &str) -> CompileError {
        CompileError::Line { origin: self.source, line: self.line, expected, found: found.into() }
    }
}

/// The words of all sources, with the data of the four small sources.
#[derive(Default)]
struct Lexicon {
    words: Vocabulary,
    flags: FxHashMap<u32, u8>,
    synsets: FxHashMap<u32, Vec<u32>>,
    base_synsets: FxHashMap<u32, Vec<u32>>,
}

impl Lexicon {
    fn mark(&mut self, word: &str, flag: u8) -> u32 {
        let word = self.words.intern(word);
        *self.flags.entry(word).or_default() |= flag;
        word
    }

    fn read_synsets(&mut self, reader: &mut dyn BufRead) -> Result<(), CompileError> {
        let mut lines = Lines::new(Source::Synsets, reader);
        while let Some(text) = lines.next()? {
            let word = self.mark(text, HAS_SYNSETS);
            let numbers = lines.expect("the synset numbers of the word above")?;
            let parse = |number: &str| number.parse().map_err(|_| number.to_owned());
            let parsed: Result<Vec<u32>, String> = numbers.split_ascii_whitespace().map(parse).collect();
            let synsets = parsed.map_err(|found| lines.wrong("synset numbers", &found))?;
            self.synsets.insert(word, synsets);
        }
        if self.synsets.is_empty() { Err(CompileError::Empty(Source::Synsets)) } else { Ok(()) }
    }

    /// Resolves irregular forms to the synsets of their base forms. The synsets must be read first.
    fn read_exceptions(&mut self, reader: &mut dyn BufRead) -> Result<(), CompileError> {
        let mut lines = Lines::new(Source::Exceptions, reader);
        while let Some(text) = lines.next()? {
            let base = self.words.id(text).and_then(|word| self.synsets.get(&word));
            let base = base.cloned().unwrap_or_default();
            let forms = lines.expect("the irregular forms of the word above")?;
            for form in forms.split_ascii_whitespace() {
                let form = self.mark(form, HAS_BASES);
                self.base_synsets.entry(form).or_default().extend(&base);
            }
        }
        if self.base_synsets.is_empty() { Err(CompileError::Empty(Source::Exceptions)) } else { Ok(()) }
    }

    fn read_function_words(&mut self, reader: &mut dyn BufRead) -> Result<(), CompileError> {
        let mut lines = Lines::new(Source::FunctionWords, reader);
        while let Some(text) = lines.next()? {
            self.mark(text, FUNCTION);
        }
        if lines.line == 1 { Err(CompileError::Empty(Source::FunctionWords)) } else { Ok(()) }
    }

    /// A later line about the same word replaces an earlier one.
    fn read_prefixes(&mut self, reader: &mut dyn BufRead) -> Result<(), CompileError> {
        let mut lines = Lines::new(Source::Prefixes, reader);
        let mut found = false;
        while let Some(text) = lines.next()? {
            let mut parts = text.split_ascii_whitespace();
            let Some(prefix) = parts.next().filter(|prefix| !prefix.starts_with('#')) else {
                continue;
            };
            let flag = if parts.next() == Some("#NUMERIC_ONLY#") { NUMERIC_PREFIX } else { PREFIX };
            let word = self.words.intern(prefix);
            let flags = self.flags.entry(word).or_default();
            *flags = *flags & !(PREFIX | NUMERIC_PREFIX) | flag;
            found = true;
        }
        if found { Ok(()) } else { Err(CompileError::Empty(Source::Prefixes)) }
    }

    fn into_file(self, kind: Kind, trie: &Trie) -> Vec<u8> {
        let count = self.words.len() as u32;
        let (mut ends, mut bytes, mut flags) = (Vec::new(), Vec::new(), Vec::new());
        let (mut synset_starts, mut synsets) = (vec![0], Vec::new());
        for word in 0..count {
            bytes.extend_from_slice(self.words.word(word).as_bytes());
            ends.push(bytes.len() as u32);
            flags.push(self.flags.get(&word).copied().unwrap_or_default());
            for source in [&self.synsets, &self.base_synsets] {
                let mut own = source.get(&word).cloned().unwrap_or_default();
                own.sort_unstable();
                own.dedup();
                synsets.extend(own);
                synset_starts.push(synsets.len() as u32);
            }
        }
        let slots = hash_slots(&self.words);
        let sections = [
            Contents::of("word_ends", &ends),
            Contents::of("word_bytes", &bytes),
            Contents::of("word_slots", &slots),
            Contents::of("word_flags", &flags),
            Contents::of("word_nodes", &trie.word_nodes),
            Contents::of("synset_starts", &synset_starts),
            Contents::of("synsets", &synsets),
            Contents::of("node_words", &trie.node_words),
            Contents::of("node_starts", &trie.node_starts),
            Contents::of("step_filter", &trie.step_filter),
            Contents::of("paraphrases", &trie.paraphrases),
        ];
        write(kind, &sections)
    }
}

/// Builds an open-addressing hash table with a load factor of at most one half.
fn hash_slots(words: &Vocabulary) -> Vec<u32> {
    let mut slots = vec![0; (2 * words.len()).next_power_of_two().max(2)];
    let mask = slots.len() - 1;
    for word in 0..words.len() as u32 {
        let mut slot = word_hash(words.word(word).as_bytes()) as usize & mask;
        while slots[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        slots[slot] = word + 1;
    }
    slots
}

/// The paraphrases as read: a trie in order of appearance, and pairs of its nodes.
struct Phrases {
    children: FxHashMap<(u32, u32), u32>,
    pairs: Vec<(u32, u32)>,
}

impl Phrases {
    fn read(
        reader: &mut dyn BufRead,
        lexicon: &mut Lexicon,
        progress: Progress<'_>,
    ) -> Result<Self, CompileError> {
        let read = |error| CompileError::Read { origin: Source::Paraphrases, line: 1, error };
        let compressed = reader.fill_buf().map_err(read)?.starts_with(&[0x1f, 0x8b]);
        let plain: Box<dyn Read + '_> =
            if compressed { Box::new(MultiGzDecoder::new(reader)) } else { Box::new(reader) };
        let mut lines = Lines::new(Source::Paraphrases, BufReader::with_capacity(1 << 20, plain));
        let mut phrases = Self { children: FxHashMap::default(), pairs: Vec::new() };
        while lines.next()?.is_some() {
            let phrase = phrases.read_phrase(&mut lines, lexicon)?;
            let paraphrase = phrases.read_phrase(&mut lines, lexicon)?;
            phrases.pairs.push((phrase, paraphrase));
            if phrases.pairs.len().is_multiple_of(1 << 16) {
                phrases.tell(progress)?;
            }
        }
        if phrases.pairs.is_empty() {
            return Err(CompileError::Empty(Source::Paraphrases));
        }
        if phrases.children.len().max(phrases.pairs.len()) >= IS_PARAPHRASE as usize {
            return Err(CompileError::TooLarge("phrases"));
        }
        phrases.tell(progress)?;
        Ok(phrases)
    }

    fn tell(&self, progress: Progress<'_>) -> Result<(), CompileError> {
        match progress(self.pairs.len() as u64) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CompileError::Stopped),
        }
    }

    fn read_phrase<R: BufRead>(
        &mut self,
        lines: &mut Lines<R>,
        lexicon: &mut Lexicon,
    ) -> Result<u32, CompileError> {
        let text = lines.expect("a phrase")?;
        let mut node = 0;
        for word in text.split_ascii_whitespace() {
            let next = self.children.len() as u32 + 1;
            node = *self.children.entry((node, lexicon.words.intern(word))).or_insert(next);
        }
        if node == 0 {
            return Err(lines.wrong("a phrase of at least one word", ""));
        }
        Ok(node)
    }

    /// Renumbers the nodes breadth first and groups the pairs by their first phrase.
    fn into_trie(self, words: usize) -> Trie {
        let mut edges: Vec<(u32, u32, u32)> =
            self.children.into_iter().map(|((parent, word), node)| (parent, word, node)).collect();
        edges.sort_unstable();
        let nodes = edges.len() + 1;
        let mut first_edge = vec![0_u32; nodes + 1];
        for &(parent, ..) in &edges {
            first_edge[parent as usize + 1] += 1;
        }
        prefix_sums(&mut first_edge);
        let mut order = vec![0_u32];
        let mut renumbered = vec![0_u32; nodes];
        let mut trie = Trie { word_nodes: vec![0; words], node_words: vec![0], ..Trie::default() };
        let mut starts = Vec::with_capacity(nodes + 1);
        for position in 0..nodes {
            starts.push(order.len() as u32);
            let old = order[position] as usize;
            for &(_, word, node) in &edges[first_edge[old] as usize..first_edge[old + 1] as usize] {
                renumbered[node as usize] = order.len() as u32;
                order.push(node);
                trie.node_words.push(word);
            }
        }
        starts.push(nodes as u32);
        for node in 1..starts[1] {
            trie.word_nodes[trie.node_words[node as usize] as usize] = node;
        }
        trie.step_filter = step_filter(&trie.node_words, &starts);
        trie.add_paraphrases(&self.pairs, &renumbered, &starts);
        trie
    }
}

/// Builds the filter of trie steps, with 8 to 16 bits per step.
fn step_filter(node_words: &[u32], starts: &[u32]) -> Vec<u32> {
    let mut filter = vec![0; (node_words.len() / 4).next_power_of_two()];
    let bits = 32 * filter.len();
    for (node, children) in (0..).zip(starts.windows(2)) {
        for child in children[0]..children[1] {
            let bit = step_bit(node, node_words[child as usize], bits);
            filter[bit / 32] |= 1 << (bit % 32);
        }
    }
    filter
}

fn prefix_sums(counts: &mut [u32]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

/// The sections of the trie.
#[derive(Default)]
struct Trie {
    word_nodes: Vec<u32>,
    node_words: Vec<u32>,
    node_starts: Vec<u32>,
    step_filter: Vec<u32>,
    paraphrases: Vec<u32>,
}

impl Trie {
    fn add_paraphrases(&mut self, pairs: &[(u32, u32)], renumbered: &[u32], children: &[u32]) {
        let mut starts = vec![0_u32; children.len()];
        for &(phrase, _) in pairs {
            starts[renumbered[phrase as usize] as usize + 1] += 1;
        }
        prefix_sums(&mut starts);
        self.node_starts = children.iter().zip(&starts).flat_map(|(&child, &start)| [child, start]).collect();
        self.paraphrases = vec![0; pairs.len()];
        for &(phrase, paraphrase) in pairs {
            let target = renumbered[paraphrase as usize];
            let next = &mut starts[renumbered[phrase as usize] as usize];
            self.paraphrases[*next as usize] = target;
            self.node_words[target as usize] |= IS_PARAPHRASE;
            *next += 1;
        }
    }
}
