//! Values of the evaluated code.

use std::cell::RefCell;
use std::rc::Rc;

use crate::Error;

/// A value of the evaluated code.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Int(i32),
    /// A string in UTF-16 units.
    Text(Rc<[u16]>),
    Object(Rc<Object>),
    /// The result of code that was not run: the recorded call with its arguments.
    Call(Rc<Call>),
}

/// Code that was not run: a method, a field of an unknown object, or a sum with such a value.
#[derive(Debug)]
pub(crate) struct Call {
    pub class: String,
    pub name: String,
    pub arguments: Vec<Value>,
}

#[derive(Debug)]
pub(crate) struct Object {
    pub class: String,
    pub content: RefCell<Content>,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// Allocated, before the call of its constructor.
    Allocated,
    /// An array, list or set.
    Items(Vec<Value>),
    /// A map.
    Entries(Vec<(Value, Value)>),
    /// A string builder.
    Builder(Vec<u16>),
    /// An object whose constructor is not run: the constructor's arguments.
    Made(Vec<Value>),
    /// An object whose constructor and methods are run.
    Fields(Vec<(String, Value)>),
    /// An iterator over a list.
    Iterator { items: Vec<Value>, next: usize },
}

impl Value {
    pub fn text(text: &str) -> Self {
        Self::Text(text.encode_utf16().collect())
    }

    pub fn object(class: &str, content: Content) -> Self {
        Self::Object(Rc::new(Object { class: class.to_owned(), content: RefCell::new(content) }))
    }

    pub fn call(class: &str, name: &str, arguments: Vec<Self>) -> Self {
        Self::Call(Rc::new(Call { class: class.to_owned(), name: name.to_owned(), arguments }))
    }

    /// Returns whether two values are the same map key: equal text or number, or the same object.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Int(one), Self::Int(two)) => one == two,
            (Self::Text(one), Self::Text(two)) => one == two,
            (Self::Object(one), Self::Object(two)) => Rc::ptr_eq(one, two),
            (Self::Call(one), Self::Call(two)) => Rc::ptr_eq(one, two),
            _ => false,
        }
    }

    pub fn to_text(&self, what: &str) -> Result<String, Error> {
        match self {
            Self::Text(units) => String::from_utf16(units).map_err(|_| self.shape(what, "Unicode text")),
            _ => Err(self.shape(what, "text")),
        }
    }

    pub fn to_int(&self, what: &str) -> Result<i32, Error> {
        match self {
            Self::Int(number) => Ok(*number),
            _ => Err(self.shape(what, "a number")),
        }
    }

    /// Returns the values of an array, list or set.
    pub fn items(&self, what: &str) -> Result<Vec<Self>, Error> {
        if let Self::Object(object) = self
            && let Content::Items(items) = &*object.content.borrow()
        {
            return Ok(items.clone());
        }
        Err(self.shape(what, "an array or a list"))
    }

    pub fn entries(&self, what: &str) -> Result<Vec<(Self, Self)>, Error> {
        if let Self::Object(object) = self
            && let Content::Entries(entries) = &*object.content.borrow()
        {
            return Ok(entries.clone());
        }
        Err(self.shape(what, "a map"))
    }

    pub fn texts(&self, what: &str) -> Result<Vec<String>, Error> {
        self.items(what)?.iter().map(|item| item.to_text(what)).collect()
    }

    /// Returns the arguments of a recorded constructor.
    pub fn made(&self, what: &str) -> Result<Vec<Self>, Error> {
        if let Self::Object(object) = self
            && let Content::Made(arguments) = &*object.content.borrow()
        {
            return Ok(arguments.clone());
        }
        Err(self.shape(what, "an object with recorded arguments"))
    }

    /// Returns the text in a call such as `Pattern.compile(text)`.
    pub fn compiled_text(&self, what: &str) -> Result<String, Error> {
        match self {
            Self::Call(call) => match call.arguments.as_slice() {
                [Self::Text(_), ..] => call.arguments[0].to_text(what),
                [_, text @ Self::Text(_)] => text.to_text(what),
                _ => Err(self.shape(what, "a compiled pattern")),
            },
            _ => Err(self.shape(what, "a compiled pattern")),
        }
    }

    pub fn shape(&self, what: &str, expected: &'static str) -> Error {
        Error::Shape { what: what.to_owned(), expected, found: self.short() }
    }

    /// Describes the value for error messages.
    pub fn short(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Int(number) => number.to_string(),
            Self::Text(units) => {
                format!("{:?}", String::from_utf16_lossy(&units[..units.len().min(60)]))
            }
            Self::Object(object) => format!("an object of class {}", object.class),
            Self::Call(call) => format!("the result of {}.{}", call.class, call.name),
        }
    }
}
