//! Captions grouped by image, with all text in one buffer.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::ids::{ImageId, ImageIds};
use crate::interner::Interner;

/// Error of building or selecting [`Captions`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptionsError {
    /// Two parallel lists differ in length.
    LengthMismatch {
        /// Number of ids.
        ids: usize,
        /// Number of captions, or of groups of captions.
        captions: usize,
    },
    /// An image id occurs more than once.
    DuplicateImage {
        /// The image id as JSON.
        id: String,
        /// First index.
        first: usize,
        /// Second index.
        second: usize,
    },
    /// An image has no caption.
    NoCaptions {
        /// The image id as JSON.
        id: String,
        /// Index of the image.
        index: usize,
    },
    /// An index is past the last image.
    OutOfRange {
        /// The requested index.
        index: usize,
        /// Number of images.
        images: usize,
    },
}

impl fmt::Display for CaptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptionsError::LengthMismatch { ids, captions } => {
                write!(f, "ids and captions must have the same length (got {ids} and {captions})")
            }
            CaptionsError::DuplicateImage { id, first, second } => {
                write!(f, "duplicate image id {id} at index {second} (first seen at index {first})")
            }
            CaptionsError::NoCaptions { id, index } => {
                write!(f, "every image must have a caption (image {id} at index {index} has none)")
            }
            CaptionsError::OutOfRange { index, images } => {
                write!(f, "an image index must be less than the number of images, {images} (got {index})")
            }
        }
    }
}

impl Error for CaptionsError {}

/// Number of bytes that are searched for line ends together.
const LINE_END_BLOCK: usize = 4096;

/// Returns whether a byte begins a line end other than `\n`, or possibly U+2028 or U+2029.
fn starts_line_end(byte: u8) -> bool {
    // Not `matches!`, which is not vectorized.
    (byte.wrapping_sub(0x0b) < 3) | (byte == 0xe2)
}

/// Captions grouped by image.
///
/// Image ids are unique, and each image has at least one caption. Images and the captions of an image keep
/// their input order. A caption may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captions {
    ids: ImageIds,
    /// The captions of image `i` are `image_offsets[i]..image_offsets[i + 1]`.
    image_offsets: Vec<usize>,
    text: String,
    /// The bytes of caption `j` are `text[text_offsets[j]..text_offsets[j + 1]]`.
    text_offsets: Vec<usize>,
}

impl Captions {
    /// Creates captions from groups: `groups[i]` belongs to image `ids[i]`.
    ///
    /// # Errors
    /// [`CaptionsError::LengthMismatch`], [`CaptionsError::DuplicateImage`], [`CaptionsError::NoCaptions`].
    pub fn from_grouped<G, S>(ids: ImageIds, groups: &[G]) -> Result<Captions, CaptionsError>
    where
        G: AsRef<[S]>,
        S: AsRef<str>,
    {
        same_length(&ids, groups.len())?;
        all_different(&ids)?;
        let mut flat = FlatCaptions::default();
        for (index, group) in groups.iter().enumerate() {
            if group.as_ref().is_empty() {
                let id = shown(&ids, index);
                return Err(CaptionsError::NoCaptions { id, index });
            }
            for caption in group.as_ref() {
                flat.push(caption.as_ref());
            }
            flat.assign_to(index);
        }
        Ok(flat.group(ids))
    }

    /// Returns the number of images.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the total number of captions.
    pub fn caption_count(&self) -> usize {
        self.text_offsets.len() - 1
    }

    /// Returns the image ids in order.
    pub fn ids(&self) -> &ImageIds {
        &self.ids
    }

    /// Returns the caption offsets of the images: image `i` has the captions from `image_offsets()[i]` up to
    /// `image_offsets()[i + 1]`.
    pub fn image_offsets(&self) -> &[usize] {
        &self.image_offsets
    }

    /// Returns the caption indices of an image.
    ///
    /// # Panics
    /// Panics if `image` is not less than [`Captions::len`], like slice indexing.
    pub fn range_of(&self, image: usize) -> Range<usize> {
        self.image_offsets[image]..self.image_offsets[image + 1]
    }

