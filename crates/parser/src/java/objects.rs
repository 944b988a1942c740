//! The objects of a stream, and access to their fields.

use crate::error::ModelError;

/// A class description of the stream.
#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) name: String,
    pub(crate) flags: u8,
    /// Name and type code of the class's own fields.
    pub(crate) fields: Vec<(String, u8)>,
    pub(crate) parent: Option<usize>,
}

/// A field value, an array element, or an object written by a class itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f32),
    Double(f64),
    /// Index of an object in [`Objects`].
    Object(usize),
}

/// Data that a class writes in addition to its fields.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    Bytes(Vec<u8>),
    Value(Value),
}

/// An object of the stream. Class descriptions are objects too, because the stream numbers them.
#[derive(Debug)]
pub(crate) enum Object {
    Pending,
    Class(Class),
    ClassLiteral,
    Text(String),
    Constant,
    Array(Vec<Value>),
    Instance { class: usize, fields: Vec<Value>, written: Vec<Written> },
}

/// All objects of a stream, by number.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) objects: Vec<Object>,
}

impl Objects {
    pub(crate) fn class(&self, number: usize) -> Result<&Class, ModelError> {
        match self.objects.get(number) {
            Some(Object::Class(class)) => Ok(class),
            _ => Err(ModelError::content("the stream", "a class description", format!("object {number}"))),
        }
    }

    /// Returns the classes of an instance, starting at the root of the hierarchy.
    pub(crate) fn lineage(&self, class: usize) -> Result<Vec<usize>, ModelError> {
        let mut lineage = vec![class];
        while let Some(parent) = self.class(lineage[lineage.len() - 1])?.parent {
            if lineage.len() > 50 {
                return Err(ModelError::content("the stream", "at most 50 parent classes", "more".into()));
            }
            lineage.push(parent);
        }
        lineage.reverse();
        Ok(lineage)
    }

    /// Returns the object that a value refers to, with a name for error messages.
    pub(crate) fn node(&self, value: Value, name: impl Into<String>) -> Result<Node<'_>, ModelError> {
        let name = name.into();
        match value {
            Value::Object(number) if number < self.objects.len() => Ok(Node { objects: self, number, name }),
            other => Err(ModelError::content(&name, "an object", format!("{other:?}"))),
        }
    }
}

/// An object with the path that led to it, for error messages.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    objects: &'a Objects,
    number: usize,
    name: String,
}

impl<'a> Node<'a> {
    fn wrong(&self, expected: &'static str, found: String) -> ModelError {
        ModelError::content(&self.name, expected, found)
    }

    fn object(&self) -> &'a Object {
        &self.objects.objects[self.number]
    }

    /// Returns the value of a field. A class's own field hides the same field of its superclass.
    pub(crate) fn value(&self, field: &'static str) -> Result<Value, ModelError> {
        let Object::Instance { class, fields, .. } = self.object() else {
            return Err(self.wrong("an instance of a class", format!("{:?}", self.object())));
        };
        let mut found = None;
        let mut place = 0;
        for class in self.objects.lineage(*class)? {
            for (name, _) in &self.objects.class(class)?.fields {
                if name == field {
                    found = fields.get(place);
                }
                place += 1;
            }
        }
        found.copied().ok_or_else(|| self.wrong("a field", format!("none of the name {field:?}")))
    }

    pub(crate) fn field(&self, field: &'static str) -> Result<Node<'a>, ModelError> {
        self.objects.node(self.value(field)?, format!("{}.{field}", self.name))
    }

    pub(crate) fn integer(&self, field: &'static str) -> Result<i64, ModelError> {
        match self.value(field)? {
            Value::Integer(number) => Ok(number),
            other => Err(self.wrong("an integer field", format!("{field} = {other:?}"))),
        }
    }

    pub(crate) fn boolean(&self, field: &'static str) -> Result<bool, ModelError> {
        match self.value(field)? {
            Value::Boolean(value) => Ok(value),
            other => Err(self.wrong("a boolean field", format!("{field} = {other:?}"))),
        }
    }

    pub(crate) fn float(&self, field: &'static str) -> Result<f32, ModelError> {
        match self.value(field)? {
            Value::Float(number) => Ok(number),
            other => Err(self.wrong("a float field", format!("{field} = {other:?}"))),
        }
    }

    pub(crate) fn double(&self, field: &'static str) -> Result<f64, ModelError> {
        match self.value(field)? {
            Value::Double(number) => Ok(number),
            other => Err(self.wrong("a double field", format!("{field} = {other:?}"))),
        }
    }

    pub(crate) fn doubles(&self) -> Result<Vec<f64>, ModelError> {
        let Object::Array(values) = self.object() else {
            return Err(self.wrong("an array", format!("{:?}", self.object())));
        };
        let numbers = values.iter().map(|value| match value {
            Value::Double(number) => Ok(*number),
            other => Err(self.wrong("an array of doubles", format!("{other:?}"))),
        });
        numbers.collect()
    }

    pub(crate) fn text(&self) -> Result<&'a str, ModelError> {
        match self.object() {
            Object::Text(text) => Ok(text),
            other => Err(self.wrong("a string", format!("{other:?}"))),
        }
    }

    /// Returns the objects that an instance of a Java collection wrote after its counts.
    fn written(&self, class: &'static str) -> Result<Vec<Node<'a>>, ModelError> {
        let Object::Instance { class: found, written, .. } = self.object() else {
            return Err(self.wrong(class, format!("{:?}", self.object())));
        };
        let found = &self.objects.class(*found)?.name;
        if found != class {
            return Err(self.wrong(class, found.clone()));
        }
        let values = written.iter().filter_map(|written| match written {
            Written::Bytes(_) => None,
            Written::Value(value) => Some(*value),
        });
        let name = |entry| format!("{}[{entry}]", self.name);
        values.enumerate().map(|(entry, value)| self.objects.node(value, name(entry))).collect()
    }

    /// Returns the elements of a `java.util.ArrayList`.
    pub(crate) fn list(&self) -> Result<Vec<Node<'a>>, ModelError> {
        self.written("java.util.ArrayList")
    }

    /// Returns the keys and values of a `java.util.HashMap`, in the order of the stream.
    pub(crate) fn map(&self) -> Result<Vec<(Node<'a>, Node<'a>)>, ModelError> {
        let written = self.written("java.util.HashMap")?;
        if !written.len().is_multiple_of(2) {
            return Err(self.wrong("as many values as keys", format!("{} objects", written.len())));
        }
        Ok(written.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
    }
}
