//! Captions from Arrow record batches with an image id column and a caption column.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};

use crate::captions::{Captions, FlatCaptions};
use crate::error::{Place, ReadError, ReadErrorKind};
use crate::ids::{IMAGE_ID, ImageId};
use crate::interner::Interner;

/// Columns and rows to read from a table.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Name of the image id column.
    pub image: String,
    /// Name of the caption column.
    pub caption: String,
    /// A text column and the values that select a row. If `None`, all rows are read.
    pub split: Option<(String, Vec<String>)>,
    /// Whether each image must have exactly one caption, in one row.
    pub is_single: bool,
}

/// Reads captions from the record batches of a table.
///
/// Image ids are integers or text. A caption is text, or a list of text with several captions. Text may be
/// dictionary-encoded and in any of Arrow's layouts.
///
/// # Errors
/// Returns a [`ReadError`] for a null, a column of another type, or a repeated image if
/// [`Columns::is_single`]. Its place is the row, counted from 0 over all batches.
pub fn read_batches(
    schema: &Schema,
    batches: &[RecordBatch],
    columns: &Columns,
) -> Result<Captions, ReadError> {
    check_types(schema, columns)?;
    let mut reader = Reader { columns, interner: Interner::default(), rows: Vec::new() };
    let mut captions = FlatCaptions::default();
    let mut first = 0;
    for batch in batches {
        reader.read(batch, first, &mut captions)?;
        first += batch.num_rows();
    }
    if reader.interner.ids().is_empty() {
        let message = "the table must have at least one caption (got none)";
        return Err(ReadError::of_file(ReadErrorKind::NoCaptions, message));
    }
    Ok(captions.group(reader.interner.into_ids()))
}

/// Reads one value of a column. `None` stands for a null.
type Get<'a, T> = Box<dyn Fn(usize) -> Option<T> + 'a>;

struct Reader<'a> {
    columns: &'a Columns,
    interner: Interner,
    /// The first row of each image.
    rows: Vec<usize>,
}

impl Reader<'_> {
    fn read<'a>(
        &mut self,
        batch: &'a RecordBatch,
        first: usize,
        captions: &mut FlatCaptions<'a>,
    ) -> Result<(), ReadError> {
        let columns = self.columns;
        let ids = ids(column(batch, &columns.image)?).ok_or_else(|| missing_column(&columns.image))?;
        let texts =
            Texts::of(column(batch, &columns.caption)?).ok_or_else(|| missing_column(&columns.caption))?;
        let splits = match &columns.split {
            None => None,
            Some((name, wanted)) => {
                Some((text(column(batch, name)?).ok_or_else(|| missing_column(name))?, wanted))
            }
        };
        for row in 0..batch.num_rows() {
            if let Some((split, wanted)) = &splits
                && !split(row).is_some_and(|split| wanted.iter().any(|each| each == split))
            {
                continue;
            }
            let slot = self.slot(ids(row), first + row)?;
            self.add(&texts, row, first + row, captions)?;
            captions.assign_to(slot);
        }
        Ok(())
    }

    /// Returns the slot of a row's image.
    fn slot(&mut self, id: Option<Id<'_>>, row: usize) -> Result<usize, ReadError> {
        let field = &self.columns.image;
        let id = match id {
            None => return Err(wrong(row, field, IMAGE_ID, "null")),
            Some(Id::TooLarge(id)) => {
                let message = format!("row {row}: {field} must be an integer of at most 64 bits (got {id})");
                return Err(of_row(ReadErrorKind::NumberTooLarge, row, field, message));
            }
            Some(Id::Image(id)) => id,
        };
        // All ids of a column have the same type, so they are never mixed.
        let (slot, is_new) = self.interner.slot(id).ok_or_else(|| missing_column(field))?;
        if is_new {
            self.rows.push(row);
        } else if self.columns.is_single {
            let message =
                format!("row {row}: duplicate {field} {id} (first seen in row {})", self.rows[slot]);
            return Err(of_row(ReadErrorKind::DuplicateImage, row, field, message));
        }
        Ok(slot)
    }

    fn add<'a>(
        &self,
        texts: &Texts<'a>,
        at: usize,
        row: usize,
        captions: &mut FlatCaptions<'a>,
    ) -> Result<(), ReadError> {
        let field = &self.columns.caption;
        let expected = if texts.are_lists() { "a list of text" } else { "text" };
        let range = texts.range(at).ok_or_else(|| wrong(row, field, expected, "null"))?;
        let count = range.len();
        if count == 0 {
            let message = format!("row {row} must have at least one caption (got an empty list)");
            return Err(of_row(ReadErrorKind::NoReferences, row, field, message));
        }
        if self.columns.is_single && count > 1 {
            let message = format!("row {row} must have one caption (got a list of {count})");
            return Err(of_row(ReadErrorKind::SeveralCaptions, row, field, message));
        }
        for (place, element) in range.enumerate() {
            let name = || if texts.are_lists() { format!("{field}[{place}]") } else { field.clone() };
            captions.push(texts.text(element).ok_or_else(|| wrong(row, &name(), "text", "null"))?);
        }
        Ok(())
    }
}

