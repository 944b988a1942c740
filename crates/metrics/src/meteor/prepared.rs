//! References prepared for scoring, and the scoring itself.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::captions::{Captions, Occurrence};
use super::error::{MeteorError, TableError};
use super::options::{Options, Stage};
use super::score::{Statistics, score};
use super::search::{Match, Search, count_chunks};
use super::tables::Tables;

/// Possible matches of a candidate with one reference at most: 2048 times the same word on both sides.
pub(super) const MAX_MATCHES: usize = 1 << 22;
/// What the distances of these matches may sum to: METEOR adds them up in 32 bits, with a sign.
pub(super) const MAX_DISTANCE: u64 = i32::MAX as u64;

/// Images that one task scores at a time.
const IMAGES: usize = 256;

/// The result for one image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Statistics against the best reference.
    pub statistics: Statistics,
    /// Score against the best reference, 0 to 1.
    pub score: f64,
    /// The best reference of the image; of equally good ones, the first.
    pub reference: usize,
}

/// References of a set of images with all that depends on them alone.
pub struct PreparedReferences {
    options: Options,
    captions: Captions,
    /// The captions of each image.
    images: Vec<Range<usize>>,
    /// Which reference of its image a caption comes from.
    origins: Vec<usize>,
    index: Index,
    table: u32,
}

impl PreparedReferences {
    /// Prepare the references of each image. Captions are tokens joined by spaces; "|||" splits a
    /// reference into two, as it does on METEOR's standard input.
    ///
    /// # Errors
    /// [`MeteorError`] for an option out of range, an image without references, damaged tables.
    pub fn new<B, R, S>(tables: &Tables<B>, options: &Options, references: &[R]) -> Result<Self, MeteorError>
    where
        B: AsRef<[u8]> + Sync,
        R: AsRef<[S]>,
        S: AsRef<str>,
    {
        options.validate()?;
        let (mut texts, mut origins) = (Vec::new(), Vec::new());
        let mut images = Vec::with_capacity(references.len());
        for (image, references) in references.iter().enumerate() {
            let start = texts.len();
            for (origin, reference) in references.as_ref().iter().enumerate() {
                texts.extend(reference.as_ref().split("|||").map(trim));
                origins.resize(texts.len(), origin);
            }
            if start == texts.len() {
                return Err(MeteorError::NoReferences { image });
            }
            images.push(start..texts.len());
        }
        let captions = Captions::read(tables, options.normalise, &texts)?;
        let index = Index::new(tables, options, &captions)?;
        Ok(Self { options: options.clone(), captions, images, origins, index, table: tables.fingerprint() })
    }