    /// Returns a caption by its index among all captions.
    ///
    /// # Panics
    /// Panics if `index` is not less than [`Captions::caption_count`], like slice indexing.
    pub fn caption(&self, index: usize) -> &str {
        &self.text[self.text_offsets[index]..self.text_offsets[index + 1]]
    }

    /// Returns the captions of an image.
    ///
    /// # Panics
    /// Panics if `image` is not less than [`Captions::len`], like slice indexing.
    pub fn captions_of(&self, image: usize) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.range_of(image).map(|index| self.caption(index))
    }

    /// Returns a fingerprint of an image's id and captions, in order.
    pub fn fingerprint(&self, image: usize) -> u64 {
        let mut hash = Sha256::new();
        match self.ids.get(image) {
            Some(ImageId::Integer(id)) => {
                hash.update([0]);
                hash.update(id.to_le_bytes());
            }
            Some(ImageId::String(id)) => {
                hash.update([1]);
                hash_text(&mut hash, id);
            }
            None => {}
        }
        let captions = self.captions_of(image);
        // The length prefixes make the bytes unambiguous, so different captions cannot give the same input.
        hash.update((captions.len() as u64).to_le_bytes());
        captions.for_each(|caption| hash_text(&mut hash, caption));
        let first_bytes = hash.finalize();
        u64::from_le_bytes(std::array::from_fn(|byte| first_bytes[byte]))
    }

    /// Returns the indices of the captions that contain a line end other than `\n`.
    ///
    /// Line ends are those of the reference tokenizer: `\r`, U+000B, U+000C, U+2028 and U+2029.
    pub fn with_line_ends(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let text = self.text.as_bytes();
        for (index, block) in text.chunks(LINE_END_BLOCK).enumerate() {
            // Unlike `any`, which stops early, this loop is vectorized.
            if block.iter().fold(0, |found, &byte| found | u8::from(starts_line_end(byte))) == 0 {
                continue;
            }
            let first = index * LINE_END_BLOCK;
            for position in (first..first + block.len()).filter(|&position| starts_line_end(text[position])) {
                let wide = text[position] == 0xe2;
                if wide && !matches!(text.get(position + 1..position + 3), Some([0x80, 0xa8 | 0xa9])) {
                    continue;
                }
                let caption = self.text_offsets.partition_point(|&offset| offset <= position) - 1;
                if found.last() != Some(&caption) {
                    found.push(caption);
                }
            }
        }
        found
    }

    /// Iterates over all captions, each with its image index.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        (0..self.len()).flat_map(|image| self.captions_of(image).map(move |text| (image, text)))
    }

    /// Returns the images at `indices`, in the order of `indices`.
    ///
    /// # Errors
    /// [`CaptionsError::OutOfRange`], and [`CaptionsError::DuplicateImage`] if an index is repeated (`first`
    /// and `second` are positions in `indices`).
    pub fn select(&self, indices: &[usize]) -> Result<Captions, CaptionsError> {
        let images = self.len();
        if let Some(&index) = indices.iter().find(|&&index| index >= images) {
            return Err(CaptionsError::OutOfRange { index, images });
        }
        let ids = self.ids.select(indices);
        all_different(&ids)?;
        let mut flat = FlatCaptions::default();
        for (image, &index) in indices.iter().enumerate() {
            self.captions_of(index).for_each(|text| flat.push(text));
            flat.assign_to(image);
        }
        Ok(flat.group(ids))
    }

    /// Converts the ids to integers if [`ImageIds::to_integers`] can.
    ///
    /// Otherwise returns the captions as an error.
    pub fn with_integer_ids(self) -> Result<Captions, Captions> {
        match self.ids.to_integers() {
            Some(ids) => Ok(Captions { ids, ..self }),
            None => Err(self),
        }
    }
}

/// Captions in reading order, each with the slot of its image.
///
/// Captions without escapes refer to the file until they are grouped, so that each is copied once.
#[derive(Debug, Default)]
pub(crate) struct FlatCaptions<'a> {
    texts: Vec<Text<'a>>,
    /// Unescaped and other temporary captions.
    decoded: String,
    /// Image slot of each caption.
    slots: Vec<usize>,
}

