//! The class file format: constants, fields and method code.

use std::collections::HashMap;

use crate::Error;
use crate::bytes::Bytes;

/// An entry of a class's constant pool.
#[derive(Debug, Clone)]
pub(crate) enum Constant {
    /// Text as UTF-16 units. Generated classes pack numbers into strings that are not valid Unicode.
    Utf8(Vec<u16>),
    Integer(i32),
    Class(u16),
    Text(u16),
    Member {
        class: u16,
        name_and_type: u16,
    },
    NameAndType {
        name: u16,
        descriptor: u16,
    },
    /// A call site created at run time (a lambda). Only its name and type are known.
    Dynamic {
        name_and_type: u16,
    },
    /// Any other kind, which is not used.
    Other,
}

/// A class, method or field that an instruction refers to.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub class: String,
    pub name: String,
    pub descriptor: String,
}

#[derive(Debug)]
pub(crate) struct Method {
    pub name: String,
    pub descriptor: String,
    pub code: Vec<u8>,
    pub locals: usize,
}

/// The parts of a class that are read.
#[derive(Debug)]
pub(crate) struct Class {
    pub name: String,
    pub parent: Option<String>,
    constants: Vec<Constant>,
    /// Compile-time constants of static fields.
    pub constant_fields: HashMap<String, u16>,
    pub methods: Vec<Method>,
}

const MAGIC: u32 = 0xCAFE_BABE;

impl Class {
    pub fn parse(data: &[u8]) -> Result<Self, Error> {
        let mut bytes = Bytes::new(data);
        let magic = bytes.u32()?;
        if magic != MAGIC {
            return Err(format_error(
                "",
                format!("expected the magic number {MAGIC:08x}, found {magic:08x}"),
            ));
        }
        bytes.take(4)?;
        let mut class = Self {
            name: String::new(),
            parent: None,
            constants: constants(&mut bytes)?,
            constant_fields: HashMap::new(),
            methods: Vec::new(),
        };
        bytes.u16()?;
        let (this, parent) = (bytes.u16()?, bytes.u16()?);
        class.name = class.class_name(this)?;
        class.parent = if parent == 0 { None } else { Some(class.class_name(parent)?) };
        let interfaces = bytes.u16()?;
        bytes.take(2 * usize::from(interfaces))?;
        class.read_fields(&mut bytes)?;
        class.read_methods(&mut bytes)?;
        Ok(class)
    }

    fn read_fields(&mut self, bytes: &mut Bytes<'_>) -> Result<(), Error> {
        for _ in 0..bytes.u16()? {
            bytes.u16()?;
            let name = self.utf8(bytes.u16()?)?;
            bytes.u16()?;
            for _ in 0..bytes.u16()? {
                let attribute = self.utf8(bytes.u16()?)?;
                let length = bytes.u32()?;
                let content = bytes.take(length as usize)?;
                if attribute == "ConstantValue" {
                    self.constant_fields.insert(name.clone(), Bytes::new(content).u16()?);
                }
            }
        }
        Ok(())
    }

    fn read_methods(&mut self, bytes: &mut Bytes<'_>) -> Result<(), Error> {
        for _ in 0..bytes.u16()? {
            bytes.u16()?;
            let mut method = Method {
                name: self.utf8(bytes.u16()?)?,
                descriptor: self.utf8(bytes.u16()?)?,
                code: Vec::new(),
                locals: 0,
            };
            for _ in 0..bytes.u16()? {
                let attribute = self.utf8(bytes.u16()?)?;
                let length = bytes.u32()?;
                let content = bytes.take(length as usize)?;
                if attribute == "Code" {
                    let mut content = Bytes::new(content);
                    content.u16()?;
                    method.locals = usize::from(content.u16()?);
                    let length = content.u32()?;
                    method.code = content.take(length as usize)?.to_vec();
                }
            }
            self.methods.push(method);
        }
        Ok(())
    }

    pub fn method(&self, name: &str, descriptor: &str) -> Option<&Method> {
        self.methods.iter().find(|method| method.name == name && method.descriptor == descriptor)
    }

    pub fn constant(&self, index: u16) -> Result<&Constant, Error> {
        let found = self.constants.get(usize::from(index));
        found.ok_or_else(|| format_error(&self.name, format!("there is no constant {index}")))
    }

    pub fn units(&self, index: u16) -> Result<&[u16], Error> {
        match self.constant(index)? {
            Constant::Utf8(units) => Ok(units),
            other => Err(self.wrong_kind(index, "text", other)),
        }
    }

    fn utf8(&self, index: u16) -> Result<String, Error> {
        String::from_utf16(self.units(index)?)
            .map_err(|_| format_error(&self.name, format!("constant {index} is not valid Unicode")))
    }

