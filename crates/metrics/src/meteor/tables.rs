//! The compiled word tables: a flat file that is mapped into memory and read in place.
//!
//! # Format, version 1
//!
//! All numbers are little-endian. The header has 32 + 16 x 11 bytes:
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | 8 bytes | `CEMETEOR` |
//! | 8 | u32 | version |
//! | 12 | u32 | CRC-32 of all bytes after the header (the table's fingerprint) |
//! | 16 | u64 | length of the file in bytes |
//! | 24 | u32 | number of sections (11) |
//! | 28 | u32 | CRC-32 of bytes 0..28 and of the section list |
//! | 32 | 11 x (u64, u64) | offset and length in bytes of each section |
//!
//! | section | element | meaning |
//! |---|---|---|
//! | `word_ends` | u32 | end of each word in `word_bytes`; word `w` starts where `w - 1` ends |
//! | `word_bytes` | u8 | the words, UTF-8 |
//! | `word_slots` | u32 | open-addressed hash (linear probing) of word number + 1, 0 is free; a power of two of slots, the home slot is the low bits of FNV-1a (64 bits) of the word |
//! | `word_flags` | u8 | function word 1, keeps its dot 2, keeps its dot before a number 4, has synsets 8, has irregular base forms 16 |
//! | `word_nodes` | u32 | trie node of the phrase that is this word alone, 0 if no phrase starts with it |
//! | `synset_starts` | u32 | twice a word and one end: where its own synsets start, where those of its irregular base forms start |
//! | `synsets` | u32 | synset numbers |
//! | `node_words` | u32 | the last word of each node; bit 31 is set if the phrase is the paraphrase of another |
//! | `node_starts` | u32, u32 | for each node and one end: first child (children are sorted by word), first paraphrase |
//! | `step_filter` | u32 | a power of two of bits, one set for each step of the trie, see `step_bit`; a clear bit means that there is no such step |
//! | `paraphrases` | u32 | nodes of the paraphrases of each node's phrase, in the order of the source |
//!
//! A node of the trie is a phrase: the words from the root (node 0) down to it. Nodes are numbered
//! breadth first, so the children of a node are consecutive.

use super::error::TableError;
use super::morphology::base_candidates;

pub(super) const MAGIC: [u8; 8] = *b"CEMETEOR";
/// Version of the table format that this build writes and reads.
pub const FORMAT_VERSION: u32 = 1;
pub(super) const SECTIONS: usize = 11;
pub(super) const FIXED_HEADER: usize = 32;
pub(super) const HEADER: usize = FIXED_HEADER + 16 * SECTIONS;

pub(super) const FUNCTION: u8 = 1;
pub(super) const PREFIX: u8 = 2;
pub(super) const NUMERIC_PREFIX: u8 = 4;
pub(super) const HAS_SYNSETS: u8 = 8;
pub(super) const HAS_BASES: u8 = 16;
pub(super) const IS_PARAPHRASE: u32 = 1 << 31;

/// The sections in file order.
#[derive(Clone, Copy)]
pub(super) enum Section {
    WordEnds,
    WordBytes,
    WordSlots,
    WordFlags,
    WordNodes,
    SynsetStarts,
    Synsets,
    NodeWords,
    NodeStarts,
    StepFilter,
    Paraphrases,
}

const NAMES: [&str; SECTIONS] = [
    "word_ends",
    "word_bytes",
    "word_slots",
    "word_flags",
    "word_nodes",
    "synset_starts",
    "synsets",
    "node_words",
    "node_starts",
    "step_filter",
    "paraphrases",
];

