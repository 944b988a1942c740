//! The one container of captions: grouped by image, all text in one arena.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::ids::{ImageId, ImageIds};
use crate::interner::Interner;

/// Why captions could not be put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptionsError {
    /// The two lists that go together differ in length.
    LengthMismatch {
        /// Number of ids.
        ids: usize,
        /// Number of captions, or of groups of captions.
        captions: usize,
    },
    /// An image stands twice where it may stand once.
    DuplicateImage {
        /// The image id as JSON shows it.
        id: String,
        /// Where it stands first.
        first: usize,
        /// Where it stands again.
        second: usize,
    },
    /// An image has no caption.
    NoCaptions {
        /// The image id as JSON shows it.
        id: String,
        /// Where the image stands.
        index: usize,
    },
    /// An index is past the last image.
    OutOfRange {
        /// The index asked for.
        index: usize,
        /// The number of images there are.
        images: usize,
    },
}

impl fmt::Display for CaptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptionsError::LengthMismatch { ids, captions } => {
                write!(f, "ids and captions must be of one length (got {ids} and {captions})")
            }
            CaptionsError::DuplicateImage { id, first, second } => {
                write!(f, "an image must stand once (got image {id} at {first} and again at {second})")
            }
            CaptionsError::NoCaptions { id, index } => {
                write!(f, "every image must have a caption (image {id} at {index} has none)")
            }
            CaptionsError::OutOfRange { index, images } => {
                write!(f, "an image index must be less than the number of images, {images} (got {index})")
            }
        }
    }
}

impl Error for CaptionsError {}

/// Captions grouped by image.
///
/// Every image has a different id and at least one caption; images keep the order they were given
/// in, captions keep theirs within the image. A caption may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captions {
    ids: ImageIds,
    /// Captions of image `i` are `image_offsets[i]..image_offsets[i + 1]`.
    image_offsets: Vec<usize>,
    text: String,
    /// Bytes of caption `j` in `text` are `text_offsets[j]..text_offsets[j + 1]`.
    text_offsets: Vec<usize>,
}

impl Captions {
    /// Takes captions that are grouped already: `groups[i]` belongs to image `ids[i]`.
    ///
    /// # Errors
    /// [`CaptionsError::LengthMismatch`], [`CaptionsError::DuplicateImage`],
    /// [`CaptionsError::NoCaptions`].
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
            flat.give_to(index);
        }
        Ok(flat.grouped(ids))
    }

    /// The number of images.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no image.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The number of captions of all images together.
    pub fn caption_count(&self) -> usize {
        self.text_offsets.len() - 1
    }

    /// The ids of the images, in order.
    pub fn ids(&self) -> &ImageIds {
        &self.ids
    }

    /// Captions of image `i` are those from `image_offsets()[i]` to `image_offsets()[i + 1]`.
    pub fn image_offsets(&self) -> &[usize] {
        &self.image_offsets
    }

    /// The indices of the captions of an image.
    ///
    /// # Panics
    /// When `image` is not less than [`Captions::len`], as indexing a slice does.
    pub fn range_of(&self, image: usize) -> Range<usize> {
        self.image_offsets[image]..self.image_offsets[image + 1]
    }

    /// A caption by its index among all captions.
    ///
    /// # Panics
    /// When `index` is not less than [`Captions::caption_count`], as indexing a slice does.
    pub fn caption(&self, index: usize) -> &str {
        &self.text[self.text_offsets[index]..self.text_offsets[index + 1]]
    }

    /// The captions of an image.
    ///
    /// # Panics
    /// When `image` is not less than [`Captions::len`], as indexing a slice does.
    pub fn captions_of(&self, image: usize) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.range_of(image).map(|index| self.caption(index))
    }

    /// A fingerprint of an image: of its id and its captions, in their order.
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
        // The lengths make the bytes unambiguous: other captions can't give the same.
        hash.update((captions.len() as u64).to_le_bytes());
        captions.for_each(|caption| hash_text(&mut hash, caption));
        let first_bytes = hash.finalize();
        u64::from_le_bytes(std::array::from_fn(|byte| first_bytes[byte]))
    }

    /// All captions, each with the index of its image.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        (0..self.len()).flat_map(|image| self.captions_of(image).map(move |text| (image, text)))
    }

    /// The images at `indices`, in the order of `indices`.
    ///
    /// # Errors
    /// [`CaptionsError::OutOfRange`], and [`CaptionsError::DuplicateImage`] when an index stands
    /// twice (`first` and `second` are positions in `indices`).
    pub fn select(&self, indices: &[usize]) -> Result<Captions, CaptionsError> {
        let images = self.len();
        if let Some(&index) = indices.iter().find(|&&index| index >= images) {
            return Err(CaptionsError::OutOfRange { index, images });
        }
        let ids = self.ids.picked(indices);
        all_different(&ids)?;
        let mut flat = FlatCaptions::default();
        for (image, &index) in indices.iter().enumerate() {
            self.captions_of(index).for_each(|text| flat.push(text));
            flat.give_to(image);
        }
        Ok(flat.grouped(ids))
    }

    /// The same captions under integer ids, where [`ImageIds::to_integers`] has them.
    pub fn with_integer_ids(self) -> Result<Captions, Captions> {
        match self.ids.to_integers() {
            Some(ids) => Ok(Captions { ids, ..self }),
            None => Err(self),
        }
    }
}

/// Captions in the order in which they were read, each with the slot of its image.
///
/// Captions without escapes stay in the file until they are grouped, so that each is copied once.
#[derive(Debug, Default)]
pub(crate) struct FlatCaptions<'a> {
    texts: Vec<Text<'a>>,
    /// The captions that are nowhere else.
    decoded: String,
    /// The image of each caption.
    slots: Vec<usize>,
}

/// The text of a caption: where it came from, or a range of [`FlatCaptions::decoded`].
#[derive(Clone, Copy, Debug)]
enum Text<'a> {
    Borrowed(&'a str),
    Decoded(usize, usize),
}

impl<'a> FlatCaptions<'a> {
    /// Appends a caption, whose image follows with [`FlatCaptions::give_to`].
    pub(crate) fn push(&mut self, caption: &'a str) {
        self.texts.push(Text::Borrowed(caption));
    }

    /// Appends a caption that does not last, as [`FlatCaptions::push`] does one that lasts.
    pub(crate) fn push_copy(&mut self, caption: &str) {
        let start = self.decoded.len();
        self.decoded.push_str(caption);
        self.texts.push(Text::Decoded(start, self.decoded.len()));
    }

    /// Says which image the captions since the last call belong to, and how many there are.
    pub(crate) fn give_to(&mut self, slot: usize) -> usize {
        let orphans = self.texts.len() - self.slots.len();
        self.slots.resize(self.texts.len(), slot);
        orphans
    }

    /// Takes back the captions whose image was not said.
    pub(crate) fn forget_orphans(&mut self) {
        self.texts.truncate(self.slots.len());
    }

    /// The image of each caption.
    pub(crate) fn slots(&self) -> &[usize] {
        &self.slots
    }

    /// Renames the images: `new[slot]` takes the place of `slot`.
    pub(crate) fn rename(&mut self, new: &[usize]) {
        for slot in &mut self.slots {
            *slot = new[*slot];
        }
    }

    /// Groups the captions by image. Every slot must be less than the number of `ids`.
    pub(crate) fn grouped(self, ids: ImageIds) -> Captions {
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

/// Where the captions of each image start once they are grouped.
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

/// The captions by image, those of one image in their order (a counting sort).
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
    // While all ids are new, slots count up.
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
