//! Datasets in the format of Karpathy's `dataset_coco.json`: images with a split and sentences.

use serde::de::{Error, MapAccess, SeqAccess};

use crate::ids::{IMAGE_ID, ImageId};
use crate::json::{Read, Reader, Segment, Shape, Skip, each_element, each_field};
use crate::shapes::{Caption, Id, assign_to, missing, repeated};

/// Keys that can contain an image id.
const IDS: [&str; 3] = ["cocoid", "filename", "imgid"];

/// The splits to read from a dataset, and the splits found.
#[derive(Debug)]
pub(crate) struct Dataset<'a> {
    /// Key of the image id.
    id: &'a str,
    /// Splits to read. If empty, all splits are read.
    wanted: &'a [String],
    /// Splits of the file, in order of first appearance.
    pub(crate) splits: Vec<String>,
}

impl<'a> Dataset<'a> {
    pub(crate) fn new(id: &'a str, wanted: &'a [String]) -> Self {
        Dataset { id, wanted, splits: Vec::new() }
    }

    /// Returns whether the images of a split are read.
    fn wants(&mut self, split: &str) -> bool {
        if !self.splits.iter().any(|known| known == split) {
            self.splits.push(split.to_owned());
        }
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted == split)
    }
}

/// The top level: an object with `images`.
pub(crate) struct Images<'a, 'b>(pub(crate) &'a mut Dataset<'b>);

impl<'de> Shape<'de> for Images<'_, '_> {
    const EXPECTED: &'static str = r#"an object with "images""#;

    fn object<A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: A) -> Result<(), A::Error> {
        let mut has_images = false;
        each_field(reader, map, &["images"], |reader, field, map| match field {
            Some(_) => {
                has_images = true;
                map.next_value_seed(Read(ImageList(&mut *self.0), reader))
            }
            None => map.next_value_seed(Skip),
        })?;
        if has_images { Ok(()) } else { Err(missing(reader, 0, "images")) }
    }
}

struct ImageList<'a, 'b>(&'a mut Dataset<'b>);

impl<'de> Shape<'de> for ImageList<'_, '_> {
    const EXPECTED: &'static str = "a list of objects";

    fn list<A: SeqAccess<'de>>(self, reader: &mut Reader<'de>, mut list: A) -> Result<(), A::Error> {
        for index in 0.. {
            reader.path.push(Segment::Index(index));
            let element = list.next_element_seed(Read(Image(&mut *self.0), reader))?;
            reader.path.pop();
            if element.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// One image. Its captions are assigned at the end, because the id and split may follow them.
struct Image<'a, 'b>(&'a mut Dataset<'b>);

impl<'de> Shape<'de> for Image<'_, '_> {
    const EXPECTED: &'static str = r#"an object with "split" and "sentences""#;

    fn object<A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: A) -> Result<(), A::Error> {
        let dataset = self.0;
        let first_key = reader.keys.len();
        let (mut id, mut split, mut has_sentences) = (None, None, false);
        let fields = ["split", "sentences", IDS[0], IDS[1], IDS[2]];
        each_field(reader, map, &fields, |reader, field, map| match field {
            Some("split") => map.next_value_seed(Read(Text(&mut split), reader)),
            Some("sentences") => {
                has_sentences = true;
                map.next_value_seed(Read(Sentences, reader))
            }
            Some(field) if field == dataset.id => map.next_value_seed(Read(OwnedId(&mut id), reader)),
            _ => map.next_value_seed(Skip),
        })?;
        let Some(split) = split else { return Err(missing(reader, first_key, "split")) };
        let Some(id) = id else { return Err(missing(reader, first_key, dataset.id)) };
        if !has_sentences {
            return Err(missing(reader, first_key, "sentences"));
        }
        reader.keys.truncate(first_key);
        if dataset.wants(&split) {
            return assign_sentences(reader, &id, dataset.id);
        }
        reader.captions.remove_unassigned();
        Ok(())
    }
}

/// Assigns the captions just read to an image that must be new.
fn assign_sentences<'de, E: Error>(reader: &mut Reader<'de>, id: &OwnedImageId, key: &str) -> Result<(), E> {
    let id = match id {
        OwnedImageId::Integer(id) => ImageId::Integer(*id),
        OwnedImageId::String(id) => ImageId::String(id),
    };
    reader.path.push(Segment::Key(reader.keys.len()));
    reader.keys.push(key.to_owned().into());
    Id::Reference.take(reader, id)?;
    let slot = reader.slot;
    if slot < reader.entries.len() {
        let images = reader.path[0];
        let first = reader.format_path(&[images, reader.entries[slot]]);
        return Err(repeated(reader, id, &first));
    }
    reader.path.pop();
    reader.keys.pop();
    reader.entries.extend(reader.path.last());
    assign_to(reader, slot)
}

/// An image id that outlives the JSON value it was read from.
enum OwnedImageId {
    Integer(i64),
    String(String),
}

struct OwnedId<'a>(&'a mut Option<OwnedImageId>);

impl<'de> Shape<'de> for OwnedId<'_> {
    const EXPECTED: &'static str = IMAGE_ID;

    fn string<E: Error>(self, _: &mut Reader<'de>, value: &str) -> Result<(), E> {
        *self.0 = Some(OwnedImageId::String(value.to_owned()));
        Ok(())
    }

    fn integer<E: Error>(self, _: &mut Reader<'de>, value: i64) -> Result<(), E> {
        *self.0 = Some(OwnedImageId::Integer(value));
        Ok(())
    }
}

struct Text<'a>(&'a mut Option<String>);

impl<'de> Shape<'de> for Text<'_> {
    const EXPECTED: &'static str = "a string";

    fn string<E: Error>(self, _: &mut Reader<'de>, value: &str) -> Result<(), E> {
        *self.0 = Some(value.to_owned());
        Ok(())
    }
}

struct Sentences;

impl<'de> Shape<'de> for Sentences {
    const EXPECTED: &'static str = r#"a list of objects with "raw""#;

    fn list<A: SeqAccess<'de>>(self, reader: &mut Reader<'de>, list: A) -> Result<(), A::Error> {
        each_element(reader, list, Sentence)
    }
}

#[derive(Clone, Copy)]
struct Sentence;

impl<'de> Shape<'de> for Sentence {
    const EXPECTED: &'static str = r#"an object with "raw""#;

    fn object<A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: A) -> Result<(), A::Error> {
        let first_key = reader.keys.len();
        let mut has_text = false;
        each_field(reader, map, &["raw"], |reader, field, map| match field {
            Some(_) => {
                has_text = true;
                map.next_value_seed(Read(Caption, reader))
            }
            None => map.next_value_seed(Skip),
        })?;
        if !has_text {
            return Err(missing(reader, first_key, "raw"));
        }
        reader.keys.truncate(first_key);
        Ok(())
    }
}
