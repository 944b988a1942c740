//! Jars: zip archives of class files.

use std::io::{Cursor, Read};

use sha2::{Digest, Sha256};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::Error;
use crate::class::Class;

/// An open jar.
#[derive(Debug)]
pub struct Jar {
    archive: ZipArchive<Cursor<Vec<u8>>>,
}

impl Jar {
    /// Opens a jar without checking its checksum.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a zip archive.
    pub fn open(data: Vec<u8>) -> Result<Self, Error> {
        let archive =
            ZipArchive::new(Cursor::new(data)).map_err(|error| Error::Archive(error.to_string()))?;
        Ok(Self { archive })
    }

    /// Opens a jar with a pinned SHA-256 in lower-case hexadecimal.
    ///
    /// # Errors
    /// Returns an error if the checksum differs, or if the bytes are not a zip archive.
    pub fn open_pinned(data: Vec<u8>, name: &str, expected: &str) -> Result<Self, Error> {
        let found = Sha256::digest(&data).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        if found != expected {
            return Err(Error::WrongFile { jar: name.to_owned(), expected: expected.to_owned(), found });
        }
        Self::open(data)
    }

    pub(crate) fn class(&mut self, name: &str) -> Result<Option<Class>, Error> {
        let mut entry = match self.archive.by_name(&format!("{name}.class")) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(Error::Archive(error.to_string())),
        };
        let mut data = Vec::new();
        entry.read_to_end(&mut data).map_err(|error| Error::Archive(error.to_string()))?;
        Class::parse(&data).map(Some)
    }
}
