//! The ids of images.

use std::fmt;

/// What an image id must be.
pub(crate) const IMAGE_ID: &str = "an integer or a string";

/// The image ids of a file: all integers or all strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageIds {
    /// Integers of 64 bits, as COCO has them.
    Integers(Vec<i64>),
    /// Strings, such as file names.
    Strings(Vec<String>),
}

/// One image id, borrowed from [`ImageIds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageId<'a> {
    /// An integer id.
    Integer(i64),
    /// A string id.
    String(&'a str),
}

impl fmt::Display for ImageId<'_> {
    /// As JSON shows it, a long string shortened.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageId::Integer(id) => write!(f, "{id}"),
            ImageId::String(id) => f.write_str(&quoted(id)),
        }
    }
}

impl ImageIds {
    /// How many ids there are.
    pub fn len(&self) -> usize {
        match self {
            ImageIds::Integers(ids) => ids.len(),
            ImageIds::Strings(ids) => ids.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id at `index`, if there is one.
    pub fn get(&self, index: usize) -> Option<ImageId<'_>> {
        match self {
            ImageIds::Integers(ids) => ids.get(index).map(|&id| ImageId::Integer(id)),
            ImageIds::Strings(ids) => ids.get(index).map(|id| ImageId::String(id)),
        }
    }

    /// The ids in order.
    pub fn iter(&self) -> impl Iterator<Item = ImageId<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// The ids as integers when every one of them is an integer written the usual way (`"391895"`,
    /// not `"+1"` or `"007"`); `None` when one is not.
    ///
    /// JSON's object keys are always strings: this is the way back to the integers that a mapping
    /// was written from.
    pub fn to_integers(&self) -> Option<ImageIds> {
        let integer = |id: &String| id.parse::<i64>().ok().filter(|value| value.to_string() == *id);
        match self {
            ImageIds::Integers(_) => Some(self.clone()),
            ImageIds::Strings(ids) => ids.iter().map(integer).collect::<Option<_>>().map(ImageIds::Integers),
        }
    }

    /// The ids at `indices`, all of which must exist.
    pub(crate) fn picked(&self, indices: &[usize]) -> ImageIds {
        match self {
            ImageIds::Integers(ids) => ImageIds::Integers(indices.iter().map(|&index| ids[index]).collect()),
            ImageIds::Strings(ids) => {
                ImageIds::Strings(indices.iter().map(|&index| ids[index].clone()).collect())
            }
        }
    }
}

/// A text between quotation marks for a message, shortened when long.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", &text[..end]),
    }
}
