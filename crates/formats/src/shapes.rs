//! Shapes of the values in caption files.

use serde::de::{Error, MapAccess, SeqAccess};

use crate::error::ReadErrorKind;
use crate::ids::{IMAGE_ID, ImageId, quoted};
use crate::json::{Read, Reader, Segment, Shape, Skip, each_element, each_field};
use crate::source::Source;

/// An image id, by its role in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    /// An image with a reference. It may repeat.
    Reference,
    /// An image with its only result.
    Result,
    /// An image listed in `images`, once.
    Listed,
}

impl<'de> Shape<'de> for Id {
    const EXPECTED: &'static str = IMAGE_ID;

    fn string<E: Error>(self, reader: &mut Reader<'de>, value: &str) -> Result<(), E> {
        self.take(reader, ImageId::String(value))
    }

    fn integer<E: Error>(self, reader: &mut Reader<'de>, value: i64) -> Result<(), E> {
        self.take(reader, ImageId::Integer(value))
    }
}

impl Id {
    /// Looks up the id and stores its slot in [`Reader::slot`].
    pub(crate) fn take<E: Error>(self, reader: &mut Reader<'_>, id: ImageId<'_>) -> Result<(), E> {
        let Some((slot, is_new)) = reader.interner.slot(id) else {
            let (place, first) = reader.first_id.clone().unwrap_or_default();
            let message = format!(
                "image ids must be all integers or all strings ({place} is {first}, {} is {id})",
                reader.describe_place()
            );
            return Err(reader.fail(ReadErrorKind::MixedIds, message));
        };
        if reader.first_id.is_none() {
            reader.first_id = Some((reader.describe_place(), id.to_string()));
        }
        reader.slot = slot;
        match self {
            Id::Reference => Ok(()),
            Id::Result => {
                // The entry is an item of a list or a line; the list can be the value of a key.
                let is_entry = |segment: &Segment| !matches!(segment, Segment::Key(_));
                let depth = reader.path.iter().rposition(is_entry).unwrap_or_default();
                if is_new {
                    reader.entries.extend(reader.path.get(depth));
                    return Ok(());
                }
                let first = [&reader.path[..depth], &[reader.entries[slot]]].concat();
                let first = reader.format_path(&first);
                Err(repeated(reader, id, &first))
            }
            Id::Listed => list_image(reader, id),
        }
    }
}

/// Appends the image to the order of `images`.
fn list_image<E: Error>(reader: &mut Reader<'_>, id: ImageId<'_>) -> Result<(), E> {
    let slot = reader.slot;
    if reader.rank.len() <= slot {
        reader.rank.resize(slot + 1, None);
    }
    if let Some(first) = reader.rank[slot] {
        return Err(repeated(reader, id, &format!("images[{first}]")));
    }
    reader.rank[slot] = Some(reader.listed.len());
    reader.listed.push(slot);
    Ok(())
}

pub(crate) fn repeated<E: Error>(reader: &mut Reader<'_>, id: ImageId<'_>, first: &str) -> E {
    let place = reader.describe_place();
    let message = format!("duplicate image id {id} in {place} (first seen in {first})");
    reader.fail(ReadErrorKind::DuplicateImage, message)
}

/// One caption.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caption;

impl<'de> Shape<'de> for Caption {
    const EXPECTED: &'static str = "a string";

    fn string<E: Error>(self, reader: &mut Reader<'de>, value: &str) -> Result<(), E> {
        reader.captions.push_copy(value);
        Ok(())
    }

    fn borrowed<E: Error>(self, reader: &mut Reader<'de>, value: &'de str) -> Result<(), E> {
        reader.captions.push(value);
        Ok(())
    }
}

/// One caption, or a list of captions.
#[derive(Clone, Copy, Debug)]
struct CaptionOrList;

impl<'de> Shape<'de> for CaptionOrList {
    const EXPECTED: &'static str = "a string or a list of strings";

    fn string<E: Error>(self, reader: &mut Reader<'de>, value: &str) -> Result<(), E> {
        Caption.string(reader, value)
    }

    fn borrowed<E: Error>(self, reader: &mut Reader<'de>, value: &'de str) -> Result<(), E> {
        Caption.borrowed(reader, value)
    }

    fn list<A: SeqAccess<'de>>(self, reader: &mut Reader<'de>, list: A) -> Result<(), A::Error> {
        each_element(reader, list, Caption)
    }
}

/// The caption of a result.
#[derive(Clone, Copy, Debug)]
struct ResultCaption;

