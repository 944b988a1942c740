//! References prepared for scoring.

use std::ops::Range;

use capeval_tokens::{Candidates, References};
use rayon::prelude::*;

use crate::captions::Captions;
use crate::error::MeteorError;
use crate::index::Index;
use crate::options::Options;
use crate::scorer::{ReferenceCaptions, Scorer, Scratch, Segment};
use crate::search::Match;
use crate::tables::Tables;
use crate::words::Source;

/// Number of images per task.
const IMAGES: usize = 256;

/// References of a set of images, with all data that does not depend on candidates.
pub struct PreparedReferences {
    options: Options,
    references: ReferenceCaptions,
    index: Index,
    /// Checksum of the tables.
    table: u32,
}

impl PreparedReferences {
    /// Prepares the references of each image.
    ///
    /// # Errors
    /// Returns a [`MeteorError`] if an option is out of range, an image has no references, or the tables are
    /// damaged.
    pub fn new<B: AsRef<[u8]> + Sync>(
        tables: &Tables<B>,
        options: &Options,
        references: &References,
    ) -> Result<Self, MeteorError> {
        options.validate()?;
        let captions = Captions::read(tables, options, Source::References(references))?;
        let (images, origins) = captions_by_image(references, captions.rows())?;
        let index = Index::new(tables, options, &captions)?;
        let references = ReferenceCaptions { captions, images, origins };
        Ok(Self { options: options.clone(), references, index, table: tables.fingerprint() })
    }

    /// Returns the number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.references.images.len()
    }

    /// Returns whether there are no images.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.references.images.is_empty()
    }

    /// Scores candidates for some of the images.
    ///
    /// # Errors
    /// Returns a [`MeteorError`] if an image is unknown, the tables are damaged or not those of the
    /// references, or a candidate and a reference have too many possible matches.
    pub fn score<B: AsRef<[u8]> + Sync>(
        &self,
        tables: &Tables<B>,
        candidates: &Candidates,
    ) -> Result<Vec<Segment>, MeteorError> {
        self.check(tables, candidates)?;
        let scorer = self.scorer(tables, candidates)?;
        let images = candidates.images().par_chunks(IMAGES).enumerate();
        let segments = images.flat_map_iter(|(chunk, images)| {
            let mut scratch = Scratch::new(self.references.captions.units());
            let segments = images.iter().enumerate().map(|(position, &image)| {
                scorer.segment(chunk * IMAGES + position, image as usize, &mut scratch)
            });
            segments.collect::<Vec<_>>()
        });
        segments.collect()
    }

    /// Aligns the only candidate with the only reference of the only image.
    pub(crate) fn align<B: AsRef<[u8]> + Sync>(
        &self,
        tables: &Tables<B>,
        candidates: &Candidates,
    ) -> Result<(Captions, Vec<Match>), MeteorError> {
        let scorer = self.scorer(tables, candidates)?;
        let mut scratch = Scratch::new(self.references.captions.units());
        let image = self.references.images[0].clone();
        scorer.find_links(0, image.clone(), &mut scratch);
        scorer.align(0, image.start, &mut scratch)?;
        Ok((scorer.candidates, scratch.chosen))
    }

    fn scorer<B: AsRef<[u8]> + Sync>(
        &self,
        tables: &Tables<B>,
        candidates: &Candidates,
    ) -> Result<Scorer<'_>, MeteorError> {
        let (options, references) = (&self.options, &self.references);
        let candidates = Captions::read(tables, options, Source::Candidates(candidates))?;
        let links = self.index.links(tables, options, &candidates, &references.captions)?;
        Ok(Scorer { options, references, candidates, links })
    }

    pub(crate) fn captions(&self) -> &Captions {
        &self.references.captions
    }

    fn check<B: AsRef<[u8]>>(&self, tables: &Tables<B>, candidates: &Candidates) -> Result<(), MeteorError> {
        if tables.fingerprint() != self.table {
            return Err(MeteorError::OtherTables { prepared: self.table, given: tables.fingerprint() });
        }
        let images = self.len();
        let unknown = candidates.images().iter().position(|&image| image as usize >= images);
        match unknown {
            Some(candidate) => {
                let image = candidates.images()[candidate] as usize;
                Err(MeteorError::UnknownImage { candidate, image, images })
            }
            None => Ok(()),
        }
    }
}

/// Returns the captions of each image, and the reference index of each caption in its image.
///
/// `rows` has the token row of each caption.
fn captions_by_image(
    references: &References,
    rows: &[usize],
) -> Result<(Vec<Range<usize>>, Vec<usize>), MeteorError> {
    let mut origins = Vec::with_capacity(rows.len());
    let mut images = Vec::with_capacity(references.images());
    for image in 0..references.images() {
        let (start, of_image) = (origins.len(), references.of(image));
        if of_image.is_empty() {
            return Err(MeteorError::NoReferences { image });
        }
        let captions = rows[start..].iter().take_while(|row| of_image.contains(row));
        origins.extend(captions.map(|row| row - of_image.start));
        images.push(start..origins.len());
    }
    Ok((images, origins))
}
