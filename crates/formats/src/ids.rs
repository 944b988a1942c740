//! Image ids.

use std::fmt;

/// Description of a valid image id for error messages.
pub(crate) const IMAGE_ID: &str = "an integer or a string";

/// The image ids of a file, either all integers or all strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageIds {
    /// 64-bit integers, as in COCO.
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
    /// Formats the id as JSON. Long strings are shortened.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageId::Integer(id) => write!(f, "{id}"),
            ImageId::String(id) => f.write_str(&quoted(id)),
        }
    }
}

impl ImageIds {
    /// Returns the number of ids.
    pub fn len(&self) -> usize {
        match self {
            ImageIds::Integers(ids) => ids.len(),
            ImageIds::Strings(ids) => ids.len(),
        }
    }

    /// Returns whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the id at `index`, if any.
    pub fn get(&self, index: usize) -> Option<ImageId<'_>> {
        match self {
            ImageIds::Integers(ids) => ids.get(index).map(|&id| ImageId::Integer(id)),
            ImageIds::Strings(ids) => ids.get(index).map(|id| ImageId::String(id)),
        }
    }

    /// Iterates over the ids in order.
    pub fn iter(&self) -> impl Iterator<Item = ImageId<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Returns the ids as integers if each is an integer in canonical form (`"391895"`, not `"+1"` or
    /// `"007"`).
    ///
    /// JSON object keys are always strings, so this recovers the integers that a mapping was written from.
    pub fn to_integers(&self) -> Option<ImageIds> {
        let integer = |id: &String| id.parse::<i64>().ok().filter(|value| value.to_string() == *id);
        match self {
            ImageIds::Integers(_) => Some(self.clone()),
            ImageIds::Strings(ids) => ids.iter().map(integer).collect::<Option<_>>().map(ImageIds::Integers),
        }
    }

    /// Returns the ids at `indices`, which must be in range.
    pub(crate) fn select(&self, indices: &[usize]) -> ImageIds {
        match self {
            ImageIds::Integers(ids) => ImageIds::Integers(indices.iter().map(|&index| ids[index]).collect()),
            ImageIds::Strings(ids) => {
                ImageIds::Strings(indices.iter().map(|&index| ids[index].clone()).collect())
            }
        }
    }
}

/// Quotes a text for an error message and shortens it if it is long.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", &text[..end]),
    }
}