impl<'de> Shape<'de> for ResultCaption {
    const EXPECTED: &'static str = "a string";

    fn string<E: Error>(self, reader: &mut Reader<'de>, value: &str) -> Result<(), E> {
        Caption.string(reader, value)
    }

    fn borrowed<E: Error>(self, reader: &mut Reader<'de>, value: &'de str) -> Result<(), E> {
        Caption.borrowed(reader, value)
    }

    fn list<A: SeqAccess<'de>>(self, reader: &mut Reader<'de>, list: A) -> Result<(), A::Error> {
        if reader.strict {
            return Err(reader.wrong(Self::EXPECTED, "a list"));
        }
        each_element(reader, list, Caption)
    }
}

/// A list of captions.
#[derive(Clone, Copy, Debug)]
struct CaptionList;

impl<'de> Shape<'de> for CaptionList {
    const EXPECTED: &'static str = "a list of strings";

    fn list<A: SeqAccess<'de>>(self, reader: &mut Reader<'de>, list: A) -> Result<(), A::Error> {
        each_element(reader, list, Caption)
    }
}

/// An entry of a list, or a line: an image id with captions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// `{"image_id", "caption"}`: one reference.
    Annotation,
    /// `{"image_id", "caption"}`: the result of the image.
    ///
    /// The caption may be a list of one, unless the reader is strict.
    Result,
    /// `{"image_id", "caption" | "captions" | "references"}`: references.
    References,
}

impl Entry {
    fn id(self) -> Id {
        match self {
            Entry::Annotation | Entry::References => Id::Reference,
            Entry::Result => Id::Result,
        }
    }

    /// Returns the keys of the entry that are read.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Entry::Annotation | Entry::Result => &["image_id", "caption"],
            Entry::References => &["image_id", "caption", "captions", "references"],
        }
    }
}

impl<'de> Shape<'de> for Entry {
    const EXPECTED: &'static str = r#"an object with "image_id" and "caption""#;

    fn object<A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: A) -> Result<(), A::Error> {
        let first_key = reader.keys.len();
        let mut slot = None;
        let mut captions_in = None;
        each_field(reader, map, self.fields(), |reader, field, map| {
            let Some(field) = field else {
                return map.next_value_seed(Skip);
            };
            if field == "image_id" {
                map.next_value_seed(Read(self.id(), reader))?;
                slot = Some(reader.slot);
                return Ok(());
            }
            if let Some(other) = captions_in.replace(field) {
                return Err(two_of(reader, other, field));
            }
            match (self, field) {
                (Entry::References, "caption") => map.next_value_seed(Read(CaptionOrList, reader)),
                (Entry::References, _) => map.next_value_seed(Read(CaptionList, reader)),
                (Entry::Result, _) => map.next_value_seed(Read(ResultCaption, reader)),
                _ => map.next_value_seed(Read(Caption, reader)),
            }
        })?;
        let slot = slot.ok_or_else(|| missing(reader, first_key, "image_id"))?;
        if captions_in.is_none() {
            return Err(missing(reader, first_key, "caption"));
        }
        reader.keys.truncate(first_key);
        match self {
            Entry::Result => assign_one_to(reader, slot),
            Entry::Annotation | Entry::References => assign_to(reader, slot),
        }
    }
}

/// Assigns the captions just read to an image. There must be at least one.
pub(crate) fn assign_to<E: Error>(reader: &mut Reader<'_>, slot: usize) -> Result<(), E> {
    if reader.captions.assign_to(slot) > 0 {
        return Ok(());
    }
    let place = reader.describe_place();
    let message = format!("{place} must have at least one caption (got an empty list)");
    Err(reader.fail(ReadErrorKind::NoReferences, message))
}

/// Assigns the caption just read to an image. There must be exactly one.
fn assign_one_to<E: Error>(reader: &mut Reader<'_>, slot: usize) -> Result<(), E> {
    let count = reader.captions.assign_to(slot);
    if count == 1 {
        return Ok(());
    }
    let place = reader.describe_place();
    let message = format!("{place} must have one caption (got a list of {count})");
    Err(reader.fail(ReadErrorKind::SeveralCaptions, message))
}

fn two_of<E: Error>(reader: &mut Reader<'_>, first: &str, second: &str) -> E {
    reader.path.pop();
    let place = reader.describe_place();
    let message = format!("{place} must have one of {first:?} and {second:?} (got both)");
    reader.fail(ReadErrorKind::DuplicateKey, message)
}

