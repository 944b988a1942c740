//! Java library methods of strings, lists, sets and maps, as far as initializers use them.

use std::rc::Rc;

use crate::class::Member;
use crate::value::{Content, Object, Value};

/// Effect of a supported method.
pub(crate) enum Outcome {
    Nothing,
    Value(Value),
}

impl Outcome {
    pub fn value(self) -> Option<Value> {
        match self {
            Self::Nothing => None,
            Self::Value(value) => Some(value),
        }
    }
}

impl Object {
    pub fn is_allocated(&self) -> bool {
        matches!(*self.content.borrow(), Content::Allocated)
    }
}

pub(crate) fn has_fields(value: &Value) -> bool {
    matches!(value, Value::Object(object) if matches!(*object.content.borrow(), Content::Fields(_)))
}

fn items(value: &Value) -> Result<Vec<Value>, String> {
    value.items("a collection").map_err(|error| error.to_string())
}

/// Calls a static method. Returns `None` if it is not supported.
pub(crate) fn static_call(member: &Member, arguments: &[Value]) -> Result<Option<Outcome>, String> {
    let class = member.class.rsplit('/').next().unwrap_or_default();
    if let ("System", "arraycopy", [from, from_place, to, to_place, length]) =
        (class, member.name.as_str(), arguments)
    {
        copy_items(from, from_place, to, to_place, length)?;
        return Ok(Some(Outcome::Nothing));
    }
    Ok(Some(Outcome::Value(match (class, member.name.as_str(), arguments) {
        ("Arrays", "asList", [array]) => Value::object("list", Content::Items(items(array)?)),
        (
            "Collections",
            "unmodifiableList" | "unmodifiableSet" | "unmodifiableMap" | "synchronizedList",
            [one],
        ) => one.clone(),
        ("Generics", "newArrayList" | "newHashSet", []) => Value::object("list", Content::Items(Vec::new())),
        ("Generics", "newArrayList", [Value::Object(other)]) => {
            Value::object("list", Content::Items(items(&Value::Object(Rc::clone(other)))?))
        }
        ("Generics", "newHashSet", [Value::Object(other)]) => set(items(&Value::Object(Rc::clone(other)))?),
        ("Generics", "newHashSet", [Value::Int(_)]) => set(Vec::new()),
        ("CollectionUtils", "asSet", [array]) => set(items(array)?),
        ("Generics", "newHashMap" | "newConcurrentHashMap", _) => {
            Value::object("map", Content::Entries(Vec::new()))
        }
        ("Collections", "addAll", [collection, array]) => {
            let mut changed = false;
            for item in items(array)? {
                changed |= add(collection, item)?;
            }
            Value::Int(i32::from(changed))
        }
        ("StringUtils", "join", [array, Value::Text(separator)]) => join(&items(array)?, separator)?,
        // Debugging properties are not set.
        ("System", "getProperty", [_, default]) => default.clone(),
        _ => return Ok(None),
    })))
}

fn copy_items(
    from: &Value,
    from_place: &Value,
    to: &Value,
    to_place: &Value,
    length: &Value,
) -> Result<(), String> {
    let size = |value: &Value| match value {
        Value::Int(number) => usize::try_from(*number).map_err(|_| format!("{number} is not an array index")),
        other => Err(format!("{} is not an array index", other.short())),
    };
    let (from_place, to_place, length) = (size(from_place)?, size(to_place)?, size(length)?);
    let from = items(from)?;
    let source = from.get(from_place..from_place + length).ok_or("an array is too short to copy from")?;
    let Value::Object(target) = to else {
        return Err(format!("{} is not an array", to.short()));
    };
    match &mut *target.content.borrow_mut() {
        Content::Items(items) => {
            let place =
                items.get_mut(to_place..to_place + length).ok_or("an array is too short to copy into")?;
            place.clone_from_slice(source);
            Ok(())
        }
        _ => Err(format!("{} is not an array", to.short())),
    }
}

fn set(values: Vec<Value>) -> Value {
    let mut distinct: Vec<Value> = Vec::new();
    for value in values {
        if !distinct.iter().any(|known| known.is_same(&value)) {
            distinct.push(value);
        }
    }
    Value::object("set", Content::Items(distinct))
}

fn join(parts: &[Value], separator: &[u16]) -> Result<Value, String> {
    let mut joined = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let Value::Text(units) = part else {
            return Err(format!("only strings can be joined, found {}", part.short()));
        };
        if index > 0 {
            joined.extend_from_slice(separator);
        }
        joined.extend_from_slice(units);
    }
    Ok(Value::Text(joined.into()))
}

/// Adds an item to a list or set, and returns whether it changed.
fn add(collection: &Value, item: Value) -> Result<bool, String> {
    let Value::Object(object) = collection else {
        return Err(format!("{} is not a collection", collection.short()));
    };
    let is_set = object.class == "set" || object.class.ends_with("HashSet");
    match &mut *object.content.borrow_mut() {
        Content::Items(items) if is_set && items.iter().any(|known| known.is_same(&item)) => Ok(false),
        Content::Items(items) => {
            items.push(item);
            Ok(true)
        }
        _ => Err(format!("{} is not a collection", collection.short())),
    }
}