    /// Number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.images.len()
    }

    /// Whether there are no images.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// The options the references were prepared with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Score one candidate for each image, in the order of the images.
    ///
    /// # Errors
    /// [`MeteorError`] if the number of candidates or the tables do not fit, or these are damaged.
    pub fn score_all<B, S>(&self, tables: &Tables<B>, candidates: &[S]) -> Result<Vec<Segment>, MeteorError>
    where
        B: AsRef<[u8]> + Sync,
        S: AsRef<str> + Sync,
    {
        if candidates.len() != self.len() {
            return Err(MeteorError::CandidateCount { expected: self.len(), found: candidates.len() });
        }
        self.score_images(tables, &(0..self.len()).collect::<Vec<_>>(), candidates)
    }

    /// Score candidates for some images; `images[i]` is the position of the image of candidate `i`.
    /// An image may come more than once or not at all.
    ///
    /// # Errors
    /// [`MeteorError`] if an image or the tables are unknown, the tables are damaged, or a candidate and
    /// a reference have too many possible matches.
    pub fn score_images<B, S>(
        &self,
        tables: &Tables<B>,
        images: &[usize],
        candidates: &[S],
    ) -> Result<Vec<Segment>, MeteorError>
    where
        B: AsRef<[u8]> + Sync,
        S: AsRef<str> + Sync,
    {
        self.check(tables, images, candidates.len())?;
        let cleaned: Vec<Cow<'_, str>> =
            candidates.par_iter().map(|candidate| clean(candidate.as_ref())).collect();
        let candidates = Captions::read(tables, self.options.normalise, &cleaned)?;
        let links = self.index.links(tables, &self.options, &candidates, &self.captions)?;
        let scorer = Scorer { prepared: self, candidates: &candidates, links: &links };
        let segments = images.par_chunks(IMAGES).enumerate().flat_map_iter(|(chunk, images)| {
            let mut scratch = Scratch::new(self.captions.units());
            let segments = images.iter().enumerate();
            let segments =
                segments.map(|(at, &image)| scorer.segment(chunk * IMAGES + at, image, &mut scratch));
            segments.collect::<Vec<_>>()
        });
        segments.collect()
    }

    /// Align one candidate with the only reference of the only image.
    pub(super) fn align<B: AsRef<[u8]> + Sync>(
        &self,
        tables: &Tables<B>,
        candidate: &str,
    ) -> Result<(Captions, Vec<Match>), MeteorError> {
        let candidates = Captions::read(tables, self.options.normalise, &[clean(candidate)])?;
        let links = self.index.links(tables, &self.options, &candidates, &self.captions)?;
        let scorer = Scorer { prepared: self, candidates: &candidates, links: &links };
        let mut scratch = Scratch::new(self.captions.units());
        scorer.find_links(0, self.images[0].clone(), &mut scratch);
        scorer.align(0, 0, self.images[0].start, &mut scratch)?;
        Ok((candidates, scratch.chosen))
    }

    pub(super) fn captions(&self) -> &Captions {
        &self.captions
    }

    fn check<B: AsRef<[u8]>>(
        &self,
        tables: &Tables<B>,
        images: &[usize],
        candidates: usize,
    ) -> Result<(), MeteorError> {
        if tables.fingerprint() != self.table {
            return Err(MeteorError::OtherTables { prepared: self.table, given: tables.fingerprint() });
        }
        if images.len() != candidates {
            return Err(MeteorError::CandidateCount { expected: images.len(), found: candidates });
        }
        match images.iter().enumerate().find(|&(_, &image)| image >= self.len()) {
            Some((candidate, &image)) => {
                Err(MeteorError::UnknownImage { candidate, image, images: self.len() })
            }
            None => Ok(()),
        }
    }
}

/// Strip what Java's `String.trim` strips: spaces and control characters.
fn trim(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

/// A candidate as pycocoevalcap passes it on: no "|||", then double spaces single (once).
fn clean(candidate: &str) -> Cow<'_, str> {
    if candidate.contains("|||") || candidate.contains("  ") {
        Cow::Owned(trim(&candidate.replace("|||", "").replace("  ", " ")).to_owned())
    } else {
        Cow::Borrowed(trim(candidate))
    }
}

/// A unit of the references that a unit of the candidates can match.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Link {
    unit: u32,
    /// Twice the place of the stage, plus one if the reference's phrase is the paraphrase (and the
    /// candidate's phrase the one it is listed under).
    order: u8,
    /// Position of the paraphrase in its list.
    rank: u32,
}

/// The units of the references by what can match them.
struct Index {
    keys: Vec<(i32, u32)>,
    stems: Vec<(i32, u32)>,
    synsets: Vec<(u32, u32)>,
    nodes: FxHashMap<u32, u32>,
    /// Paraphrase node, the unit under which it is listed, position in its list.
    paraphrases: Vec<(u32, (u32, u32))>,
}

impl Index {
    fn new<B: AsRef<[u8]> + Sync>(
        tables: &Tables<B>,
        options: &Options,
        captions: &Captions,
    ) -> Result<Self, MeteorError> {
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

    /// What each unit of the candidates can match.
    fn links<B: AsRef<[u8]> + Sync>(
        &self,
        tables: &Tables<B>,
        options: &Options,
        candidates: &Captions,
        references: &Captions,
    ) -> Result<Vec<Box<[Link]>>, TableError> {
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
    ) -> Result<Box<[Link]>, TableError> {
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
            links.extend(units.filter(differs).map(|unit| Link { unit, order, rank: 0 }));
            // Two words may share several synsets, but match once.
            links[start..].sort_unstable();
            links.dedup();
        }
        Ok(links.into_boxed_slice())
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
        links.extend(entries(&self.paraphrases, node).map(|(unit, rank)| Link { unit, order, rank }));
        for (rank, paraphrase) in (0..).zip(tables.paraphrases(node)?) {
            if let Some(&unit) = self.nodes.get(&paraphrase) {
                links.push(Link { unit, order: order + 1, rank });
            }
        }
        Ok(())
    }
}

