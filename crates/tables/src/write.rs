//! Writing of table files.

use crate::{
    ALIGNMENT, DIRECTORY_ENTRY, Element, FIXED_HEADER, FORMAT_VERSION, KIND_NAME, Kind, MAGIC, SECTION_NAME,
    header_checksum,
};

/// A section to write: its name and numbers.
pub struct Contents<'a> {
    name: &'static str,
    element: u32,
    bytes: &'a [u8],
}

impl<'a> Contents<'a> {
    /// Creates a section of `numbers` with a name of at most 20 ASCII characters.
    #[must_use]
    pub fn of<T: Element>(name: &'static str, numbers: &'a [T]) -> Self {
        Self { name, element: T::CODE, bytes: bytemuck::cast_slice(numbers) }
    }
}

/// Returns the bytes of a table file with these sections, in this order.
///
/// # Panics
/// Panics if a name is too long or not ASCII, or if two sections have the same name.
#[must_use]
pub fn write(kind: Kind, sections: &[Contents<'_>]) -> Vec<u8> {
    let header = FIXED_HEADER + DIRECTORY_ENTRY * sections.len();
    let padded = |section: &Contents<'_>| section.bytes.len().next_multiple_of(ALIGNMENT);
    let mut file = Vec::with_capacity(header + sections.iter().map(padded).sum::<usize>());
    file.resize(header, 0);
    for (position, section) in sections.iter().enumerate() {
        assert!(sections[..position].iter().all(|other| other.name != section.name), "{}", section.name);
        let entry = FIXED_HEADER + DIRECTORY_ENTRY * position;
        let place = [file.len() as u64, section.bytes.len() as u64];
        put_name(&mut file[entry..entry + SECTION_NAME], section.name);
        file[entry + 20..entry + 24].copy_from_slice(&section.element.to_le_bytes());
        file[entry + 24..entry + 32].copy_from_slice(&place[0].to_le_bytes());
        file[entry + 32..entry + 40].copy_from_slice(&place[1].to_le_bytes());
        file.extend_from_slice(section.bytes);
        file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
    }
    let (fingerprint, length) = (crc32fast::hash(&file[header..]), file.len() as u64);
    file[..8].copy_from_slice(&MAGIC);
    file[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    file[12..16].copy_from_slice(&kind.version.to_le_bytes());
    put_name(&mut file[16..16 + KIND_NAME], kind.name);
    file[32..40].copy_from_slice(&length.to_le_bytes());
    file[40..44].copy_from_slice(&fingerprint.to_le_bytes());
    file[44..48].copy_from_slice(&(sections.len() as u32).to_le_bytes());
    let checksum = header_checksum(&file[..header]);
    file[48..52].copy_from_slice(&checksum.to_le_bytes());
    file
}

fn put_name(field: &mut [u8], name: &str) {
    assert!(name.is_ascii() && name.len() <= field.len(), "{name:?} must be at most {} ASCII", field.len());
    field[..name.len()].copy_from_slice(name.as_bytes());
}