/// Initializes the content of a new object.
pub(crate) fn construct(object: &Object, arguments: Vec<Value>) -> Result<(), String> {
    let content = match object.class.as_str() {
        "java/lang/StringBuilder" if arguments.is_empty() => Content::Builder(Vec::new()),
        "java/util/HashSet" | "java/util/ArrayList" | "java/util/LinkedList" => match arguments.as_slice() {
            [] | [Value::Int(_)] => Content::Items(Vec::new()),
            [other] => Content::Items(items(other)?),
            _ => return Err(format!("{} has no such constructor", object.class)),
        },
        "java/util/HashMap" | "java/util/concurrent/ConcurrentHashMap" | "java/util/EnumMap" => {
            Content::Entries(Vec::new())
        }
        _ => Content::Made(arguments),
    };
    object.content.replace(content);
    Ok(())
}

/// Calls a method of an object or string. Returns `None` if it is not supported.
pub(crate) fn call(
    member: &Member,
    receiver: &Value,
    arguments: &[Value],
) -> Result<Option<Outcome>, String> {
    if member.class == "java/util/concurrent/locks/Lock" {
        return Ok(Some(Outcome::Nothing));
    }
    Ok(match (member.name.as_str(), receiver, arguments) {
        ("desiredAssertionStatus", _, []) => Some(Outcome::Value(Value::Int(0))),
        ("toLowerCase", Value::Text(units), []) => {
            let text = String::from_utf16(units).map_err(|_| "the text is not valid Unicode".to_owned())?;
            Some(Outcome::Value(Value::text(&text.to_lowercase())))
        }
        ("replaceAll", Value::Text(units), [Value::Text(set), Value::Text(replacement)]) => {
            Some(Outcome::Value(without(units, set, replacement)?))
        }
        (_, Value::Object(object), _) => method(member, receiver, object, arguments)?.map(Outcome::Value),
        _ => None,
    })
}

/// Removes the characters of a set such as `[()]` from a string. Other regular expressions are not supported.
fn without(units: &[u16], set: &[u16], replacement: &[u16]) -> Result<Value, String> {
    let plain = |unit: &u16| !"[]^-&\\".encode_utf16().any(|special| special == *unit);
    match set {
        [open, inside @ .., close]
            if [*open, *close] == [u16::from(b'['), u16::from(b']')]
                && inside.iter().all(plain)
                && replacement.is_empty() =>
        {
            Ok(Value::Text(units.iter().copied().filter(|unit| !inside.contains(unit)).collect()))
        }
        _ => Err("replaceAll is supported only for deleting a set of characters".to_owned()),
    }
}

fn method(
    member: &Member,
    receiver: &Value,
    object: &Object,
    arguments: &[Value],
) -> Result<Option<Value>, String> {
    let name = member.name.as_str();
    if let ("add", [item]) = (name, arguments)
        && matches!(*object.content.borrow(), Content::Items(_))
    {
        return Ok(Some(Value::Int(i32::from(add(receiver, item.clone())?))));
    }
    let mut content = object.content.borrow_mut();
    Ok(match (&mut *content, name, arguments) {
        (Content::Builder(units), "append", [part]) => {
            append(units, part, &member.descriptor)?;
            Some(receiver.clone())
        }
        (Content::Builder(units), "toString", []) => Some(Value::Text(units.as_slice().into())),
        (Content::Entries(entries), "put", [key, value]) => Some(put(entries, key, value)),
        (Content::Entries(entries), "get", [key]) => {
            let found = entries.iter().find(|(known, _)| known.is_same(key));
            Some(found.map_or(Value::Null, |(_, value)| value.clone()))
        }
        (Content::Items(items), "addAll", [Value::Object(other)]) => {
            let Content::Items(others) = &*other.content.borrow() else {
                return Err("addAll expects a collection".to_owned());
            };
            items.extend(others.iter().cloned());
            Some(Value::Int(1))
        }
        (Content::Items(items), "iterator", []) => {
            let iterator = Content::Iterator { items: items.clone(), next: 0 };
            Some(Value::object("iterator", iterator))
        }
        (Content::Iterator { items, next }, "hasNext", []) => {
            Some(Value::Int(i32::from(*next < items.len())))
        }
        (Content::Iterator { items, next }, "next", []) => {
            *next += 1;
            items.get(*next - 1).cloned()
        }
        _ => None,
    })
}

fn put(entries: &mut Vec<(Value, Value)>, key: &Value, value: &Value) -> Value {
    match entries.iter_mut().find(|(known, _)| known.is_same(key)) {
        Some((_, place)) => std::mem::replace(place, value.clone()),
        None => {
            entries.push((key.clone(), value.clone()));
            Value::Null
        }
    }
}

fn append(units: &mut Vec<u16>, part: &Value, descriptor: &str) -> Result<(), String> {
    match part {
        Value::Text(text) => units.extend_from_slice(text),
        Value::Int(character) if descriptor.starts_with("(C)") => {
            units.push(u16::try_from(*character).map_err(|_| format!("{character} is not a character"))?);
        }
        other => return Err(format!("{} can't be appended to a string", other.short())),
    }
    Ok(())
}
