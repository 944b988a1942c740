//! Table files read in place.

use std::marker::PhantomData;
use std::ops::Range;

use crate::{
    ALIGNMENT, DIRECTORY_ENTRY, Element, FIXED_HEADER, FORMAT_VERSION, KIND_NAME, Kind, MAGIC, SECTION_NAME,
    TableError, element_name, header_checksum,
};

/// A table file over any bytes, usually a memory map.
///
/// Every read is checked against its section, so a damaged file gives a [`TableError`] or wrong numbers,
/// never a panic.
#[derive(Debug)]
pub struct TableFile<B> {
    bytes: B,
    kind: Kind,
    fingerprint: u32,
    sections: Vec<DirectoryEntry>,
}

/// Location and number type of a section in a [`TableFile`].
#[derive(Debug)]
pub struct Section<T> {
    name: &'static str,
    start: usize,
    end: usize,
    element: PhantomData<T>,
}

impl<T> Clone for Section<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Section<T> {}

impl<T: Element> Section<T> {
    /// Returns the number of elements in the section.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.end - self.start) / size_of::<T>()
    }

    /// Returns the byte range of the section in the file.
    #[must_use]
    pub fn bytes(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns whether the section is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[derive(Debug)]
struct DirectoryEntry {
    name: String,
    element: u32,
    start: usize,
    end: usize,
}

impl<B: AsRef<[u8]>> TableFile<B> {
    /// Opens a file written by [`crate::write()`], checking only its header.
    ///
    /// # Errors
    /// Returns an error if the header is not that of a complete file of this kind, or if the bytes are not
    /// aligned to 8 bytes.
    pub fn open(bytes: B, kind: Kind) -> Result<Self, TableError> {
        let file = bytes.as_ref();
        let header = checked_header(file, kind)?;
        if !file.as_ptr().addr().is_multiple_of(ALIGNMENT) {
            return Err(TableError::Misaligned { kind: kind.name });
        }
        let entries = header[FIXED_HEADER..].chunks_exact(DIRECTORY_ENTRY);
        let sections = entries.map(|entry| read_entry(entry, kind, header.len(), file.len()));
        let sections = sections.collect::<Result<_, _>>()?;
        let fingerprint = u32_at(header, 40);
        Ok(Self { bytes, kind, fingerprint, sections })
    }

    /// Reads the whole file and verifies its checksum.
    ///
    /// # Errors
    /// [`TableError::Checksum`] if the content differs from the written file.
    pub fn verify(&self) -> Result<(), TableError> {
        let header = FIXED_HEADER + DIRECTORY_ENTRY * self.sections.len();
        let found = crc32fast::hash(self.bytes.as_ref().get(header..).unwrap_or_default());
        if found == self.fingerprint {
            return Ok(());
        }
        let (kind, expected) = (self.kind.name, self.fingerprint);
        Err(TableError::Checksum { kind, part: "body", expected, found })
    }

    /// Returns the checksum that identifies these tables.
    #[must_use]
    pub fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// Returns the section with a name, for the methods below.
    ///
    /// # Errors
    /// Returns an error if there is no such section, or if it has another number type.
    pub fn section<T: Element>(&self, name: &'static str) -> Result<Section<T>, TableError> {
        let kind = self.kind.name;
        let entry = self.sections.iter().find(|entry| entry.name == name);
        let entry = entry.ok_or(TableError::NoSection { kind, section: name })?;
        if entry.element != T::CODE {
            let (expected, found) = (T::NAME, element_name(entry.element));
            return Err(TableError::ElementType { kind, section: name, expected, found });
        }
        let section = Section { name, start: entry.start, end: entry.end, element: PhantomData };
        let whole = (entry.end - entry.start).is_multiple_of(size_of::<T>());
        if whole { Ok(section) } else { Err(self.out_of_bounds(section, section.len())) }
    }

    /// Returns all numbers of a section.
    ///
    /// # Errors
    /// Returns an error if the section belongs to another file.
    pub fn numbers<T: Element>(&self, section: Section<T>) -> Result<&[T], TableError> {
        let bytes = self.bytes.as_ref().get(section.start..section.end);
        let numbers = bytes.and_then(|bytes| bytemuck::try_cast_slice(bytes).ok());
        numbers.ok_or_else(|| self.out_of_bounds(section, 0))
    }

    /// Returns one number of a section.
    ///
    /// # Errors
    /// [`TableError::OutOfBounds`] if the section is shorter.
    pub fn number<T: Element>(&self, section: Section<T>, entry: usize) -> Result<T, TableError> {
        let number = self.numbers(section)?.get(entry).copied();
        number.ok_or_else(|| self.out_of_bounds(section, entry))
    }

    /// Returns the numbers of a section from entry `start` up to `end`.
    ///
    /// # Errors
    /// [`TableError::OutOfBounds`] if the section is shorter, or if `end` is less than `start`.
    pub fn range<T: Element>(&self, section: Section<T>, start: u32, end: u32) -> Result<&[T], TableError> {
        let numbers = self.numbers(section)?.get(start as usize..end as usize);
        numbers.ok_or_else(|| self.out_of_bounds(section, end as usize))
    }

    /// Returns the error of a missing entry.
    pub fn out_of_bounds<T>(&self, section: Section<T>, entry: usize) -> TableError {
        TableError::OutOfBounds { kind: self.kind.name, section: section.name, entry }
    }
}

/// Returns the header and the section directory after validating them.
fn checked_header(file: &[u8], kind: Kind) -> Result<&[u8], TableError> {
    if file.get(..8) != Some(&MAGIC) {
        return Err(TableError::NotATable { kind: kind.name });
    }
    let found = file.len() as u64;
    let short = |expected| TableError::Length { kind: kind.name, expected, found };
    let fixed = file.get(..FIXED_HEADER).ok_or_else(|| short(FIXED_HEADER as u64))?;
    check_version("table file format".to_owned(), FORMAT_VERSION, u32_at(fixed, 8))?;
    let length = FIXED_HEADER as u64 + DIRECTORY_ENTRY as u64 * u64::from(u32_at(fixed, 44));
    let header = usize::try_from(length).ok().and_then(|length| file.get(..length));
    let header = header.ok_or_else(|| short(length))?;
    let (expected, checksum) = (u32_at(fixed, 48), header_checksum(header));
    if checksum != expected {
        return Err(TableError::Checksum { kind: kind.name, part: "header", expected, found: checksum });
    }
    let name = padded_name(&fixed[16..16 + KIND_NAME]);
    if name != kind.name {
        return Err(TableError::OtherKind { expected: kind.name, found: name });
    }
    check_version(format!("{} tables", kind.name), kind.version, u32_at(fixed, 12))?;
    if u64_at(fixed, 32) != found {
        return Err(short(u64_at(fixed, 32)));
    }
    Ok(header)
}

fn check_version(part: String, expected: u32, found: u32) -> Result<(), TableError> {
    if found == expected { Ok(()) } else { Err(TableError::Version { part, expected, found }) }
}

fn read_entry(entry: &[u8], kind: Kind, header: usize, file: usize) -> Result<DirectoryEntry, TableError> {
    let name = padded_name(&entry[..SECTION_NAME]);
    let (offset, length) = (u64_at(entry, 24), u64_at(entry, 32));
    let start = usize::try_from(offset).ok().filter(|start| start.is_multiple_of(ALIGNMENT));
    let end = offset.checked_add(length).and_then(|end| usize::try_from(end).ok());
    match start.zip(end) {
        Some((start, end)) if start >= header && end <= file => {
            Ok(DirectoryEntry { name, element: u32_at(entry, SECTION_NAME), start, end })
        }
        _ => Err(TableError::OutsideFile { kind: kind.name, section: name }),
    }
}

fn padded_name(field: &[u8]) -> String {
    String::from_utf8_lossy(field).trim_end_matches('\0').to_owned()
}

/// Reads a number of a header whose length was checked.
fn u32_at(header: &[u8], offset: usize) -> u32 {
    bytemuck::pod_read_unaligned(&header[offset..offset + 4])
}

fn u64_at(header: &[u8], offset: usize) -> u64 {
    bytemuck::pod_read_unaligned(&header[offset..offset + 8])
}
