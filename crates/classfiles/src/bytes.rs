//! Big-endian numbers in a byte slice.

use crate::Error;

pub(crate) struct Bytes<'a> {
    data: &'a [u8],
    position: usize,
}

impl<'a> Bytes<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, position: 0 }
    }

    pub fn at(data: &'a [u8], position: usize) -> Self {
        Self { data, position }
    }

    pub fn position(&self) -> usize {
        self.position
    }

    pub fn set_position(&mut self, position: usize) {
        self.position = position;
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let end = self.position.checked_add(length);
        let slice = end.and_then(|end| self.data.get(self.position..end));
        let slice = slice.ok_or(Error::Cut { position: self.position })?;
        self.position += length;
        Ok(slice)
    }

    pub fn u8(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    pub fn i8(&mut self) -> Result<i8, Error> {
        Ok(i8::from_be_bytes([self.u8()?]))
    }

    pub fn u16(&mut self) -> Result<u16, Error> {
        let slice = self.take(2)?;
        Ok(u16::from_be_bytes([slice[0], slice[1]]))
    }

    pub fn i16(&mut self) -> Result<i16, Error> {
        Ok(self.u16()?.cast_signed())
    }

    pub fn u32(&mut self) -> Result<u32, Error> {
        let slice = self.take(4)?;
        Ok(u32::from_be_bytes([slice[0], slice[1], slice[2], slice[3]]))
    }

    pub fn i32(&mut self) -> Result<i32, Error> {
        Ok(self.u32()?.cast_signed())
    }
}
