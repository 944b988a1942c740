//! Compiled word tables: a memory-mapped [table file](capeval_tables) that is read in place.
//!
//! | section | element | meaning |
//! |---|---|---|
//! | `word_ends` | u32 | end of each word in `word_bytes`; word `w` starts where `w - 1` ends |
//! | `word_bytes` | u8 | the words, UTF-8 |
//! | `word_slots` | u32 | open-addressed hash (linear probing) of word number + 1, 0 is free; a power of two of slots, the home slot is the low bits of FNV-1a (64 bits) of the word |
//! | `word_flags` | u8 | function word 1, keeps its period 2, keeps its period before a number 4, has synsets 8, has irregular base forms 16 |
//! | `word_nodes` | u32 | trie node of the phrase that consists of this word, 0 if no phrase starts with it |
//! | `synset_starts` | u32 | two offsets per word and one end: the start of its own synsets, and of the synsets of its irregular base forms |
//! | `synsets` | u32 | synset numbers |
//! | `node_words` | u32 | the last word of each node; bit 31 is set if the phrase is the paraphrase of another |
//! | `node_starts` | u32, u32 | for each node and one end: first child (children are sorted by word) and first paraphrase |
//! | `step_filter` | u32 | a power of two of bits, one set for each step of the trie: the high bits of (node x 2^32 + word) x 0x9e3779b97f4a7c15 modulo 2^64; a clear bit rules out the step |
//! | `paraphrases` | u32 | nodes of the paraphrases of each node's phrase, in the order of the source |
//!
//! A node of the trie is a phrase: the words from the root (node 0) down to it. Nodes are numbered
//! breadth first, so the children of a node are consecutive.

use capeval_tables::{Kind, Section, TableError, TableFile};

use crate::morphology::base_candidates;

pub(crate) const KIND: Kind = Kind { name: "METEOR", version: 2 };
/// The same sections without phrases.
pub(crate) const SYNONYMS: Kind = Kind { name: "SYNONYMS", version: 1 };

pub(crate) const FUNCTION: u8 = 1;
pub(crate) const PREFIX: u8 = 2;
pub(crate) const NUMERIC_PREFIX: u8 = 4;
pub(crate) const HAS_SYNSETS: u8 = 8;
pub(crate) const HAS_BASES: u8 = 16;
pub(crate) const IS_PARAPHRASE: u32 = 1 << 31;

/// FNV-1a. The home slot of a word must be the same in all builds, so no library hash is used.
pub(crate) fn word_hash(word: &[u8]) -> u64 {
    word.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the bit in the step filter for the step from a node by a word: the high bits of a product.
pub(crate) fn step_bit(node: u32, word: u32, bits: usize) -> usize {
    let step = u64::from(node) << 32 | u64::from(word);
    (step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits.trailing_zeros())) as usize
}

/// Synonyms without the other tables of METEOR, over any bytes.
#[derive(Debug)]
pub struct Synonyms<B>(Tables<B>);

impl<B: AsRef<[u8]>> Synonyms<B> {
    /// Opens synonyms written by [`crate::compile_synonyms()`].
    ///
    /// # Errors
    /// Returns a [`TableError`] if the header is not that of complete synonyms of this version.
    pub fn open(bytes: B) -> Result<Self, TableError> {
        Tables::open_kind(bytes, SYNONYMS).map(Self)
    }

    /// Reads the whole file and verifies its checksum.
    ///
    /// # Errors
    /// [`TableError::Checksum`] if the content differs from the compiled tables.
    pub fn verify(&self) -> Result<(), TableError> {
        self.0.verify()
    }

    /// Returns the checksum that identifies these synonyms.
    #[must_use]
    pub fn fingerprint(&self) -> u32 {
        self.0.fingerprint()
    }

