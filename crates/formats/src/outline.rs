//! What a JSON file looks like, from its beginning: enough to tell which kind of file it is.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::json::Skip;
use crate::python_numbers::PythonNumbers;
use crate::source::text_of;

/// The keys under which a list says what the whole file is.
const DECISIVE: [&str; 4] = ["annotations", "images", "predictions", "results"];

/// The most keys of an object that are looked at.
const MOST_KEYS: usize = 1000;

/// What a value looks like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// `object`, `list`, `string` or `other`.
    pub kind: &'static str,
    /// The keys of an object, and what their values look like.
    pub fields: Vec<(String, Looks)>,
    /// What the first element of a list looks like.
    pub first: Option<Box<Looks>>,
}

/// The beginning of a JSON file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// What the value at the top looks like.
    pub top: Looks,
    /// Whether something follows that value, as in JSON lines.
    pub is_followed: bool,
    /// Whether nothing is wrong with the beginning.
    pub is_sound: bool,
}

/// Reads what a JSON file looks like, as far as its beginning tells which kind of file it is. What is wrong
/// with the file ends it without an error: the reader of that kind says what it is.
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

/// Reads a value: at depth 0 that of the file, at depth 1 those directly in it, and so on.
struct Look<'a> {
    looks: &'a mut Looks,
    /// Set where the rest of the file makes no difference; reading ends there.
    is_decided: &'a mut bool,
    depth: usize,
    /// Whether the first element, where the value is a list of objects, says what the file is.
    decides: bool,
}

impl Look<'_> {
    /// The most that is looked into: `{"images": [{"sentences": ...}]}`.
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