/// The captions of each row.
enum Texts<'a> {
    Single(Get<'a, &'a str>),
    Lists {
        /// Element range of a row's list.
        range: Get<'a, Range<usize>>,
        text: Get<'a, &'a str>,
    },
}

impl<'a> Texts<'a> {
    fn of(array: &'a dyn Array) -> Option<Self> {
        if let Some(text) = text(array) {
            return Some(Texts::Single(text));
        }
        let (values, range): (&'a dyn Array, Get<'a, Range<usize>>) = match array.data_type() {
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                let offsets = lists.value_offsets();
                (lists.values(), Box::new(move |row| Some(offsets[row] as usize..offsets[row + 1] as usize)))
            }
            DataType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                let offsets = lists.value_offsets();
                (lists.values(), Box::new(move |row| Some(offsets[row] as usize..offsets[row + 1] as usize)))
            }
            DataType::FixedSizeList(_, length) => {
                let (lists, length) = (array.as_fixed_size_list(), *length as usize);
                (lists.values(), Box::new(move |row| Some(row * length..(row + 1) * length)))
            }
            _ => return None,
        };
        let range: Get<'a, Range<usize>> =
            Box::new(move |row| if array.is_valid(row) { range(row) } else { None });
        Some(Texts::Lists { range, text: text(values)? })
    }

    fn are_lists(&self) -> bool {
        matches!(self, Texts::Lists { .. })
    }

    /// Returns the element range of a row. Without lists, it is the row itself.
    fn range(&self, row: usize) -> Option<Range<usize>> {
        match self {
            Texts::Single(_) => Some(row..row + 1),
            Texts::Lists { range, .. } => range(row),
        }
    }

    fn text(&self, element: usize) -> Option<&'a str> {
        match self {
            Texts::Single(text) | Texts::Lists { text, .. } => text(element),
        }
    }
}

fn text(array: &dyn Array) -> Option<Get<'_, &str>> {
    Some(match array.data_type() {
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            Box::new(move |row| texts.is_valid(row).then(|| texts.value(row)))
        }
        DataType::LargeUtf8 => {
            let texts = array.as_string::<i64>();
            Box::new(move |row| texts.is_valid(row).then(|| texts.value(row)))
        }
        DataType::Utf8View => {
            let texts = array.as_string_view();
            Box::new(move |row| texts.is_valid(row).then(|| texts.value(row)))
        }
        DataType::Dictionary(..) => decode_dictionary(array, text)?,
        DataType::Null => Box::new(|_| None),
        _ => return None,
    })
}

/// Returns a reader of dictionary-encoded values, if `read` accepts their type.
fn decode_dictionary<'a, T: 'a>(
    array: &'a dyn Array,
    read: impl Fn(&'a dyn Array) -> Option<Get<'a, T>>,
) -> Option<Get<'a, T>> {
    let codes = array.as_any_dictionary();
    let value = read(codes.values())?;
    // If the dictionary is empty, every row is null.
    let keys = if codes.values().is_empty() { Vec::new() } else { codes.normalized_keys() };
    Some(Box::new(move |row| if codes.is_valid(row) { value(*keys.get(row)?) } else { None }))
}