/// Returns the error of an object without `field`, whose keys start at `first_key`.
pub(crate) fn missing<E: Error>(reader: &mut Reader<'_>, first_key: usize, field: &str) -> E {
    let place = reader.describe_place();
    let found = describe_keys(reader, first_key);
    let message = format!("{place} must have the key {field:?} (got {found})");
    reader.fail(ReadErrorKind::MissingField, message)
}

/// Describes the first few keys from `first_key` on.
fn describe_keys(reader: &Reader<'_>, first_key: usize) -> String {
    const SHOWN: usize = 5;
    let keys = &reader.keys[first_key..];
    if keys.is_empty() {
        return "no keys".to_owned();
    }
    let shown: Vec<_> = keys.iter().take(SHOWN).map(|key| quoted(key)).collect();
    let more = if keys.len() > SHOWN { ", ..." } else { "" };
    format!("keys {}{more}", shown.join(", "))
}

/// The top level of a COCO annotation file, or a list of references.
///
/// An object without `annotations` and `images` is skipped and read as a [`Mapping`] later.
#[derive(Debug)]
pub(crate) struct Annotations<'a>(pub(crate) &'a mut TopLevel);

/// Detected layout of a reference file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TopLevel {
    /// A list of entries.
    List,
    /// An object with `annotations`. The images are in the order of `images`, or of first appearance.
    Coco {
        /// Whether the object has `images`.
        lists_images: bool,
    },
    /// Any other object.
    OtherObject,
}

impl<'de> Shape<'de> for Annotations<'_> {
    const EXPECTED: &'static str = r#"COCO annotations, a list of {"image_id", "caption"} objects or an object of lists of captions by image id"#;

    fn list<A: SeqAccess<'de>>(self, reader: &mut Reader<'de>, list: A) -> Result<(), A::Error> {
        each_element(reader, list, Entry::References)
    }

    fn object<A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: A) -> Result<(), A::Error> {
        let mut has_annotations = false;
        let mut has_images = false;
        each_field(reader, map, &["images", "annotations"], |reader, field, map| match field {
            Some("annotations") => {
                has_annotations = true;
                map.next_value_seed(Read(List(Entry::Annotation), reader))
            }
            Some(_) => {
                has_images = true;
                map.next_value_seed(Read(List(ListedImage), reader))
            }
            None => map.next_value_seed(Skip),
        })?;
        if has_images && !has_annotations {
            return Err(missing(reader, 0, "annotations"));
        }
        *self.0 = match has_annotations {
            true => TopLevel::Coco { lists_images: has_images },
            false => TopLevel::OtherObject,
        };
        Ok(())
    }
}

/// A list of objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List<S>(pub(crate) S);

impl<'de, S: Shape<'de> + Copy> Shape<'de> for List<S> {
    const EXPECTED: &'static str = "a list of objects";

    fn list<A: SeqAccess<'de>>(self, reader: &mut Reader<'de>, list: A) -> Result<(), A::Error> {
        each_element(reader, list, self.0)
    }
}

/// An entry of `images`: an object with `id`.
#[derive(Clone, Copy, Debug)]
struct ListedImage;

impl<'de> Shape<'de> for ListedImage {
    const EXPECTED: &'static str = r#"an object with "id""#;

    fn object<A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: A) -> Result<(), A::Error> {
        let first_key = reader.keys.len();
        let mut has_id = false;
        each_field(reader, map, &["id"], |reader, field, map| match field {
            Some(_) => {
                has_id = true;
                map.next_value_seed(Read(Id::Listed, reader))
            }
            None => map.next_value_seed(Skip),
        })?;
        if !has_id {
            return Err(missing(reader, first_key, "id"));
        }
        reader.keys.truncate(first_key);
        Ok(())
    }
}

/// An object that maps image ids to lists of captions. A caption may be `{"caption": "..."}`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping;

impl<'de> Shape<'de> for Mapping {
    const EXPECTED: &'static str = "an object of lists of captions by image id";

    fn object<A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: A) -> Result<(), A::Error> {
        each_field(reader, map, &[], |reader, _, map| {
            map.next_value_seed(Read(MappedList, reader))?;
            let slot = slot_of_key(reader)?;
            assign_to(reader, slot)
        })
    }
}

/// Returns the slot of the image whose id is the last key read.
fn slot_of_key<E: Error>(reader: &mut Reader<'_>) -> Result<usize, E> {
    let id = reader.keys.last().cloned().unwrap_or_default();
    Id::Reference.take(reader, ImageId::String(&id))?;
    Ok(reader.slot)
}