/// FNV-1a: the home slot of a word must stay the same across builds, so no library hash.
pub(super) fn word_hash(word: &[u8]) -> u64 {
    word.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The bit of the step filter for the step from a node by a word: the high bits of a product.
pub(super) fn step_bit(node: u32, word: u32, bits: usize) -> usize {
    let step = u64::from(node) << 32 | u64::from(word);
    (step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits.trailing_zeros())) as usize
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let end = offset.checked_add(4)?;
    Some(u32::from_le_bytes(bytes.get(offset..end)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let end = offset.checked_add(8)?;
    Some(u64::from_le_bytes(bytes.get(offset..end)?.try_into().ok()?))
}

/// Compiled word tables over any bytes, usually a memory map.
///
/// Opening reads the header only. Every later read is checked against its section, so a damaged
/// file gives a [`TableError`] or wrong words, never a panic; [`Tables::verify`] reads all of it.
#[derive(Debug)]
pub struct Tables<B> {
    bytes: B,
    sections: [(usize, usize); SECTIONS],
    fingerprint: u32,
}

impl<B: AsRef<[u8]>> Tables<B> {
    /// Open tables that [`super::compile`] made.
    ///
    /// # Errors
    /// A [`TableError`] if the header is not that of a complete table of this version.
    pub fn open(bytes: B) -> Result<Self, TableError> {
        let all = bytes.as_ref();
        if all.get(..8) != Some(&MAGIC) {
            return Err(TableError::NotATable);
        }
        let short = TableError::Length { expected: HEADER as u64, found: all.len() as u64 };
        let header = all.get(..HEADER).ok_or(short)?;
        let number = |offset| u32_at(header, offset).unwrap_or_default();
        if number(8) != FORMAT_VERSION {
            return Err(TableError::Version { expected: FORMAT_VERSION, found: number(8) });
        }
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&header[..28]);
        checksum.update(&header[FIXED_HEADER..]);
        let found = checksum.finalize();
        if found != number(28) {
            return Err(TableError::Checksum { part: "header", expected: number(28), found });
        }
        let length = u64_at(header, 16).unwrap_or_default();
        if length != all.len() as u64 {
            return Err(TableError::Length { expected: length, found: all.len() as u64 });
        }
        let sections = read_sections(header, all.len())?;
        let fingerprint = number(12);
        let tables = Self { bytes, sections, fingerprint };
        tables.check_sizes()?;
        Ok(tables)
    }

    fn check_sizes(&self) -> Result<(), TableError> {
        let (words, nodes) = (self.words(), self.nodes());
        let slots = self.count(Section::WordSlots);
        let sizes = [
            (Section::WordSlots, slots.is_power_of_two()),
            (Section::WordFlags, self.section(Section::WordFlags).len() == words),
            (Section::WordNodes, self.count(Section::WordNodes) == words),
            (Section::SynsetStarts, self.count(Section::SynsetStarts) == 2 * words + 1),
            (Section::StepFilter, self.count(Section::StepFilter).is_power_of_two()),
            (Section::NodeStarts, self.count(Section::NodeStarts) == 2 * (nodes + 1)),
        ];
        match sizes.into_iter().find(|&(_, fits)| !fits) {
            Some((section, _)) => Err(damaged(section, 0)),
            None => Ok(()),
        }
    }

    /// Read the whole file and compare its checksum.
    ///
    /// # Errors
    /// [`TableError::Checksum`] if a byte differs from what was compiled.
    pub fn verify(&self) -> Result<(), TableError> {
        let body = self.bytes.as_ref().get(HEADER..).unwrap_or_default();
        let found = crc32fast::hash(body);
        if found == self.fingerprint {
            return Ok(());
        }
        Err(TableError::Checksum { part: "body", expected: self.fingerprint, found })
    }

    /// The checksum that tells these tables from others.
    #[must_use]
    pub fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// Number of distinct words in all sources.
    #[must_use]
    pub fn words(&self) -> usize {
        self.count(Section::WordEnds)
    }

    /// Number of trie nodes, the root included.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.count(Section::NodeWords)
    }

    /// Number of pairs of phrase and paraphrase.
    #[must_use]
    pub fn paraphrase_pairs(&self) -> usize {
        self.count(Section::Paraphrases)
    }

    fn section(&self, section: Section) -> &[u8] {
        let (start, end) = self.sections[section as usize];
        self.bytes.as_ref().get(start..end).unwrap_or_default()
    }

    fn count(&self, section: Section) -> usize {
        self.section(section).len() / 4
    }

    fn number(&self, section: Section, entry: usize) -> Result<u32, TableError> {
        let offset = entry.checked_mul(4);
        offset.and_then(|offset| u32_at(self.section(section), offset)).ok_or_else(|| damaged(section, entry))
    }

    /// The numbers from entry `start` up to `end` of a section.
    fn numbers(
        &self,
        section: Section,
        start: u32,
        end: u32,
    ) -> Result<impl Iterator<Item = u32> + '_, TableError> {
        let range = (start as usize).checked_mul(4).zip((end as usize).checked_mul(4));
        let bytes = range.and_then(|(start, end)| self.section(section).get(start..end));
        let bytes = bytes.ok_or_else(|| damaged(section, end as usize))?;
        Ok(bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])))
    }

    /// The number of a word, if any source holds it.
    pub(super) fn word(&self, text: &str) -> Result<Option<u32>, TableError> {
        let slots = self.count(Section::WordSlots);
        let home = word_hash(text.as_bytes()) as usize;
        for step in 0..slots {
            let slot = home.wrapping_add(step) & (slots - 1);
            let Some(word) = self.number(Section::WordSlots, slot)?.checked_sub(1) else {
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
        let end = self.number(Section::WordEnds, word)? as usize;
        let start = if word == 0 { 0 } else { self.number(Section::WordEnds, word - 1)? as usize };
        self.section(Section::WordBytes).get(start..end).ok_or_else(|| damaged(Section::WordBytes, end))
    }

    fn flags(&self, word: u32) -> Result<u8, TableError> {
        let flags = self.section(Section::WordFlags).get(word as usize);
        flags.copied().ok_or_else(|| damaged(Section::WordFlags, word as usize))
    }

    /// The flags of a word, 0 for one that no source holds.
    pub(super) fn flags_of(&self, text: &str) -> Result<u8, TableError> {
        self.word(text)?.map_or(Ok(0), |word| self.flags(word))
    }

    /// Append the synsets of a word and of its base forms, unsorted, possibly repeated.
    pub(super) fn synsets(
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
        let start = self.number(Section::SynsetStarts, entry)?;
        let end = self.number(Section::SynsetStarts, entry + 1)?;
        synsets.extend(self.numbers(Section::Synsets, start, end)?);
        Ok(())
    }

    /// The trie node of the phrase that is one word, 0 if no phrase starts with it.
    pub(super) fn first_node(&self, word: u32) -> Result<u32, TableError> {
        self.number(Section::WordNodes, word as usize)
    }

    /// The node of a phrase extended by one word, 0 if no phrase starts like this.
    pub(super) fn child(&self, node: u32, word: u32) -> Result<u32, TableError> {
        let bit = step_bit(node, word, 32 * self.count(Section::StepFilter));
        if self.number(Section::StepFilter, bit / 32)? >> (bit % 32) & 1 == 0 {
            return Ok(0);
        }
        let mut low = self.number(Section::NodeStarts, 2 * node as usize)?;
        let end = self.number(Section::NodeStarts, 2 * node as usize + 2)?;
        let mut high = end;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.number(Section::NodeWords, middle as usize)? & !IS_PARAPHRASE < word {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = low < end && self.number(Section::NodeWords, low as usize)? & !IS_PARAPHRASE == word;
        Ok(if found { low } else { 0 })
    }

    /// The paraphrases of a node's phrase in the order of their source.
    pub(super) fn paraphrases(&self, node: u32) -> Result<impl Iterator<Item = u32> + '_, TableError> {
        let start = self.number(Section::NodeStarts, 2 * node as usize + 1)?;
        let end = self.number(Section::NodeStarts, 2 * node as usize + 3)?;
        self.numbers(Section::Paraphrases, start, end)
    }

    /// Whether a node is a phrase of the table, not only the start of longer ones.
    pub(super) fn is_phrase(&self, node: u32) -> Result<bool, TableError> {
        if self.number(Section::NodeWords, node as usize)? & IS_PARAPHRASE != 0 {
            return Ok(true);
        }
        let start = self.number(Section::NodeStarts, 2 * node as usize + 1)?;
        Ok(start != self.number(Section::NodeStarts, 2 * node as usize + 3)?)
    }
}

fn read_sections(header: &[u8], length: usize) -> Result<[(usize, usize); SECTIONS], TableError> {
    let mut sections = [(0, 0); SECTIONS];
    for (entry, section) in sections.iter_mut().enumerate() {
        let offset = u64_at(header, FIXED_HEADER + 16 * entry).unwrap_or(u64::MAX);
        let size = u64_at(header, FIXED_HEADER + 16 * entry + 8).unwrap_or(u64::MAX);
        let start = usize::try_from(offset).ok();
        let end = offset.checked_add(size).and_then(|end| usize::try_from(end).ok());
        *section = start
            .zip(end)
            .filter(|&(start, end)| start >= HEADER && end <= length)
            .ok_or(TableError::Damaged { section: NAMES[entry], entry: 0 })?;
    }
    Ok(sections)
}

fn damaged(section: Section, entry: usize) -> TableError {
    TableError::Damaged { section: NAMES[section as usize], entry }
}