/// The text of a caption: a slice of the file, or a range of [`FlatCaptions::decoded`].
#[derive(Clone, Copy, Debug)]
enum Text<'a> {
    Borrowed(&'a str),
    Decoded(usize, usize),
}

impl<'a> FlatCaptions<'a> {
    /// Appends a caption. [`FlatCaptions::assign_to`] sets its image later.
    pub(crate) fn push(&mut self, caption: &'a str) {
        self.texts.push(Text::Borrowed(caption));
    }

    /// Appends a copy of a short-lived caption, otherwise like [`FlatCaptions::push`].
    pub(crate) fn push_copy(&mut self, caption: &str) {
        let start = self.decoded.len();
        self.decoded.push_str(caption);
        self.texts.push(Text::Decoded(start, self.decoded.len()));
    }

    /// Assigns the captions since the last call to an image, and returns their number.
    pub(crate) fn assign_to(&mut self, slot: usize) -> usize {
        let orphans = self.texts.len() - self.slots.len();
        self.slots.resize(self.texts.len(), slot);
        orphans
    }

    /// Removes the captions that have no image yet.
    pub(crate) fn remove_unassigned(&mut self) {
        self.texts.truncate(self.slots.len());
    }

    /// Returns the image slot of each caption.
    pub(crate) fn slots(&self) -> &[usize] {
        &self.slots
    }

    /// Renumbers the images: `new[slot]` replaces `slot`.
    pub(crate) fn rename(&mut self, new: &[usize]) {
        for slot in &mut self.slots {
            *slot = new[*slot];
        }
    }

    /// Groups the captions by image. Every slot must be less than the number of `ids`.
    pub(crate) fn group(self, ids: ImageIds) -> Captions {
        let image_offsets = offsets_of(&self.slots, ids.len());
        let length = (0..self.texts.len()).map(|at| self.text(at).len()).sum();
        let mut text = String::with_capacity(length);
        let mut text_offsets = Vec::with_capacity(self.texts.len() + 1);
        text_offsets.push(0);
        for caption in sorted_by_slot(&self.slots, &image_offsets) {
            text.push_str(self.text(caption));
            text_offsets.push(text.len());
        }
        Captions { ids, image_offsets, text, text_offsets }
    }

    fn text(&self, caption: usize) -> &str {
        match self.texts[caption] {
            Text::Borrowed(text) => text,
            Text::Decoded(start, end) => &self.decoded[start..end],
        }
    }
}

/// Returns the offset of each image's first caption after grouping.
fn offsets_of(slots: &[usize], images: usize) -> Vec<usize> {
    let mut offsets = vec![0; images + 1];
    for &slot in slots {
        offsets[slot + 1] += 1;
    }
    for image in 0..images {
        offsets[image + 1] += offsets[image];
    }
    offsets
}

/// Returns the caption order by image with a stable counting sort.
fn sorted_by_slot(slots: &[usize], offsets: &[usize]) -> Vec<usize> {
    let mut next = offsets.to_vec();
    let mut order = vec![0; slots.len()];
    for (caption, &slot) in slots.iter().enumerate() {
        order[next[slot]] = caption;
        next[slot] += 1;
    }
    order
}

fn hash_text(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text);
}

fn same_length(ids: &ImageIds, captions: usize) -> Result<(), CaptionsError> {
    let ids = ids.len();
    if ids == captions { Ok(()) } else { Err(CaptionsError::LengthMismatch { ids, captions }) }
}

fn all_different(ids: &ImageIds) -> Result<(), CaptionsError> {
    let slots = Interner::default().slots(ids);
    // While all ids are new, the slots are consecutive.
    match slots.iter().enumerate().find(|&(index, &slot)| index != slot) {
        None => Ok(()),
        Some((second, &first)) => {
            Err(CaptionsError::DuplicateImage { id: shown(ids, second), first, second })
        }
    }
}

fn shown(ids: &ImageIds, index: usize) -> String {
    ids.get(index).map_or_else(String::new, |id| id.to_string())
}