/// The captions of one image in a [`Mapping`].
#[derive(Clone, Copy, Debug)]
struct MappedList;

impl<'de> Shape<'de> for MappedList {
    const EXPECTED: &'static str = "a list of captions, as the value of an image id";

    fn list<A: SeqAccess<'de>>(self, reader: &mut Reader<'de>, list: A) -> Result<(), A::Error> {
        each_element(reader, list, MappedCaption)
    }
}

/// One caption in a [`Mapping`].
#[derive(Clone, Copy, Debug)]
struct MappedCaption;

impl<'de> Shape<'de> for MappedCaption {
    const EXPECTED: &'static str = r#"a string or an object with "caption""#;

    fn string<E: Error>(self, reader: &mut Reader<'de>, value: &str) -> Result<(), E> {
        Caption.string(reader, value)
    }

    fn borrowed<E: Error>(self, reader: &mut Reader<'de>, value: &'de str) -> Result<(), E> {
        Caption.borrowed(reader, value)
    }

    fn object<A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: A) -> Result<(), A::Error> {
        let first_key = reader.keys.len();
        let mut has_caption = false;
        each_field(reader, map, &["caption"], |reader, field, map| match field {
            Some(_) => {
                has_caption = true;
                map.next_value_seed(Read(Caption, reader))
            }
            None => map.next_value_seed(Skip),
        })?;
        if !has_caption {
            return Err(missing(reader, first_key, "caption"));
        }
        reader.keys.truncate(first_key);
        Ok(())
    }
}

/// The caption of one image in an object that maps image ids to captions.
#[derive(Clone, Copy, Debug)]
struct MappedResult;

impl<'de> Shape<'de> for MappedResult {
    const EXPECTED: &'static str = "a caption, as the value of an image id";

    fn string<E: Error>(self, reader: &mut Reader<'de>, value: &str) -> Result<(), E> {
        Caption.string(reader, value)
    }

    fn borrowed<E: Error>(self, reader: &mut Reader<'de>, value: &'de str) -> Result<(), E> {
        Caption.borrowed(reader, value)
    }

    fn list<A: SeqAccess<'de>>(self, reader: &mut Reader<'de>, list: A) -> Result<(), A::Error> {
        if reader.strict {
            return Err(reader.wrong(Self::EXPECTED, "a list"));
        }
        each_element(reader, list, MappedCaption)
    }
}

/// The top level of a results file: a list of entries, or an object that maps image ids to captions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Results;

impl<'de> Shape<'de> for Results {
    const EXPECTED: &'static str =
        r#"a list of {"image_id", "caption"} objects or an object of captions by image id"#;

    fn list<A: SeqAccess<'de>>(self, reader: &mut Reader<'de>, list: A) -> Result<(), A::Error> {
        each_element(reader, list, Entry::Result)
    }

    fn object<A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: A) -> Result<(), A::Error> {
        each_field(reader, map, &[], |reader, _, map| {
            map.next_value_seed(Read(MappedResult, reader))?;
            let slot = slot_of_key(reader)?;
            assign_one_to(reader, slot)
        })
    }
}

/// An object with a list of results under a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Under(pub(crate) &'static str);

impl<'de> Shape<'de> for Under {
    const EXPECTED: &'static str = "an object with a list of results";

    fn object<A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: A) -> Result<(), A::Error> {
        let mut is_there = false;
        each_field(reader, map, &[self.0], |reader, field, map| match field {
            Some(_) => {
                is_there = true;
                map.next_value_seed(Read(List(Entry::Result), reader))
            }
            None => map.next_value_seed(Skip),
        })?;
        if is_there { Ok(()) } else { Err(missing(reader, 0, self.0)) }
    }
}

/// Any value. If the top-level value is an object, its keys are kept.
#[derive(Clone, Copy, Debug)]
struct TopKeys;

impl<'de> Shape<'de> for TopKeys {
    const EXPECTED: &'static str = "an object";

    fn object<A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: A) -> Result<(), A::Error> {
        each_field(reader, map, &[], |_, _, map| map.next_value_seed(Skip))
    }
}

/// Describes the keys of a file whose top level is an object. Returns `None` for any other file.
pub(crate) fn top_keys(source: Source<'_>) -> Option<String> {
    let mut reader = Reader::default();
    // The keys before a fault further down are kept.
    let _ = source.read(&mut reader, TopKeys);
    (!reader.keys.is_empty()).then(|| describe_keys(&reader, 0))
}
