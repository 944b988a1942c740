//! Captions from record batches. `tests/capeval/test_arrow.py` covers batches of other libraries.

use std::error::Error;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    StringViewArray, UInt64Array, types::Int8Type, types::Int32Type,
};
use capeval_formats::{Captions, Columns, ReadError, ReadErrorKind, read_batches};

type Outcome = Result<(), Box<dyn Error>>;

fn columns(is_single: bool) -> Columns {
    Columns { image: "image_id".to_owned(), caption: "caption".to_owned(), split: None, is_single }
}

fn batch(ids: ArrayRef, captions: ArrayRef) -> Result<RecordBatch, Box<dyn Error>> {
    Ok(RecordBatch::try_from_iter([("image_id", ids), ("caption", captions)])?)
}

fn read(batches: &[RecordBatch], columns: &Columns) -> Result<Captions, ReadError> {
    read_batches(&batches[0].schema(), batches, columns)
}

fn texts(captions: &Captions) -> Vec<Vec<&str>> {
    (0..captions.len()).map(|image| captions.captions_of(image).collect()).collect()
}

#[test]
fn rows_of_an_image_need_not_be_adjacent() -> Outcome {
    let ids = Arc::new(Int64Array::from(vec![7, 5, 7]));
    let first = batch(ids.clone(), Arc::new(StringArray::from(vec!["a", "b", "c"])))?;
    let second = batch(ids, Arc::new(StringArray::from(vec!["d", "e", "f"])))?;
    let captions = read(&[first.slice(1, 2), second], &columns(false))?;
    assert_eq!(captions.ids().iter().map(|id| id.to_string()).collect::<Vec<_>>(), ["5", "7"]);
    assert_eq!(texts(&captions), [vec!["b", "e"], vec!["c", "d", "f"]]);
    Ok(())
}

#[test]
fn lists_and_dictionaries_keep_their_offsets() -> Outcome {
    let ids: DictionaryArray<Int8Type> = vec!["x", "y", "x"].into_iter().collect();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
        Some(vec![Some(0)]),
        Some(vec![Some(1), Some(2)]),
        Some(vec![Some(0)]),
    ]);
    let views =
        Arc::new(StringViewArray::from(vec!["none", "a man", "a caption of more than twelve bytes", "b"]));
    let field = Arc::new(arrow_schema::Field::new_list_field(arrow_schema::DataType::Utf8View, true));
    let texts_of_lists = ListArray::try_new(field, lists.offsets().clone(), views, None)?;
    let whole = batch(Arc::new(ids), Arc::new(texts_of_lists))?;
    let captions = read(&[whole.slice(1, 2)], &columns(false))?;
    assert_eq!(texts(&captions), [vec!["a man", "a caption of more than twelve bytes"], vec!["b"]]);
    Ok(())
}

#[test]
fn nulls_and_too_large_numbers_are_reported_with_their_row() -> Outcome {
    let good = batch(Arc::new(Int32Array::from(vec![1, 2])), Arc::new(StringArray::from(vec!["a", "b"])))?;
    let bad =
        batch(Arc::new(Int32Array::from(vec![3, 4])), Arc::new(StringArray::from(vec![Some("c"), None])))?;
    let error = read(&[good, bad.clone()], &columns(false)).unwrap_err();
    assert_eq!(error.to_string(), "row 3: caption must be text (got null)");
    assert_eq!(error.place.map(|place| place.entry), Some("row 3".to_owned()));
    assert_eq!(texts(&read(&[bad.slice(0, 1)], &columns(false))?), [["c"]]);
    let large = batch(Arc::new(UInt64Array::from(vec![1 << 63])), Arc::new(StringArray::from(vec!["a"])))?;
    let error = read(&[large], &columns(false)).unwrap_err();
    assert_eq!(error.kind, ReadErrorKind::NumberTooLarge);
    Ok(())
}

#[test]
fn a_repeated_image_is_an_error_if_images_are_single() -> Outcome {
    let ids = Arc::new(Int32Array::from(vec![7, 5, 7]));
    let rows = batch(ids, Arc::new(StringArray::from(vec!["a", "b", "c"])))?;
    let error = read(&[rows.slice(0, 2), rows.slice(2, 1)], &columns(true)).unwrap_err();
    assert_eq!(error.kind, ReadErrorKind::DuplicateImage);
    assert_eq!(error.to_string(), "row 2: duplicate image_id 7 (first seen in row 0)");
    assert_eq!(read(&[rows.slice(1, 2)], &columns(true))?.len(), 2);
    Ok(())
}

#[test]
fn rows_of_other_splits_are_skipped() -> Outcome {
    let splits: ArrayRef = Arc::new(StringArray::from(vec![Some("val"), None, Some("test")]));
    let captions: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("c")]));
    let ids: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    let rows = RecordBatch::try_from_iter_with_nullable([
        ("image_id", ids, true),
        ("caption", captions, true),
        ("split", splits, true),
    ])?;
    let wanted =
        |name: &str| Columns { split: Some(("split".to_owned(), vec![name.to_owned()])), ..columns(true) };
    assert_eq!(texts(&read(std::slice::from_ref(&rows), &wanted("test"))?), [["c"]]);
    let error = read(&[rows], &wanted("train")).unwrap_err();
    assert_eq!(error.kind, ReadErrorKind::NoCaptions);
    Ok(())
}

#[test]
fn dictionaries_without_values_are_all_null() -> Outcome {
    let none: DictionaryArray<Int8Type> = vec![None::<&str>, None].into_iter().collect();
    assert!(none.values().is_empty());
    let rows = batch(Arc::new(Int32Array::from(vec![1, 2])), Arc::new(none))?;
    let error = read(&[rows], &columns(false)).unwrap_err();
    assert_eq!(error.to_string(), "row 0: caption must be text (got null)");
    Ok(())
}
