//! Parsing of a stream's bytes into objects.

use super::objects::{Class, Object, Objects, Value, Written};
use crate::error::ModelError;

const NULL: u8 = 0x70;
const REFERENCE: u8 = 0x71;
const CLASS_DESCRIPTION: u8 = 0x72;
const OBJECT: u8 = 0x73;
const STRING: u8 = 0x74;
const ARRAY: u8 = 0x75;
const CLASS: u8 = 0x76;
const BLOCK: u8 = 0x77;
const END_OF_BLOCKS: u8 = 0x78;
const LONG_BLOCK: u8 = 0x7A;
const LONG_STRING: u8 = 0x7C;
const ENUM: u8 = 0x7E;

const FIRST_HANDLE: u32 = 0x7E_0000;
const WRITES_ITSELF: u8 = 0x01;
const SERIALIZABLE: u8 = 0x02;
/// Maximum nesting depth of objects, because the reader is recursive. The parser's model needs 12.
const DEEPEST: usize = 100;

/// Reads a stream with one top-level object. Returns all objects and the top-level value.
pub(crate) fn read(bytes: &[u8]) -> Result<(Objects, Value), ModelError> {
    let mut reader = Reader { bytes, offset: 0, objects: Objects::default(), depth: 0 };
    let magic = reader.u32()?;
    if magic != 0xACED_0005 {
        return Err(reader.wrong("the start of a Java object stream (ac ed 00 05)", format!("{magic:08x}")));
    }
    let value = reader.value()?;
    if reader.offset != bytes.len() {
        let left = bytes.len() - reader.offset;
        return Err(reader.wrong("the end of the stream", format!("{left} more bytes")));
    }
    Ok((reader.objects, value))
}

struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
    objects: Objects,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn wrong(&self, expected: &'static str, found: String) -> ModelError {
        ModelError::Stream { offset: self.offset, expected, found }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ModelError> {
        let end = self.offset.checked_add(length);
        let Some(taken) = end.and_then(|end| self.bytes.get(self.offset..end)) else {
            let left = self.bytes.len() - self.offset;
            return Err(self.wrong("more bytes", format!("{left} of {length} before the end")));
        };
        self.offset += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ModelError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u8(&mut self) -> Result<u8, ModelError> {
        Ok(self.array::<1>()?[0])
    }

    fn u16(&mut self) -> Result<u16, ModelError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, ModelError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn length(&mut self) -> Result<usize, ModelError> {
        let length = self.u32()?;
        usize::try_from(length).map_err(|_| self.wrong("a length", length.to_string()))
    }

    /// Decodes Java's modified UTF-8, which differs for U+0000 and for characters beyond U+FFFF.
    fn text(&mut self, length: usize) -> Result<String, ModelError> {
        let bytes = self.take(length)?;
        let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let text = text.ok_or_else(|| self.wrong("a string in UTF-8", format!("{bytes:?}")))?;
        Ok(text.to_owned())
    }

    fn short_text(&mut self) -> Result<String, ModelError> {
        let length = usize::from(self.u16()?);
        self.text(length)
    }

    fn add(&mut self, object: Object) -> usize {
        self.objects.objects.push(object);
        self.objects.objects.len() - 1
    }

    fn reference(&mut self) -> Result<usize, ModelError> {
        let handle = self.u32()?;
        let number = handle.checked_sub(FIRST_HANDLE).map(|number| number as usize);
        let known = number.filter(|&number| number < self.objects.objects.len());
        known.ok_or_else(|| self.wrong("a reference to an earlier object", format!("{handle:#x}")))
    }

    fn go_deeper(&mut self) -> Result<(), ModelError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("at most 100 objects and classes inside of each other", "more".into()));
        }
        Ok(())
    }

    /// Reads a value with everything that belongs to it.
    fn value(&mut self) -> Result<Value, ModelError> {
        self.go_deeper()?;
        let code = self.u8()?;
        let value = self.coded_value(code)?;
        self.depth -= 1;
        Ok(value)
    }

    fn coded_value(&mut self, code: u8) -> Result<Value, ModelError> {
        let number = match code {
            NULL => return Ok(Value::Null),
            REFERENCE => self.reference()?,
            CLASS_DESCRIPTION => self.new_class()?,
            OBJECT => self.instance()?,
            ARRAY => self.elements()?,
            ENUM => self.constant()?,
            STRING => {
                let text = self.short_text()?;
                self.add(Object::Text(text))
            }
            LONG_STRING => {
                let length = u64::from_be_bytes(self.array()?);
                let text = self.text(usize::try_from(length).unwrap_or(usize::MAX))?;
                self.add(Object::Text(text))
            }
            CLASS => {
                self.class()?;
                self.add(Object::ClassLiteral)
            }
            _ => return Err(self.wrong("the code of an object", format!("{code:#04x}"))),
        };
        Ok(Value::Object(number))
    }

    /// Reads a new or repeated class description, or `None` for no class.
    fn class(&mut self) -> Result<Option<usize>, ModelError> {
        let number = match self.u8()? {
            NULL => return Ok(None),
            REFERENCE => self.reference()?,
            CLASS_DESCRIPTION => self.new_class()?,
            code => return Err(self.wrong("a class description", format!("{code:#04x}"))),
        };
        self.objects.class(number)?;
        Ok(Some(number))
    }

    fn new_class(&mut self) -> Result<usize, ModelError> {
        self.go_deeper()?;
        let name = self.short_text()?;
        self.take(8)?;
        let number = self.add(Object::Pending);
        let flags = self.u8()?;
        let count = self.u16()?;
        let mut fields = Vec::new();
        for _ in 0..count {
            let code = self.u8()?;
            let field = self.short_text()?;
            if matches!(code, b'L' | b'[') {
                self.value()?;
            }
            fields.push((field, code));
        }
        self.written()?;
        let parent = self.class()?;
        self.objects.objects[number] = Object::Class(Class { name, flags, fields, parent });
        self.depth -= 1;
        Ok(number)
    }

    fn required_class(&mut self) -> Result<usize, ModelError> {
        self.class()?.ok_or_else(|| self.wrong("the class of an object", "none".into()))
    }

    fn instance(&mut self) -> Result<usize, ModelError> {
        let class = self.required_class()?;
        let number = self.add(Object::Pending);
        let (mut fields, mut written) = (Vec::new(), Vec::new());
        for class in self.objects.lineage(class)? {
            let flags = self.objects.class(class)?.flags;
            if flags & SERIALIZABLE == 0 {
                return Err(self.wrong("a serializable class", format!("flags {flags:#04x}")));
            }
            let codes: Vec<u8> = self.objects.class(class)?.fields.iter().map(|&(_, code)| code).collect();
            for code in codes {
                fields.push(self.primitive_or_object(code)?);
            }
            if flags & WRITES_ITSELF != 0 {
                written.append(&mut self.written()?);
            }
        }
        self.objects.objects[number] = Object::Instance { class, fields, written };
        Ok(number)
    }

    /// Reads the data that a class or an object writes in addition to its fields, up to its end mark.
    fn written(&mut self) -> Result<Vec<Written>, ModelError> {
        let mut written = Vec::new();
        loop {
            let part = match self.bytes.get(self.offset) {
                Some(&END_OF_BLOCKS) => {
                    self.offset += 1;
                    return Ok(written);
                }
                Some(&BLOCK) => {
                    self.offset += 1;
                    let length = usize::from(self.u8()?);
                    Written::Bytes(self.take(length)?.to_vec())
                }
                Some(&LONG_BLOCK) => {
                    self.offset += 1;
                    let length = self.length()?;
                    Written::Bytes(self.take(length)?.to_vec())
                }
                _ => Written::Value(self.value()?),
            };
            written.push(part);
        }
    }

    fn elements(&mut self) -> Result<usize, ModelError> {
        let class = self.required_class()?;
        let number = self.add(Object::Pending);
        let name = self.objects.class(class)?.name.clone();
        let &[b'[', code, ..] = name.as_bytes() else {
            return Err(self.wrong("the class of an array", name));
        };
        let length = self.length()?;
        let mut values = Vec::new();
        for _ in 0..length {
            values.push(self.primitive_or_object(code)?);
        }
        self.objects.objects[number] = Object::Array(values);
        Ok(number)
    }

    fn constant(&mut self) -> Result<usize, ModelError> {
        self.required_class()?;
        let number = self.add(Object::Constant);
        self.value()?;
        Ok(number)
    }

    fn primitive_or_object(&mut self, code: u8) -> Result<Value, ModelError> {
        Ok(match code {
            b'B' => Value::Integer(i8::from_be_bytes(self.array()?).into()),
            b'C' => Value::Integer(self.u16()?.into()),
            b'D' => Value::Double(f64::from_be_bytes(self.array()?)),
            b'F' => Value::Float(f32::from_be_bytes(self.array()?)),
            b'I' => Value::Integer(i32::from_be_bytes(self.array()?).into()),
            b'J' => Value::Integer(i64::from_be_bytes(self.array()?)),
            b'S' => Value::Integer(i16::from_be_bytes(self.array()?).into()),
            b'Z' => Value::Boolean(self.u8()? != 0),
            b'L' | b'[' => self.value()?,
            _ => return Err(self.wrong("the code of a type", format!("{code:#04x}"))),
        })
    }
}
