//! The readers: one function a kind of file.

use crate::captions::Captions;
use crate::error::{Place, ReadError, ReadErrorKind};
use crate::json::{Reader, Segment};
use crate::karpathy::{Dataset, Images};
use crate::python_numbers::PythonNumbers;
use crate::shapes::{Annotations, Entry, Mapping, Results, TopLevel, Under, top_keys};
use crate::source::{Source, text_of};
use crate::tree::Build;

/// Reads references from JSON of one of these forms.
///
/// - COCO annotations: `{"images": [{"id"}, ...], "annotations": [{"image_id", "caption"}, ...]}`.
///   With `images`, images stand in its order (the order of pycocotools' `getImgIds`), every image
///   must have an annotation and every annotation an image; without, in order of first appearance.
/// - A list: `[{"image_id", "caption"}, ...]`, an image any number of times. Instead of one
///   `caption` an entry may have a list of them under `caption` (as nocaps files do), `captions` or
///   `references`.
/// - A mapping: `{"391895": ["...", ...], ...}`, a caption also as `{"caption": "..."}` (the form
///   pycocoevalcap scores). JSON has text alone for keys: where each of them is an integer written
///   plainly, the ids are integers. An object with a key `annotations` or `images` is never taken
///   for a mapping.
///
/// Other keys are passed over. Captions stay as they are, empty ones and line breaks included.
///
/// # Errors
/// [`ReadError`]. An image may have any number of references: [`ReadErrorKind::DuplicateImage`] is
/// about `images` alone.
pub fn read_annotations(bytes: &[u8]) -> Result<Captions, ReadError> {
    from_text(bytes, annotations)
}

fn annotations(file: &str, numbers: Option<PythonNumbers>) -> Result<Captions, ReadError> {
    let source = Source::whole(file);
    let mut reader = Reader { numbers, ..Reader::default() };
    let mut top = TopLevel::List;
    source.read(&mut reader, Annotations(&mut top))?;
    match top {
        TopLevel::List => finished(reader),
        TopLevel::Coco { lists_images: true } => in_listed_order(reader),
        TopLevel::Coco { .. } => finished(reader),
        // Which form an object is shows only at its end: a mapping is read again.
        TopLevel::OtherObject => {
            let mut reader = Reader { numbers, ..Reader::default() };
            source.read(&mut reader, Mapping).map_err(|error| {
                let expected = r#"COCO annotations or lists of captions by image id"#;
                with_keys(error, source, expected)
            })?;
            finished(reader).map(with_ids_of_keys)
        }
    }
}

/// Reads results, one caption an image: `[{"image_id", "caption"}, ...]`, as COCO's server takes
/// them, or a mapping `{"391895": "...", ...}`, whose ids are those that [`read_annotations`] takes
/// from a mapping. A caption may also be a list of one.
///
/// Other keys are passed over. Captions stay as they are, empty ones and line breaks included.
///
/// # Errors
/// [`ReadError`]; an image with two results is [`ReadErrorKind::DuplicateImage`].
pub fn read_results(bytes: &[u8]) -> Result<Captions, ReadError> {
    from_text(bytes, |file, numbers| results(file, Reader { numbers, ..Reader::default() }))
}

/// Reads results as [`read_results`] does, in the forms alone that a server takes: a caption is text, and
/// nothing in the file is `NaN` or `Infinity`.
///
/// # Errors
/// [`ReadError`], as [`read_results`].
pub fn read_results_strictly(bytes: &[u8]) -> Result<Captions, ReadError> {
    from_plain_text(bytes, |file| results(file, Reader { strict: true, ..Reader::default() }))
}

/// Reads results that are a list in an object, such as `{"results": [{"image_id", "caption"}, ...]}`. Other
/// keys of the object are passed over.
///
/// # Errors
/// [`ReadError`], as [`read_results`]; [`ReadErrorKind::MissingField`] where there is no such list.
pub fn read_results_under(bytes: &[u8], key: &'static str) -> Result<Captions, ReadError> {
    from_text(bytes, |file, numbers| {
        let mut reader = Reader { numbers, ..Reader::default() };
        Source::whole(file).read(&mut reader, Under(key))?;
        finished(reader)
    })
}

fn results<'de>(file: &'de str, mut reader: Reader<'de>) -> Result<Captions, ReadError> {
    let source = Source::whole(file);
    source.read(&mut reader, Results).map_err(|error| {
        let expected = r#"a list of {"image_id", "caption"} objects or captions by image id"#;
        with_keys(error, source, expected)
    })?;
    let captions = finished(reader)?;
    let is_mapping = file.trim_ascii_start().starts_with('{');
    if is_mapping { Ok(with_ids_of_keys(captions)) } else { Ok(captions) }
}