    /// Returns the synsets of a word (with `_` for spaces) and of its base forms, sorted and without
    /// duplicates.
    ///
    /// # Errors
    /// Returns a [`TableError`] if the file is damaged.
    pub fn synsets(&self, word: &str) -> Result<Vec<u32>, TableError> {
        let mut synsets = Vec::new();
        self.0.synsets(word, self.0.word(word)?, &mut synsets)?;
        synsets.sort_unstable();
        synsets.dedup();
        Ok(synsets)
    }
}

/// Compiled word tables over any bytes, usually a memory map.
///
/// Opening reads only the header. Every later read is checked against its section, so a damaged file gives a
/// [`TableError`] or wrong words, never a panic. [`Tables::verify`] reads the whole file.
#[derive(Debug)]
pub struct Tables<B> {
    file: TableFile<B>,
    word_ends: Section<u32>,
    word_bytes: Section<u8>,
    word_slots: Section<u32>,
    word_flags: Section<u8>,
    word_nodes: Section<u32>,
    synset_starts: Section<u32>,
    synsets: Section<u32>,
    node_words: Section<u32>,
    node_starts: Section<u32>,
    step_filter: Section<u32>,
    paraphrases: Section<u32>,
}

impl<B: AsRef<[u8]>> Tables<B> {
    /// Opens tables written by [`crate::compile()`].
    ///
    /// # Errors
    /// Returns a [`TableError`] if the header is not that of complete METEOR tables of this version.
    pub fn open(bytes: B) -> Result<Self, TableError> {
        Self::open_kind(bytes, KIND)
    }

    fn open_kind(bytes: B, kind: Kind) -> Result<Self, TableError> {
        let file = TableFile::open(bytes, kind)?;
        let tables = Self {
            word_ends: file.section("word_ends")?,
            word_bytes: file.section("word_bytes")?,
            word_slots: file.section("word_slots")?,
            word_flags: file.section("word_flags")?,
            word_nodes: file.section("word_nodes")?,
            synset_starts: file.section("synset_starts")?,
            synsets: file.section("synsets")?,
            node_words: file.section("node_words")?,
            node_starts: file.section("node_starts")?,
            step_filter: file.section("step_filter")?,
            paraphrases: file.section("paraphrases")?,
            file,
        };
        tables.check_sizes()?;
        Ok(tables)
    }

    fn check_sizes(&self) -> Result<(), TableError> {
        let (words, nodes) = (self.word_ends.len(), self.node_words.len());
        let sizes = [
            (self.word_slots, self.word_slots.len().is_power_of_two()),
            (self.word_nodes, self.word_nodes.len() == words),
            (self.synset_starts, self.synset_starts.len() == 2 * words + 1),
            (self.step_filter, self.step_filter.len().is_power_of_two()),
            (self.node_starts, self.node_starts.len() == 2 * (nodes + 1)),
        ];
        if let Some((section, _)) = sizes.into_iter().find(|&(_, fits)| !fits) {
            return Err(self.file.out_of_bounds(section, section.len()));
        }
        let flags = self.word_flags.len();
        if flags == words { Ok(()) } else { Err(self.file.out_of_bounds(self.word_flags, flags)) }
    }

    /// Reads the whole file and verifies its checksum.
    ///
    /// # Errors
    /// [`TableError::Checksum`] if the content differs from the compiled tables.
    pub fn verify(&self) -> Result<(), TableError> {
        self.file.verify()
    }

    /// Returns the checksum that identifies these tables.
    #[must_use]
    pub fn fingerprint(&self) -> u32 {
        self.file.fingerprint()
    }

    /// Returns the number of a word, if any source contains it.
    pub(crate) fn word(&self, text: &str) -> Result<Option<u32>, TableError> {
        let slots = self.word_slots.len();
        let home = word_hash(text.as_bytes()) as usize;
        for step in 0..slots {
            let slot = home.wrapping_add(step) & (slots - 1);
            let Some(word) = self.file.number(self.word_slots, slot)?.checked_sub(1) else {
                return Ok(None);
            };
            if self.word_bytes(word)? == text.as_bytes() {
                return Ok(Some(word));
            }
        }
        Ok(None)
    }

