//! Strict JSON reading on top of serde.
//!
//! Values go straight into the [`Reader`], which tracks the current path and records each fault with its
//! path.

use std::borrow::Cow;
use std::fmt;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::captions::FlatCaptions;
use crate::error::{Place, ReadErrorKind};
use crate::ids::quoted;
use crate::interner::Interner;
use crate::python_numbers::PythonNumbers;

/// One step of the path from the top of the file to a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Segment {
    /// A line of a JSON Lines file, from 1.
    Line(usize),
    /// A list element, from 0.
    Index(usize),
    /// An object value. The number is the index of its key in [`Reader::keys`].
    Key(usize),
}

/// The value found in place of the expected one.
#[derive(Debug)]
pub(crate) enum Found {
    /// A description.
    Words(String),
    /// The number just parsed. serde has rounded it, so the exact digits are taken from the text.
    Number,
}

/// Reason why reading stopped.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A value of the wrong type.
    Wrong {
        /// Description of the expected value.
        expected: &'static str,
        /// The value found.
        found: Found,
    },
    /// Any other error.
    Other(ReadErrorKind, String),
}

/// State of reading a file.
#[derive(Debug, Default)]
pub(crate) struct Reader<'de> {
    pub(crate) path: Vec<Segment>,
    /// Stack of the keys of the open objects. The keys of an object are adjacent.
    pub(crate) keys: Vec<Cow<'de, str>>,
    pub(crate) fault: Option<Fault>,
    pub(crate) interner: Interner,
    pub(crate) captions: FlatCaptions<'de>,
    /// Slot of the last image id read.
    pub(crate) slot: usize,
    /// Place and text of the first image id, for the error about mixed ids.
    pub(crate) first_id: Option<(String, String)>,
    /// Slots of the images listed in `images`, in that order.
    pub(crate) listed: Vec<usize>,
    /// Position of each slot in `listed`.
    pub(crate) rank: Vec<Option<usize>>,
    /// The entry of each image in a results file, by slot.
    pub(crate) entries: Vec<Segment>,
    /// Whether to accept only the result forms that evaluation servers accept.
    pub(crate) strict: bool,
    /// Placeholders of `NaN` and `Infinity` in the text, if it has any.
    pub(crate) numbers: Option<PythonNumbers>,
}

impl<'de> Reader<'de> {
    /// Records a fault and returns an empty error, which carries it through serde.
    pub(crate) fn fail<E: Error>(&mut self, kind: ReadErrorKind, message: impl Into<String>) -> E {
        self.stop(Fault::Other(kind, message.into()))
    }

    pub(crate) fn stop<E: Error>(&mut self, fault: Fault) -> E {
        self.fault = Some(fault);
        E::custom("")
    }

    pub(crate) fn wrong<E: Error>(&mut self, expected: &'static str, found: impl Into<String>) -> E {
        let found = Found::Words(found.into());
        self.stop(Fault::Wrong { expected, found })
    }

    fn python_number<E: Error>(&mut self, expected: &str, value: &str) -> Result<(), E> {
        let Some(number) = self.numbers.and_then(|numbers| numbers.number(value)) else {
            return Ok(());
        };
        let message = format!("{} must be {expected} (got {number})", self.describe_place());
        Err(self.fail(ReadErrorKind::NotANumber, message))
    }

    /// Returns the entry and field of the current path, or `None` at the top.
    pub(crate) fn place(&self) -> Option<Place> {
        let first_entry = self.path.iter().position(|segment| !matches!(segment, Segment::Key(_)));
        let (entry, field) = self.path.split_at(first_entry.map_or(1, |at| at + 1).min(self.path.len()));
        if entry.is_empty() {
            return None;
        }
        Some(Place {
            entry: self.format_path(entry),
            field: Some(self.format_path(field)).filter(|field| !field.is_empty()),
        })
    }

    /// Returns the place as it begins a message.
    pub(crate) fn describe_place(&self) -> String {
        self.place().map_or_else(|| "the file".to_owned(), |place| place.to_string())
    }

    pub(crate) fn format_path(&self, path: &[Segment]) -> String {
        let mut text = String::new();
        for segment in path {
            match *segment {
                Segment::Line(line) => text += &format!("line {line}"),
                Segment::Index(index) if text.is_empty() => text += &format!("entries[{index}]"),
                Segment::Index(index) => text += &format!("[{index}]"),
                Segment::Key(key) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text += &format_key(&self.keys[key]);
                }
            }
        }
        text
    }
}

/// Formats a key for a path. Keys that are not plain names are quoted.
fn format_key(key: &str) -> String {
    let is_name = !key.is_empty()
        && key.len() <= 40
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !key.starts_with(|c: char| c.is_ascii_digit());
    if is_name { key.to_owned() } else { quoted(key) }
}