/// The values of a key in a sorted list of pairs.
fn entries<K: Ord + Copy, V: Copy>(pairs: &[(K, V)], key: K) -> impl Iterator<Item = V> + '_ {
    let start = pairs.partition_point(|&(found, _)| found < key);
    pairs[start..].iter().take_while(move |&&(found, _)| found == key).map(|&(_, value)| value)
}

const NONE: u32 = u32::MAX;

/// A link between an occurrence in the candidate and a unit of the image's references.
struct Found {
    before: u32,
    occurrence: Occurrence,
    order: u8,
    rank: u32,
}

/// Where a match stands in the order in which METEOR finds matches.
type FindingOrder = (u32, u8, u32, u32, u32);

/// Reusable memory of one task.
struct Scratch {
    /// For each unit of the references: 0, or one more than its position in `heads`.
    slots: Vec<u32>,
    /// One bit for each unit, set if its slot is: most links lead to units of other images, and
    /// the bits stay in the fastest cache.
    present: Vec<u64>,
    /// Last link found to each unit of the image at hand.
    heads: Vec<u32>,
    found: Vec<Found>,
    ordered: Vec<(FindingOrder, Match)>,
    matches: Vec<Match>,
    chosen: Vec<Match>,
    search: Search,
}

impl Scratch {
    fn new(units: usize) -> Self {
        Self {
            slots: vec![0; units],
            present: vec![0; units.div_ceil(64)],
            heads: Vec::new(),
            found: Vec::new(),
            ordered: Vec::new(),
            matches: Vec::new(),
            chosen: Vec::new(),
            search: Search::default(),
        }
    }
}

struct Scorer<'a> {
    prepared: &'a PreparedReferences,
    candidates: &'a Captions,
    links: &'a [Box<[Link]>],
}

