//! Any JSON as a tree of values built by the caller.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::json::{Reader, Segment, each_field};
use crate::python_numbers::PythonNumbers;

/// Builds values, such as objects of another language, from JSON.
pub trait Build {
    /// A value of any type.
    type Value;

    /// Builds `null`.
    fn null(&self) -> Self::Value;
    /// Builds `true` or `false`.
    fn boolean(&self, value: bool) -> Self::Value;
    /// Builds an integer.
    fn integer(&self, value: i64) -> Self::Value;
    /// Builds an integer beyond `i64`.
    fn large_integer(&self, value: u64) -> Self::Value;
    /// Builds any other number, including integers beyond 64 bits (rounded) and Python's `NaN` and
    /// `Infinity`.
    fn float(&self, value: f64) -> Self::Value;
    /// Builds a string.
    fn string(&self, value: &str) -> Self::Value;
    /// Builds a list.
    fn list(&self, values: Vec<Self::Value>) -> Self::Value;
    /// Builds an object. The keys are distinct.
    fn object(&self, keys: &[Cow<'_, str>], values: Vec<Self::Value>) -> Self::Value;
}

/// Reads one value of any type.
pub(crate) struct Tree<'a, 'de, B>(pub(crate) &'a B, pub(crate) &'a mut Reader<'de>);

impl<'de, B: Build> DeserializeSeed<'de> for Tree<'_, 'de, B> {
    type Value = B::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<B::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, B: Build> Visitor<'de> for Tree<'_, 'de, B> {
    type Value = B::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<B::Value, E> {
        let number = self.1.numbers.and_then(|numbers| numbers.number(value));
        Ok(number.map_or_else(|| self.0.string(value), |number| self.0.float(PythonNumbers::value(number))))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<B::Value, E> {
        Ok(self.0.integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<B::Value, E> {
        let integer = i64::try_from(value);
        Ok(integer.map_or_else(|_| self.0.large_integer(value), |value| self.0.integer(value)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<B::Value, E> {
        Ok(self.0.float(value))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<B::Value, E> {
        Ok(self.0.boolean(value))
    }

    fn visit_unit<E: Error>(self) -> Result<B::Value, E> {
        Ok(self.0.null())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<B::Value, A::Error> {
        let Self(builder, reader) = self;
        let mut values = Vec::new();
        loop {
            reader.path.push(Segment::Index(values.len()));
            let value = list.next_element_seed(Tree(builder, &mut *reader))?;
            reader.path.pop();
            match value {
                Some(value) => values.push(value),
                None => return Ok(builder.list(values)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<B::Value, A::Error> {
        let Self(builder, reader) = self;
        let first_key = reader.keys.len();
        let mut values = Vec::new();
        each_field(reader, object, &[], |reader, _, object| {
            values.push(object.next_value_seed(Tree(builder, reader))?);
            Ok(())
        })?;
        let made = builder.object(&reader.keys[first_key..], values);
        reader.keys.truncate(first_key);
        Ok(made)
    }
}
