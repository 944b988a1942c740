//! Index of the references' words and phrases, for finding matches.

use capeval_tables::TableError;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::captions::Captions;
use crate::options::{Options, Stage};
use crate::tables::Tables;

/// A unit of the references that a unit of the candidates can match.
type Link = (u32, LinkKind);

/// The way in which two units match.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkKind {
    /// Twice the position of the stage, plus 1 if the candidate's phrase has the reference's phrase in its
    /// list of paraphrases, instead of the reverse.
    pub order: u8,
    /// Position of the paraphrase in its list.
    pub rank: u32,
}

/// The units that a unit of the candidates can match.
///
/// Units and kinds are separate arrays, because most units belong to references of other images and are only
/// compared.
pub(crate) struct Links {
    pub units: Box<[u32]>,
    pub kinds: Box<[LinkKind]>,
}

/// The units of the references by their match keys.
pub(crate) struct Index {
    keys: Vec<(i32, u32)>,
    stems: Vec<(i32, u32)>,
    synsets: Vec<(u32, u32)>,
    nodes: FxHashMap<u32, u32>,
    /// Paraphrase node, the unit that lists it, and its position in that list.
    paraphrases: Vec<(u32, (u32, u32))>,
}

impl Index {
    pub(crate) fn new<B: AsRef<[u8]> + Sync>(
        tables: &Tables<B>,
        options: &Options,
        captions: &Captions,
    ) -> Result<Self, TableError> {
        let vocabulary = || (0..).zip(&captions.vocabulary);
        let mut index = Self {
            keys: vocabulary().map(|(unit, word)| (word.key, unit)).collect(),
            stems: vocabulary().map(|(unit, word)| (word.stem, unit)).collect(),
            synsets: vocabulary()
                .flat_map(|(unit, word)| word.synsets.iter().map(move |&set| (set, unit)))
                .collect(),
            nodes: FxHashMap::default(),
            paraphrases: Vec::new(),
        };
        if options.places()[Stage::Paraphrase.index()].is_some() {
            let units = (0..captions.units() as u32).map(|unit| (captions.node(unit), unit));
            index.nodes = units.filter(|&(node, _)| node != 0).collect();
            let nodes: Vec<_> = index.nodes.iter().map(|(&node, &unit)| (node, unit)).collect();
            let lists = nodes.par_iter().with_min_len(256).map(|&(node, unit)| {
                let list = (0..).zip(tables.paraphrases(node)?);
                Ok(list.map(|(rank, paraphrase)| (paraphrase, (unit, rank))).collect())
            });
            index.paraphrases = lists.collect::<Result<Vec<Vec<_>>, TableError>>()?.concat();
        }
        index.keys.par_sort_unstable();
        index.stems.par_sort_unstable();
        index.synsets.par_sort_unstable();
        index.paraphrases.par_sort_unstable();
        Ok(index)
    }

    /// Returns the possible matches of each unit of the candidates.
    pub(crate) fn links<B: AsRef<[u8]> + Sync>(
        &self,
        tables: &Tables<B>,
        options: &Options,
        candidates: &Captions,
        references: &Captions,
    ) -> Result<Vec<Links>, TableError> {
        let units = (0..candidates.units() as u32).into_par_iter().with_min_len(64);
        units.map(|unit| self.links_of(tables, options, candidates, references, unit)).collect()
    }

    fn links_of<B: AsRef<[u8]>>(
        &self,
        tables: &Tables<B>,
        options: &Options,
        candidates: &Captions,
        references: &Captions,
        unit: u32,
    ) -> Result<Links, TableError> {
        let mut links = Vec::new();
        for (place, weighted) in (0..).zip(&options.stages) {
            let order = 2 * place;
            if weighted.stage == Stage::Paraphrase {
                self.link_paraphrases(tables, candidates.node(unit), order, &mut links)?;
                continue;
            }
            let Some(word) = candidates.vocabulary.get(unit as usize) else {
                continue;
            };
            let start = links.len();
            let units: &mut dyn Iterator<Item = u32> = match weighted.stage {
                Stage::Exact => &mut entries(&self.keys, word.key),
                Stage::Stem => &mut entries(&self.stems, word.stem),
                _ => &mut word.synsets.iter().flat_map(|&synset| entries(&self.synsets, synset)),
            };
            let differs = |unit: &u32| {
                weighted.stage == Stage::Exact || references.vocabulary[*unit as usize].key != word.key
            };
            links.extend(units.filter(differs).map(|unit| (unit, LinkKind { order, rank: 0 })));
            // Two words may share several synsets, but match once.
            links[start..].sort_unstable();
            links.dedup();
        }
        let (units, kinds): (Vec<_>, Vec<_>) = links.into_iter().unzip();
        Ok(Links { units: units.into(), kinds: kinds.into() })
    }

    fn link_paraphrases<B: AsRef<[u8]>>(
        &self,
        tables: &Tables<B>,
        node: u32,
        order: u8,
        links: &mut Vec<Link>,
    ) -> Result<(), TableError> {
        if node == 0 {
            return Ok(());
        }
        links.extend(entries(&self.paraphrases, node).map(|(unit, rank)| (unit, LinkKind { order, rank })));
        for (rank, paraphrase) in (0..).zip(tables.paraphrases(node)?) {
            if let Some(&unit) = self.nodes.get(&paraphrase) {
                links.push((unit, LinkKind { order: order + 1, rank }));
            }
        }
        Ok(())
    }
}

/// Returns the values of a key in a sorted list of pairs.
fn entries<K: Ord + Copy, V: Copy>(pairs: &[(K, V)], key: K) -> impl Iterator<Item = V> + '_ {
    let start = pairs.partition_point(|&(found, _)| found < key);
    pairs[start..].iter().take_while(move |&&(found, _)| found == key).map(|&(_, value)| value)
}