impl Scorer<'_> {
    /// Score a candidate against each reference of an image; the first of the best counts.
    fn segment(&self, candidate: usize, image: usize, scratch: &mut Scratch) -> Result<Segment, MeteorError> {
        let captions = self.prepared.images[image].clone();
        self.find_links(candidate, captions.clone(), scratch);
        let best = self.best(candidate, image, scratch);
        for caption in captions {
            for occurrence in self.prepared.captions.occurrences(caption) {
                scratch.slots[occurrence.unit as usize] = 0;
                scratch.present[occurrence.unit as usize / 64] = 0;
            }
        }
        best
    }

    fn best(&self, candidate: usize, image: usize, scratch: &mut Scratch) -> Result<Segment, MeteorError> {
        let mut best = Segment { statistics: Statistics::default(), score: -1.0, reference: 0 };
        // An upper bound of the score from the words that can match at all spares the search of a
        // quarter of the references, but costs as much to compute as it saves.
        for caption in self.prepared.images[image].clone() {
            self.align(candidate, image, caption, scratch)?;
            let statistics = self.statistics(candidate, caption, &scratch.chosen);
            let score = score(&statistics, &self.prepared.options);
            if score > best.score {
                best = Segment { statistics, score, reference: self.prepared.origins[caption] };
            }
        }
        Ok(best)
    }

    /// Everything in the candidate that can match a unit of the captions, found once for all.
    fn find_links(&self, candidate: usize, captions: Range<usize>, scratch: &mut Scratch) {
        scratch.heads.clear();
        scratch.found.clear();
        for occurrence in captions.flat_map(|caption| self.prepared.captions.occurrences(caption)) {
            let slot = &mut scratch.slots[occurrence.unit as usize];
            if *slot == 0 {
                scratch.heads.push(NONE);
                *slot = scratch.heads.len() as u32;
                scratch.present[occurrence.unit as usize / 64] |= 1 << (occurrence.unit % 64);
            }
        }
        for &occurrence in self.candidates.occurrences(candidate) {
            for link in &self.links[occurrence.unit as usize] {
                if scratch.present[link.unit as usize / 64] >> (link.unit % 64) & 1 == 1 {
                    let head = &mut scratch.heads[scratch.slots[link.unit as usize] as usize - 1];
                    scratch.found.push(Found {
                        before: *head,
                        occurrence,
                        order: link.order,
                        rank: link.rank,
                    });
                    *head = scratch.found.len() as u32 - 1;
                }
            }
        }
    }

    /// The best alignment of the candidate with a caption, into `scratch.chosen`.
    fn align(
        &self,
        candidate: usize,
        image: usize,
        caption: usize,
        scratch: &mut Scratch,
    ) -> Result<(), MeteorError> {
        let (candidate_keys, reference_keys) =
            (self.candidates.keys(candidate), self.prepared.captions.keys(caption));
        // METEOR uses its first stage alone for identical sentences.
        let orders = if candidate_keys == reference_keys { 2 } else { u8::MAX };
        if !self.find_matches(caption, orders, scratch) {
            let reference = self.prepared.origins[caption];
            return Err(MeteorError::TooManyMatches { candidate, image, reference });
        }
        let (candidate_len, reference_len) = (candidate_keys.len(), reference_keys.len());
        let beam_size = self.prepared.options.beam_size;
        scratch.search.run(candidate_len, reference_len, beam_size, &scratch.matches, &mut scratch.chosen);
        Ok(())
    }

    /// The possible matches of the links with a caption, in METEOR's order, into `scratch.matches`; false
    /// if they are too many.
    fn find_matches(&self, caption: usize, orders: u8, scratch: &mut Scratch) -> bool {
        scratch.matches.clear();
        let mut distance = 0;
        let same_start = |one: &Occurrence, other: &Occurrence| one.start == other.start;
        // A reference word at a time: the matches of long captions would take much memory to sort.
        for occurrences in self.prepared.captions.occurrences(caption).chunk_by(same_start) {
            scratch.ordered.clear();
            for &occurrence in occurrences {
                let mut next = scratch.heads[scratch.slots[occurrence.unit as usize] as usize - 1];
                while let Some(found) = scratch.found.get(next as usize) {
                    next = found.before;
                    if found.order < orders {
                        scratch.ordered.push(self.ordered_match(occurrence, found));
                    }
                }
            }
            scratch.ordered.sort_unstable_by_key(|&(order, _)| order);
            scratch.matches.extend(scratch.ordered.iter().map(|&(_, found)| found));
            distance += scratch.ordered.iter().map(|(_, found)| u64::from(found.distance())).sum::<u64>();
            if scratch.matches.len() > MAX_MATCHES || distance > MAX_DISTANCE {
                return false;
            }
        }
        true
    }

    fn ordered_match(&self, reference: Occurrence, found: &Found) -> (FindingOrder, Match) {
        let candidate = found.occurrence;
        let order = if found.order.is_multiple_of(2) {
            (reference.start, found.order, reference.len, found.rank, candidate.start)
        } else {
            (reference.start, found.order, candidate.start, candidate.len, found.rank)
        };
        let stage = self.prepared.options.stages[usize::from(found.order / 2)].stage;
        let found = Match {
            reference: reference.start,
            reference_len: reference.len,
            candidate: candidate.start,
            candidate_len: candidate.len,
            stage: stage as u8,
        };
        (order, found)
    }

    fn statistics(&self, candidate: usize, caption: usize, chosen: &[Match]) -> Statistics {
        statistics(
            self.candidates,
            candidate,
            &self.prepared.captions,
            caption,
            chosen,
            &self.prepared.options,
        )
    }
}

/// Count the statistics of an alignment.
pub(super) fn statistics(
    candidates: &Captions,
    candidate: usize,
    references: &Captions,
    reference: usize,
    chosen: &[Match],
    options: &Options,
) -> Statistics {
    let mut row = Statistics::default();
    let sides = [(candidates, candidate), (references, reference)];
    for (side, (captions, caption)) in sides.into_iter().enumerate() {
        let function_words = captions.function_words(caption);
        row.0[side] = function_words.len() as f64;
        row.0[2 + side] = function_words.filter(|&is_function| is_function).count() as f64;
        for found in chosen {
            let place =
                [(found.candidate, found.candidate_len), (found.reference, found.reference_len)][side];
            let words = captions.function_words(caption).skip(place.0 as usize).take(place.1 as usize);
            for is_function in words {
                row.0[4 + 4 * usize::from(found.stage) + side + if is_function { 2 } else { 0 }] += 1.0;
                row.0[Statistics::CHUNKS + 1 + side] += 1.0;
            }
        }
    }
    row.0[Statistics::CHUNKS] = count_chunks(chosen) as f64;
    if row.is_perfect() && !options.penalise_perfect {
        row.0[Statistics::CHUNKS] = 0.0;
    }
    row
}