/// An image id, or an integer beyond 64 bits.
enum Id<'a> {
    Image(ImageId<'a>),
    TooLarge(u64),
}

fn ids(array: &dyn Array) -> Option<Get<'_, Id<'_>>> {
    Some(match array.data_type() {
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => {
            let ids = array.as_primitive::<UInt64Type>();
            let id =
                |id: u64| i64::try_from(id).map_or(Id::TooLarge(id), |id| Id::Image(ImageId::Integer(id)));
            Box::new(move |row| ids.is_valid(row).then(|| id(ids.value(row))))
        }
        DataType::Dictionary(..) => decode_dictionary(array, ids)?,
        _ => {
            let text = text(array)?;
            Box::new(move |row| text(row).map(|id| Id::Image(ImageId::String(id))))
        }
    })
}

fn integers<T>(array: &dyn Array) -> Get<'_, Id<'_>>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64>,
{
    let ids = array.as_primitive::<T>();
    Box::new(move |row| ids.is_valid(row).then(|| Id::Image(ImageId::Integer(ids.value(row).into()))))
}

/// Returns a column of a batch after validating it.
///
/// The memory was written by another program, so it may be invalid.
fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a dyn Array, ReadError> {
    let array = batch.column_by_name(name).ok_or_else(|| missing_column(name))?;
    array.to_data().validate_full().map_err(|error| {
        let message = format!("column {name} is damaged ({error})");
        ReadError::of_file(ReadErrorKind::WrongType, message)
    })?;
    Ok(array.as_ref())
}

fn missing_column(name: &str) -> ReadError {
    let message = format!("column {name} must be in every batch with the same type (got a batch without it)");
    ReadError::of_file(ReadErrorKind::WrongType, message)
}

fn check_types(schema: &Schema, columns: &Columns) -> Result<(), ReadError> {
    let kind = |name: &str| schema.field_with_name(name).map(|field| plain(field.data_type())).ok();
    let wrong = |name: &str, expected: &str| {
        let found = schema
            .field_with_name(name)
            .map_or("no such column".to_owned(), |field| field.data_type().to_string());
        let message = format!("column {name} must hold {expected} (got {found})");
        let place = Some(Place { entry: "the table".to_owned(), field: Some(name.to_owned()) });
        ReadError { kind: ReadErrorKind::WrongType, place, position: None, message }
    };
    if !kind(&columns.image).is_some_and(|kind| kind.is_integer() || is_text(kind)) {
        return Err(wrong(&columns.image, "integers or text"));
    }
    let is_caption = kind(&columns.caption).is_some_and(|kind| match kind {
        DataType::List(each) | DataType::LargeList(each) | DataType::FixedSizeList(each, _) => {
            is_text(plain(each.data_type()))
        }
        _ => is_text(kind),
    });
    if !is_caption {
        let expected = if columns.is_single { "text, or lists of one text" } else { "text or lists of text" };
        return Err(wrong(&columns.caption, expected));
    }
    match &columns.split {
        Some((name, _)) if !kind(name).is_some_and(is_text) => Err(wrong(name, "text")),
        _ => Ok(()),
    }
}

/// Returns the value type of a dictionary, or the type itself.
fn plain(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        _ => kind,
    }
}

/// Returns whether a type is text.
///
/// The null type counts as text, so that the error reports the first null row.
fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null)
}

fn wrong(row: usize, field: &str, expected: &str, found: &str) -> ReadError {
    let message = format!("row {row}: {field} must be {expected} (got {found})");
    of_row(ReadErrorKind::WrongType, row, field, message)
}

fn of_row(kind: ReadErrorKind, row: usize, field: &str, message: String) -> ReadError {
    let place = Place { entry: format!("row {row}"), field: Some(field.to_owned()) };
    ReadError { kind, place: Some(place), position: None, message }
}