    pub fn class_name(&self, index: u16) -> Result<String, Error> {
        match self.constant(index)? {
            Constant::Class(name) => self.utf8(*name),
            other => Err(self.wrong_kind(index, "a class", other)),
        }
    }

    pub fn member(&self, index: u16) -> Result<Member, Error> {
        match self.constant(index)? {
            Constant::Member { class, name_and_type } => {
                let (name, descriptor) = self.name_and_type(*name_and_type)?;
                Ok(Member { class: self.class_name(*class)?, name, descriptor })
            }
            Constant::Dynamic { name_and_type } => {
                let (name, descriptor) = self.name_and_type(*name_and_type)?;
                Ok(Member { class: "(call site)".to_owned(), name, descriptor })
            }
            other => Err(self.wrong_kind(index, "a field or method", other)),
        }
    }

    fn name_and_type(&self, index: u16) -> Result<(String, String), Error> {
        match self.constant(index)? {
            Constant::NameAndType { name, descriptor } => Ok((self.utf8(*name)?, self.utf8(*descriptor)?)),
            other => Err(self.wrong_kind(index, "a name and type", other)),
        }
    }

    fn wrong_kind(&self, index: u16, expected: &str, found: &Constant) -> Error {
        format_error(&self.name, format!("constant {index} must be {expected}, but is {found:?}"))
    }
}

fn format_error(class: &str, problem: String) -> Error {
    Error::Format { class: class.to_owned(), problem }
}

fn constants(bytes: &mut Bytes<'_>) -> Result<Vec<Constant>, Error> {
    let count = bytes.u16()?;
    let mut constants = vec![Constant::Other];
    while constants.len() < usize::from(count) {
        let kind = bytes.u8()?;
        constants.push(match kind {
            1 => {
                let length = bytes.u16()?;
                Constant::Utf8(utf16(bytes.take(usize::from(length))?)?)
            }
            3 => Constant::Integer(bytes.i32()?),
            7 => Constant::Class(bytes.u16()?),
            8 => Constant::Text(bytes.u16()?),
            9..=11 => Constant::Member { class: bytes.u16()?, name_and_type: bytes.u16()? },
            12 => Constant::NameAndType { name: bytes.u16()?, descriptor: bytes.u16()? },
            18 => {
                bytes.u16()?;
                Constant::Dynamic { name_and_type: bytes.u16()? }
            }
            4 => skip(bytes, 4)?,
            15 => skip(bytes, 3)?,
            16 => skip(bytes, 2)?,
            5 | 6 => skip(bytes, 8)?,
            _ => return Err(format_error("", format!("unknown constant kind {kind}"))),
        });
        // Eight-byte numbers occupy two entries of the pool.
        if matches!(kind, 5 | 6) {
            constants.push(Constant::Other);
        }
    }
    Ok(constants)
}

fn skip(bytes: &mut Bytes<'_>, length: usize) -> Result<Constant, Error> {
    bytes.take(length)?;
    Ok(Constant::Other)
}

/// Decodes a string, in which each UTF-16 unit has its own one to three bytes.
fn utf16(data: &[u8]) -> Result<Vec<u16>, Error> {
    let mut units = Vec::with_capacity(data.len());
    let mut bytes = Bytes::new(data);
    while bytes.position() < data.len() {
        let first = u16::from(bytes.u8()?);
        units.push(match first {
            0x00..=0x7F => first,
            0xC0..=0xDF => (first & 0x1F) << 6 | continuation(&mut bytes)?,
            0xE0..=0xEF => {
                let middle = continuation(&mut bytes)?;
                (first & 0x0F) << 12 | middle << 6 | continuation(&mut bytes)?
            }
            _ => return Err(format_error("", format!("invalid byte {first:02x} in text"))),
        });
    }
    Ok(units)
}

fn continuation(bytes: &mut Bytes<'_>) -> Result<u16, Error> {
    let byte = u16::from(bytes.u8()?);
    if byte & 0xC0 != 0x80 {
        return Err(format_error("", format!("invalid byte {byte:02x} within a character")));
    }
    Ok(byte & 0x3F)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_may_be_invalid_unicode() {
        assert_eq!(utf16(&[0x41, 0xC0, 0x80, 0xED, 0xA0, 0x80]).unwrap(), [0x41, 0, 0xD800]);
        assert!(utf16(&[0xE0, 0x41, 0x80]).is_err());
        assert!(utf16(&[0xFF]).is_err());
    }

    #[test]
    fn invalid_class_files_are_errors() {
        assert!(matches!(Class::parse(b"PK\x03\x04"), Err(Error::Format { .. })));
        assert!(matches!(Class::parse(b"\xCA\xFE\xBA\xBE\0\0\0\x34\0\x05"), Err(Error::Cut { .. })));
    }
}