/// Gives captions of a mapping the ids that its keys stand for.
fn with_ids_of_keys(captions: Captions) -> Captions {
    captions.with_integer_ids().unwrap_or_else(|strings| strings)
}

/// Reads references from JSON lines: in each line an entry as in the list that
/// [`read_annotations`] takes. Blank lines are passed over.
///
/// # Errors
/// [`ReadError`], whose place names the line.
pub fn read_json_lines_references(bytes: &[u8]) -> Result<Captions, ReadError> {
    from_text(bytes, |file, numbers| lines(file, numbers, Entry::References))
}

/// Reads results from JSON lines: `{"image_id", "caption"}` in each line. Blank lines are passed
/// over.
///
/// # Errors
/// [`ReadError`], whose place names the line.
pub fn read_json_lines_results(bytes: &[u8]) -> Result<Captions, ReadError> {
    from_text(bytes, |file, numbers| lines(file, numbers, Entry::Result))
}

/// Reads references from a dataset in the form of Karpathy's files: `{"images": [{"split", "sentences":
/// [{"raw"}, ...]}, ...]}`.
///
/// `id` is the key of an image's id, such as `cocoid`; `splits` are those that are read, all where there are
/// none. The second value is the splits of the file. There may be no captions, where no image is of these
/// splits.
///
/// # Errors
/// [`ReadError`]; an image that is in the file twice is [`ReadErrorKind::DuplicateImage`].
pub fn read_karpathy(
    bytes: &[u8],
    id: &str,
    splits: &[String],
) -> Result<(Captions, Vec<String>), ReadError> {
    from_text(bytes, |file, numbers| {
        let mut reader = Reader { numbers, ..Reader::default() };
        let mut dataset = Dataset::new(id, splits);
        Source::whole(file).read(&mut reader, Images(&mut dataset))?;
        let ids = reader.interner.into_ids();
        Ok((reader.captions.grouped(ids), dataset.splits))
    })
}