/// The expected shape of a value. A value of another type is a fault.
pub(crate) trait Shape<'de>: Sized {
    /// Description of the expected value, as in "must be ...".
    const EXPECTED: &'static str;

    /// Accepts a string.
    fn string<E: Error>(self, reader: &mut Reader<'de>, value: &str) -> Result<(), E> {
        Err(reader.wrong(Self::EXPECTED, quoted(value)))
    }

    /// Accepts a string without escapes, borrowed from the file.
    fn borrowed<E: Error>(self, reader: &mut Reader<'de>, value: &'de str) -> Result<(), E> {
        self.string(reader, value)
    }

    /// Accepts an integer.
    fn integer<E: Error>(self, reader: &mut Reader<'de>, value: i64) -> Result<(), E> {
        Err(reader.wrong(Self::EXPECTED, value.to_string()))
    }

    /// Accepts a list.
    fn list<A: SeqAccess<'de>>(self, reader: &mut Reader<'de>, _: A) -> Result<(), A::Error> {
        Err(reader.wrong(Self::EXPECTED, "a list"))
    }

    /// Accepts an object.
    fn object<A: MapAccess<'de>>(self, reader: &mut Reader<'de>, _: A) -> Result<(), A::Error> {
        Err(reader.wrong(Self::EXPECTED, "an object"))
    }
}

/// Reads one value of a shape.
pub(crate) struct Read<'a, 'de, S>(pub(crate) S, pub(crate) &'a mut Reader<'de>);

impl<'de, S: Shape<'de>> DeserializeSeed<'de> for Read<'_, 'de, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: Shape<'de>> Visitor<'de> for Read<'_, 'de, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(S::EXPECTED)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.1.python_number(S::EXPECTED, value)?;
        self.0.string(self.1, value)
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<(), E> {
        self.1.python_number(S::EXPECTED, value)?;
        self.0.borrowed(self.1, value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.0.integer(self.1, value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => self.0.integer(self.1, value),
            Err(_) => self.visit_f64(0.0),
        }
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        let expected = S::EXPECTED;
        let found = Found::Number;
        Err(self.1.stop(Fault::Wrong { expected, found }))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        Err(self.1.wrong(S::EXPECTED, value.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Err(self.1.wrong(S::EXPECTED, "null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        self.0.list(self.1, list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<(), A::Error> {
        self.0.object(self.1, object)
    }
}

/// Reads every element of a list.
pub(crate) fn each_element<'de, A, S>(reader: &mut Reader<'de>, mut list: A, shape: S) -> Result<(), A::Error>
where
    A: SeqAccess<'de>,
    S: Shape<'de> + Copy,
{
    for index in 0.. {
        reader.path.push(Segment::Index(index));
        let element = list.next_element_seed(Read(shape, reader))?;
        reader.path.pop();
        if element.is_none() {
            break;
        }
    }
    Ok(())
}

/// Reads every value of an object with `value`, and rejects duplicate keys.
///
/// `value` receives the name of the key if it is one of `fields`. The keys stay in [`Reader::keys`], and the
/// caller removes them.
pub(crate) fn each_field<'de, A, F>(
    reader: &mut Reader<'de>,
    mut object: A,
    fields: &[&'static str],
    mut value: F,
) -> Result<(), A::Error>
where
    A: MapAccess<'de>,
    F: FnMut(&mut Reader<'de>, Option<&'static str>, &mut A) -> Result<(), A::Error>,
{
    let first = reader.keys.len();
    let mut many = KeyTable::default();
    while let Some(key) = object.next_key_seed(Key)? {
        if many.holds(&reader.keys[first..], &key) {
            let place = reader.describe_place();
            let message = format!("{place} has the key {} twice", quoted(&key));
            return Err(reader.fail(ReadErrorKind::DuplicateKey, message));
        }
        let field = fields.iter().copied().find(|field| *field == key);
        reader.path.push(Segment::Key(reader.keys.len()));
        reader.keys.push(key);
        value(reader, field, &mut object)?;
        reader.path.pop();
    }
    Ok(())
}

/// Looks up the keys of an object.
///
/// A few keys are compared one by one. For large objects a hash table keeps the time linear.
#[derive(Default)]
struct KeyTable {
    table: HashTable<usize>,
    hasher: DefaultHashBuilder,
}

impl KeyTable {
    const FEW: usize = 16;

    fn holds(&mut self, keys: &[Cow<'_, str>], key: &str) -> bool {
        if keys.len() <= Self::FEW {
            return keys.iter().any(|other| other == key);
        }
        for added in self.table.len()..keys.len() {
            let hash = self.hasher.hash_one(&*keys[added]);
            self.table.insert_unique(hash, added, |&at| self.hasher.hash_one(&*keys[at]));
        }
        let hash = self.hasher.hash_one(key);
        self.table.find(hash, |&at| keys[at] == key).is_some()
    }
}

/// Reads a key, borrowed from the file if it has no escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

/// Skips any value.
///
/// Unlike serde's `IgnoredAny`, it rejects lone surrogates and everything that Python's reader rejects
/// (nesting depth, number range).
pub(crate) struct Skip;

impl<'de> DeserializeSeed<'de> for Skip {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Skip {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Skip)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while object.next_key_seed(Skip)?.is_some() {
            object.next_value_seed(Skip)?;
        }
        Ok(())
    }
}
