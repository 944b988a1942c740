//! Readers, one function per file format.

use crate::captions::Captions;
use crate::error::{Place, ReadError, ReadErrorKind};
use crate::json::{Reader, Segment};
use crate::karpathy::{Dataset, Images};
use crate::python_numbers::PythonNumbers;
use crate::shapes::{Annotations, Entry, Mapping, Results, TopLevel, Under, top_keys};
use crate::source::{Source, text_of};
use crate::tree::Build;

/// Reads references from one of these JSON forms:
///
/// - COCO annotations: `{"images": [{"id"}, ...], "annotations": [{"image_id", "caption"}, ...]}`. With
///   `images`, the images keep its order (the order of pycocotools' `getImgIds`), and the images in `images`
///   and in `annotations` must be the same. Without it, the images are in order of first appearance.
/// - A list: `[{"image_id", "caption"}, ...]`, in which images may repeat. Instead of one `caption`, an entry
///   may have a list under `caption` (as in nocaps files), `captions` or `references`.
/// - A mapping: `{"391895": ["...", ...], ...}`, in which a caption may also be `{"caption": "..."}` (the
///   input of pycocoevalcap). JSON keys are always strings: if all of them are integers in canonical form,
///   the ids are integers. An object with a key `annotations` or `images` is never read as a mapping.
///
/// Other keys are ignored. Captions are not modified: empty captions and line breaks are kept.
///
/// # Errors
/// Returns a [`ReadError`]. An image may have any number of references, so [`ReadErrorKind::DuplicateImage`]
/// occurs only for `images`.
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
        // Only the end of an object shows its form, so a mapping is read a second time.
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

/// Reads results with one caption per image.
///
/// The file is a list `[{"image_id", "caption"}, ...]`, as on the COCO server, or a mapping
/// `{"391895": "...", ...}` with ids as in [`read_annotations`]. A caption may also be a list of one string.
/// Other keys are ignored. Captions are not modified: empty captions and line breaks are kept.
///
/// # Errors
/// Returns a [`ReadError`], with [`ReadErrorKind::DuplicateImage`] if an image has two results.
pub fn read_results(bytes: &[u8]) -> Result<Captions, ReadError> {
    from_text(bytes, |file, numbers| results(file, Reader { numbers, ..Reader::default() }))
}

/// Reads results like [`read_results`], but only in the forms that evaluation servers accept: captions are
/// strings, and `NaN` and `Infinity` are rejected in the whole file.
///
/// # Errors
/// Returns a [`ReadError`], like [`read_results`].
pub fn read_results_strictly(bytes: &[u8]) -> Result<Captions, ReadError> {
    from_plain_text(bytes, |file| results(file, Reader { strict: true, ..Reader::default() }))
}

/// Reads results from a list in an object, such as `{"results": [{"image_id", "caption"}, ...]}`.
///
/// Other keys of the object are ignored.
///
/// # Errors
/// Returns a [`ReadError`], like [`read_results`], with [`ReadErrorKind::MissingField`] if the list is
/// missing.
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

/// Converts the ids of a mapping to integers if all keys are integers.
fn with_ids_of_keys(captions: Captions) -> Captions {
    captions.with_integer_ids().unwrap_or_else(|strings| strings)
}

/// Reads references from JSON Lines.
///
/// Each line is an entry of the list form of [`read_annotations`]. Blank lines are skipped.
///
/// # Errors
/// Returns a [`ReadError`] with the line.
pub fn read_json_lines_references(bytes: &[u8]) -> Result<Captions, ReadError> {
    from_text(bytes, |file, numbers| lines(file, numbers, Entry::References))
}

/// Reads results from JSON Lines, with `{"image_id", "caption"}` in each line. Blank lines are skipped.
///
/// # Errors
/// Returns a [`ReadError`] with the line.
pub fn read_json_lines_results(bytes: &[u8]) -> Result<Captions, ReadError> {
    from_text(bytes, |file, numbers| lines(file, numbers, Entry::Result))
}

/// Reads references from a dataset in Karpathy's format: `{"images": [{"split", "sentences": [{"raw"}, ...]},
/// ...]}`.
///
/// `id` is the key of the image id, such as `cocoid`. `splits` are the splits to read, or all if it is empty.
/// Also returns the splits of the file. The captions may be empty if no image is in these splits.
///
/// # Errors
/// Returns a [`ReadError`], with [`ReadErrorKind::DuplicateImage`] if an image is repeated.
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
        Ok((reader.captions.group(ids), dataset.splits))
    })
}

/// Reads the text of a file.
///
/// `NaN` and `Infinity` are errors only in values that `read` uses: if `read` stops at one, it is called
/// again with placeholders in their place.
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

/// Reads the text of a file.
///
/// If the file is not valid UTF-8, the text before the invalid byte is read to find the entry, or an earlier
/// error.
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

/// Reads any JSON file with the same checks as caption files.
///
/// Duplicate keys are rejected in every object. `NaN` and `Infinity` are floats.
///
/// # Errors
/// Returns a [`ReadError`] if the file is not valid.
pub fn read_json<B: Build>(bytes: &[u8], builder: &B) -> Result<B::Value, ReadError> {
    from_text(bytes, |file, numbers| {
        Source::whole(file).read_tree(&mut Reader { numbers, ..Reader::default() }, builder)
    })
}

/// Reads any JSON Lines file with the checks of [`read_json`].
///
/// Returns the line numbers, from 1, and their values. Blank lines are skipped.
///
/// # Errors
/// Returns a [`ReadError`] with the line.
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

/// Calls `read` with each non-blank line and its number, from 1.
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

/// Adds the keys of the file to an error about the type of a value in it.
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
    Ok(reader.captions.group(ids))
}

/// Sorts the images in the order of `images`, after checking that both have the same images.
fn in_listed_order(mut reader: Reader<'_>) -> Result<Captions, ReadError> {
    if reader.interner.ids().is_empty() {
        return finished(reader);
    }
    refuse_unknown_images(&reader)?;
    refuse_images_without_references(&reader)?;
    if reader.listed.is_sorted() {
        return finished(reader);
    }
    let ids = reader.interner.ids().select(&reader.listed);
    let rank: Vec<usize> = reader.rank.iter().flatten().copied().collect();
    reader.captions.rename(&rank);
    Ok(reader.captions.group(ids))
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