/// Reads the text of a file, whose `NaN` and `Infinity` are an error only where `read` takes a value: where
/// it stops at one, it is called again with a text in which strings stand for them.
fn from_text<T>(
    bytes: &[u8],
    read: impl Fn(&str, Option<PythonNumbers>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    from_plain_text(bytes, |text| match read(text, None) {
        Err(error) if error.kind == ReadErrorKind::NotANumber => match PythonNumbers::replaced_in(text) {
            Some((numbers, replaced)) => read(&replaced, Some(numbers)),
            None => Err(error),
        },
        result => result,
    })
}

/// Reads the text of a file. Where the text stops being UTF-8, reading what is before that tells
/// the entry, or something that is wrong earlier.
fn from_plain_text<T>(bytes: &[u8], read: impl FnOnce(&str) -> Result<T, ReadError>) -> Result<T, ReadError> {
    let (text, broken) = text_of(bytes)?;
    let result = read(text);
    let Some(broken) = broken else {
        return result;
    };
    let Err(before) = result else {
        return Err(broken);
    };
    match (before.kind, before.place.clone()) {
        (ReadErrorKind::Truncated, Some(place)) if broken.kind == ReadErrorKind::NotUtf8 => Err(ReadError {
            message: format!("{} in {place}", broken.message),
            place: before.place,
            ..broken
        }),
        (ReadErrorKind::Truncated | ReadErrorKind::NoCaptions, None) => Err(broken),
        _ => Err(before),
    }
}

/// Reads any JSON, as strictly as captions are read: a key may stand once in an object, wherever it is.
/// `NaN` and `Infinity` are floats.
///
/// # Errors
/// [`ReadError`]: the file is not such JSON.
pub fn read_json<B: Build>(bytes: &[u8], builder: &B) -> Result<B::Value, ReadError> {
    from_text(bytes, |file, numbers| {
        Source::whole(file).read_tree(&mut Reader { numbers, ..Reader::default() }, builder)
    })
}

/// Reads any JSON lines, as [`read_json`] reads a file: the values and the numbers of their lines, from 1.
/// Blank lines are passed over.
///
/// # Errors
/// [`ReadError`], whose place names the line.
pub fn read_json_lines<B: Build>(bytes: &[u8], builder: &B) -> Result<Vec<(usize, B::Value)>, ReadError> {
    from_text(bytes, |file, numbers| {
        let mut values = Vec::new();
        each_line(file, &mut Reader { numbers, ..Reader::default() }, |source, number, reader| {
            values.push((number, source.read_tree(reader, builder)?));
            Ok(())
        })?;
        Ok(values)
    })
}

fn lines(file: &str, numbers: Option<PythonNumbers>, entry: Entry) -> Result<Captions, ReadError> {
    let mut reader = Reader { numbers, ..Reader::default() };
    each_line(file, &mut reader, |source, _, reader| source.read(reader, entry))?;
    finished(reader)
}

/// Calls `read` with each line that is not blank, and its number from 1.
fn each_line<'de>(
    file: &'de str,
    reader: &mut Reader<'de>,
    mut read: impl FnMut(Source<'de>, usize, &mut Reader<'de>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut next = 0;
    for (index, line) in file.split_inclusive('\n').enumerate() {
        let start = next;
        next += line.len();
        let line = line.trim_end_matches([' ', '\t', '\r', '\n']);
        if line.is_empty() {
            continue;
        }
        let source = Source { file, start, end: start + line.len(), is_line: true };
        reader.path = vec![Segment::Line(index + 1)];
        read(source, index + 1, reader)?;
    }
    Ok(())
}

/// Adds what the whole file looks like to the error of a value in it.
fn with_keys(error: ReadError, source: Source<'_>, expected: &str) -> ReadError {
    let is_of_shape = matches!(error.kind, ReadErrorKind::WrongType | ReadErrorKind::MissingField);
    match top_keys(source).filter(|_| is_of_shape) {
        None => error,
        Some(keys) => {
            let message = format!("{}; expected {expected}, found an object with {keys}", error.message);
            ReadError { message, ..error }
        }
    }
}

fn finished(reader: Reader<'_>) -> Result<Captions, ReadError> {
    let ids = reader.interner.into_ids();
    if ids.is_empty() {
        let message = "the file must have at least one caption (got none)";
        return Err(ReadError::of_file(ReadErrorKind::NoCaptions, message));
    }
    Ok(reader.captions.grouped(ids))
}

/// Puts the images in the order of `images`, once they and the annotations agree.
fn in_listed_order(mut reader: Reader<'_>) -> Result<Captions, ReadError> {
    if reader.interner.ids().is_empty() {
        return finished(reader);
    }
    refuse_unknown_images(&reader)?;
    refuse_images_without_references(&reader)?;
    if reader.listed.is_sorted() {
        return finished(reader);
    }
    let ids = reader.interner.ids().picked(&reader.listed);
    let rank: Vec<usize> = reader.rank.iter().flatten().copied().collect();
    reader.captions.rename(&rank);
    Ok(reader.captions.grouped(ids))
}

fn refuse_unknown_images(reader: &Reader<'_>) -> Result<(), ReadError> {
    let rank_of = |slot: usize| reader.rank.get(slot).copied().flatten();
    let slots = reader.captions.slots();
    let Some(annotation) = slots.iter().position(|&slot| rank_of(slot).is_none()) else {
        return Ok(());
    };
    let place = Place { entry: format!("annotations[{annotation}]"), field: Some("image_id".to_owned()) };
    let id = id_in_words(reader, slots[annotation]);
    let message = format!(r#"{place} must be the id of one of "images" (got {id})"#);
    Err(ReadError { place: Some(place), ..ReadError::of_file(ReadErrorKind::UnknownImage, message) })
}

fn refuse_images_without_references(reader: &Reader<'_>) -> Result<(), ReadError> {
    const SHOWN: usize = 5;
    let mut has_references = vec![false; reader.interner.ids().len()];
    for &slot in reader.captions.slots() {
        has_references[slot] = true;
    }
    let is_without = |slot: &usize| !has_references[*slot];
    let without: Vec<usize> = reader.listed.iter().copied().filter(is_without).collect();
    let Some(&first) = without.first() else {
        return Ok(());
    };
    let shown: Vec<String> = without.iter().take(SHOWN).map(|&slot| id_in_words(reader, slot)).collect();
    let more = if without.len() > SHOWN { ", ..." } else { "" };
    let message = format!(
        r#"every image of "images" must have an annotation ({} of {} have none: {}{more})"#,
        without.len(),
        reader.listed.len(),
        shown.join(", ")
    );
    let entry = reader.rank[first].map(|rank| format!("images[{rank}]"));
    Err(ReadError {
        place: entry.map(|entry| Place { entry, field: None }),
        ..ReadError::of_file(ReadErrorKind::NoReferences, message)
    })
}

fn id_in_words(reader: &Reader<'_>, slot: usize) -> String {
    let id = reader.interner.ids().get(slot);
    id.map_or_else(String::new, |id| id.to_string())
}
