//! The outline of a JSON file, read from its beginning, for format detection.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::json::Skip;
use crate::python_numbers::PythonNumbers;
use crate::source::text_of;

/// Top-level keys whose list identifies the file format.
const DECISIVE: [&str; 4] = ["annotations", "images", "predictions", "results"];

/// Maximum number of keys read per object.
const MOST_KEYS: usize = 1000;

/// The type and structure of a JSON value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// `object`, `list`, `string` or `other`.
    pub kind: &'static str,
    /// The keys of an object, with the structure of their values.
    pub fields: Vec<(String, Looks)>,
    /// The structure of a list's first element.
    pub first: Option<Box<Looks>>,
}

/// The beginning of a JSON file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The structure of the top-level value.
    pub top: Looks,
    /// Whether more text follows the top-level value, as in JSON Lines.
    pub is_followed: bool,
    /// Whether the beginning is valid JSON.
    pub is_sound: bool,
}

/// Reads the structure of a JSON file, up to the point that determines its format.
///
/// Invalid JSON ends the outline without an error. The reader of the detected format reports it.
pub fn read_outline(bytes: &[u8]) -> Outline {
    let Ok((text, _)) = text_of(bytes) else {
        return Outline::default();
    };
    let outline = outline_of(text);
    if outline.is_sound {
        return outline;
    }
    PythonNumbers::replaced_in(text).map_or(outline, |(_, replaced)| outline_of(&replaced))
}

fn outline_of(text: &str) -> Outline {
    let mut outline = Outline::default();
    let mut is_decided = false;
    let mut parser = serde_json::Deserializer::from_str(text);
    let look = Look { looks: &mut outline.top, is_decided: &mut is_decided, depth: 0, decides: true };
    let read = look.deserialize(&mut parser);
    outline.is_followed = read.is_ok() && parser.end().is_err();
    outline.is_sound = read.is_ok() || is_decided;
    outline
}

/// Reads a value. The depth is 0 for the top-level value, 1 for the values in it, and so on.
struct Look<'a> {
    looks: &'a mut Looks,
    /// Set once the rest of the file cannot change the format, which ends reading.
    is_decided: &'a mut bool,
    depth: usize,
    /// Whether the first element determines the format, if the value is a list of objects.
    decides: bool,
}

impl Look<'_> {
    /// Maximum depth, that of the sentences in `{"images": [{"sentences": ...}]}`.
    const DEEPEST: usize = 3;

    fn decide<E: Error>(self) -> Result<(), E> {
        *self.is_decided = true;
        Err(E::custom(""))
    }

    fn is<E: Error>(self, kind: &'static str) -> Result<(), E> {
        self.looks.kind = kind;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.is("string")
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.is("other")
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.is("other")
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.is("other")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.is("other")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.is("other")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.looks.kind = "list";
        let mut first = Looks::default();
        let look = Look {
            looks: &mut first,
            is_decided: &mut *self.is_decided,
            depth: self.depth + 1,
            decides: false,
        };
        let found = list.next_element_seed(look);
        let decides = self.decides && (self.depth == 0 || first.kind == "object");
        if !first.kind.is_empty() {
            self.looks.first = Some(Box::new(first));
        }
        if found?.is_some() && decides {
            return self.decide();
        }
        while list.next_element_seed(Skip)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        self.looks.kind = "object";
        if self.depth >= Self::DEEPEST {
            while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        while let Some(key) = object.next_key::<String>()? {
            let decides = self.depth == 0 && DECISIVE.contains(&key.as_str());
            let mut looks = Looks::default();
            let read = object.next_value_seed(Look {
                looks: &mut looks,
                is_decided: &mut *self.is_decided,
                depth: self.depth + 1,
                decides,
            });
            self.looks.fields.push((key, looks));
            read?;
            if self.looks.fields.len() == MOST_KEYS {
                return self.decide();
            }
        }
        Ok(())
    }
}