    fn word_bytes(&self, word: u32) -> Result<&[u8], TableError> {
        let word = word as usize;
        let end = self.file.number(self.word_ends, word)?;
        let start = if word == 0 { 0 } else { self.file.number(self.word_ends, word - 1)? };
        self.file.range(self.word_bytes, start, end)
    }

    fn flags(&self, word: u32) -> Result<u8, TableError> {
        self.file.number(self.word_flags, word as usize)
    }

    /// Returns the flags of a word, or 0 if no source contains it.
    pub(crate) fn flags_of(&self, text: &str) -> Result<u8, TableError> {
        self.word(text)?.map_or(Ok(0), |word| self.flags(word))
    }

    /// Appends the synsets of a word and of its base forms, unsorted, possibly with duplicates.
    pub(crate) fn synsets(
        &self,
        text: &str,
        word: Option<u32>,
        synsets: &mut Vec<u32>,
    ) -> Result<(), TableError> {
        if let Some(word) = word {
            self.extend_synsets(2 * word as usize, synsets)?;
            if self.flags(word)? & HAS_BASES != 0 {
                return self.extend_synsets(2 * word as usize + 1, synsets);
            }
        }
        for base in base_candidates(text) {
            if let Some(base) = self.word(&base)?
                && self.flags(base)? & HAS_SYNSETS != 0
            {
                return self.extend_synsets(2 * base as usize, synsets);
            }
        }
        Ok(())
    }

    fn extend_synsets(&self, entry: usize, synsets: &mut Vec<u32>) -> Result<(), TableError> {
        let start = self.file.number(self.synset_starts, entry)?;
        let end = self.file.number(self.synset_starts, entry + 1)?;
        synsets.extend(self.file.range(self.synsets, start, end)?);
        Ok(())
    }

    /// Returns the trie node of the phrase that consists of one word, or 0 if no phrase starts with it.
    pub(crate) fn first_node(&self, word: u32) -> Result<u32, TableError> {
        self.file.number(self.word_nodes, word as usize)
    }

    /// Returns whether a phrase may be extensible by a word. `false` is certain, `true` is not.
    pub(crate) fn may_step(&self, node: u32, word: u32) -> Result<bool, TableError> {
        let bit = step_bit(node, word, 32 * self.step_filter.len());
        Ok(self.file.number(self.step_filter, bit / 32)? >> (bit % 32) & 1 == 1)
    }

    /// Returns the node of a phrase extended by one word, or 0 if no phrase starts like this.
    pub(crate) fn child(&self, node: u32, word: u32) -> Result<u32, TableError> {
        if !self.may_step(node, word)? {
            return Ok(0);
        }
        let mut low = self.file.number(self.node_starts, 2 * node as usize)?;
        let end = self.file.number(self.node_starts, 2 * node as usize + 2)?;
        let mut high = end;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.file.number(self.node_words, middle as usize)? & !IS_PARAPHRASE < word {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = low < end && self.file.number(self.node_words, low as usize)? & !IS_PARAPHRASE == word;
        Ok(if found { low } else { 0 })
    }

    /// Returns the paraphrases of a node's phrase, in the order of the source.
    pub(crate) fn paraphrases(&self, node: u32) -> Result<impl Iterator<Item = u32> + '_, TableError> {
        let start = self.file.number(self.node_starts, 2 * node as usize + 1)?;
        let end = self.file.number(self.node_starts, 2 * node as usize + 3)?;
        Ok(self.file.range(self.paraphrases, start, end)?.iter().copied())
    }

    /// Returns whether a node is a phrase of the table, and not only the start of longer ones.
    pub(crate) fn is_phrase(&self, node: u32) -> Result<bool, TableError> {
        if self.file.number(self.node_words, node as usize)? & IS_PARAPHRASE != 0 {
            return Ok(true);
        }
        let start = self.file.number(self.node_starts, 2 * node as usize + 1)?;
        Ok(start != self.file.number(self.node_starts, 2 * node as usize + 3)?)
    }
}
