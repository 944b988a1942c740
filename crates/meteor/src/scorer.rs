//! Scores candidates against the references of their images, one at a time.

use std::ops::Range;

use crate::captions::{Captions, Occurrence};
use crate::error::MeteorError;
use crate::index::{LinkKind, Links};
use crate::options::Options;
use crate::score::{Statistics, score};
use crate::search::{MAX_DISTANCE, MAX_MATCHES, Match, Search, count_chunks};

/// The references of a set of images.
pub(crate) struct ReferenceCaptions {
    pub captions: Captions,
    /// The captions of each image.
    pub images: Vec<Range<usize>>,
    /// Reference index of each caption in its image.
    pub origins: Vec<usize>,
}

/// The result for one image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Statistics against the best reference.
    pub statistics: Statistics,
    /// Score against the best reference, 0 to 1.
    pub score: f64,
    /// Index of the best reference, or of the first of several equally good ones.
    pub reference: usize,
}

const NONE: u32 = u32::MAX;

/// A link between an occurrence in the candidate and a unit of the image's references.
struct FoundLink {
    before: u32,
    occurrence: Occurrence,
    order: u8,
    rank: u32,
}

/// Position of a reference word's match in METEOR's order, as one number.
type FindingOrder = u128;

/// Reusable memory of one task.
pub(crate) struct Scratch {
    /// Position in `heads` plus 1 of each reference unit, or 0 for none.
    slots: Vec<u32>,
    /// One bit per unit, set if its slot is.
    ///
    /// Most links lead to units of other images, and the bits fit in the L1 cache.
    present: Vec<u64>,
    /// Last link found to each unit of the current image.
    heads: Vec<u32>,
    found: Vec<FoundLink>,
    ordered: Vec<(FindingOrder, Match)>,
    matches: Vec<Match>,
    pub chosen: Vec<Match>,
    search: Search,
}

impl Scratch {
    pub(crate) fn new(units: usize) -> Self {
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

/// Scores candidates against prepared references.
pub(crate) struct Scorer<'a> {
    pub options: &'a Options,
    pub references: &'a ReferenceCaptions,
    pub candidates: Captions,
    /// Possible matches of each unit of the candidates.
    pub links: Vec<Links>,
}

impl Scorer<'_> {
    /// Scores a candidate against each reference of an image.
    ///
    /// The best score counts, or the first of equal ones.
    pub(crate) fn segment(
        &self,
        candidate: usize,
        image: usize,
        scratch: &mut Scratch,
    ) -> Result<Segment, MeteorError> {
        let captions = self.references.images[image].clone();
        self.find_links(candidate, captions.clone(), scratch);
        let best = self.best(candidate, image, scratch);
        for caption in captions {
            for occurrence in self.references.captions.occurrences(caption) {
                scratch.slots[occurrence.unit as usize] = 0;
                scratch.present[occurrence.unit as usize / 64] = 0;
            }
        }
        best
    }

    fn best(&self, candidate: usize, image: usize, scratch: &mut Scratch) -> Result<Segment, MeteorError> {
        let mut best = Segment { statistics: Statistics::default(), score: -1.0, reference: 0 };
        // An upper bound of the score from the words that can match would avoid a quarter of the searches,
        // but computing it costs as much as it saves.
        for caption in self.references.images[image].clone() {
            self.align(candidate, caption, scratch)?;
            let statistics = self.statistics(candidate, caption, &scratch.chosen);
            let score = score(&statistics, self.options);
            if score > best.score {
                best = Segment { statistics, score, reference: self.references.origins[caption] };
            }
        }
        Ok(best)
    }

    /// Finds all links of the candidate to units of the captions, once for all captions.
    pub(crate) fn find_links(&self, candidate: usize, captions: Range<usize>, scratch: &mut Scratch) {
        scratch.heads.clear();
        scratch.found.clear();
        for occurrence in captions.flat_map(|caption| self.references.captions.occurrences(caption)) {
            let slot = &mut scratch.slots[occurrence.unit as usize];
            if *slot == 0 {
                scratch.heads.push(NONE);
                *slot = scratch.heads.len() as u32;
                scratch.present[occurrence.unit as usize / 64] |= 1 << (occurrence.unit % 64);
            }
        }
        for &occurrence in self.candidates.occurrences(candidate) {
            let links = &self.links[occurrence.unit as usize];
            for (place, &unit) in links.units.iter().enumerate() {
                if scratch.present[unit as usize / 64] >> (unit % 64) & 1 == 1 {
                    let head = &mut scratch.heads[scratch.slots[unit as usize] as usize - 1];
                    let LinkKind { order, rank } = links.kinds[place];
                    scratch.found.push(FoundLink { before: *head, occurrence, order, rank });
                    *head = scratch.found.len() as u32 - 1;
                }
            }
        }
    }

    /// Computes the best alignment of the candidate with a caption, in `scratch.chosen`.
    pub(crate) fn align(
        &self,
        candidate: usize,
        caption: usize,
        scratch: &mut Scratch,
    ) -> Result<(), MeteorError> {
        let (candidate_keys, reference_keys) =
            (self.candidates.keys(candidate), self.references.captions.keys(caption));
        // METEOR uses only its first stage for identical sentences.
        let orders = if candidate_keys == reference_keys { 2 } else { u8::MAX };
        if !self.find_matches(caption, orders, scratch) {
            let reference = self.references.origins[caption];
            return Err(MeteorError::TooManyMatches { candidate, reference });
        }
        let (candidate_len, reference_len) = (candidate_keys.len(), reference_keys.len());
        let beam_size = self.options.beam_size;
        scratch.search.run(candidate_len, reference_len, beam_size, &scratch.matches, &mut scratch.chosen);
        Ok(())
    }

    /// Collects the possible matches with a caption in METEOR's order, in `scratch.matches`.
    ///
    /// Returns false if there are too many.
    fn find_matches(&self, caption: usize, orders: u8, scratch: &mut Scratch) -> bool {
        scratch.matches.clear();
        let mut distance = 0;
        let same_start = |one: &Occurrence, other: &Occurrence| one.start == other.start;
        // One reference word at a time, because sorting all matches of long captions would take much memory.
        for occurrences in self.references.captions.occurrences(caption).chunk_by(same_start) {
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

    fn ordered_match(&self, reference: Occurrence, found: &FoundLink) -> (FindingOrder, Match) {
        let candidate = found.occurrence;
        let order = if found.order.is_multiple_of(2) {
            [found.order.into(), reference.len, found.rank, candidate.start]
        } else {
            [found.order.into(), candidate.start, candidate.len, found.rank]
        };
        let order = order.into_iter().fold(0, |all, next| all << 32 | u128::from(next));
        let stage = self.options.stages[usize::from(found.order / 2)].stage;
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
        statistics(&self.candidates, candidate, &self.references.captions, caption, chosen, self.options)
    }
}

/// Counts the statistics of an alignment.
pub(crate) fn statistics(
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
        row.0[2 + side] = function_words.iter().filter(|&&is_function| is_function).count() as f64;
        for found in chosen {
            let (start, len) =
                [(found.candidate, found.candidate_len), (found.reference, found.reference_len)][side];
            for &is_function in &function_words[start as usize..][..len as usize] {
                row.0[4 + 4 * usize::from(found.stage) + side + if is_function { 2 } else { 0 }] += 1.0;
                row.0[Statistics::CHUNKS + 1 + side] += 1.0;
            }
        }
    }
    row.0[Statistics::CHUNKS] = count_chunks(chosen) as f64;
    if row.is_perfect() && !options.penalize_perfect {
        row.0[Statistics::CHUNKS] = 0.0;
    }
    row
}
