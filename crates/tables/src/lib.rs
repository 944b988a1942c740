//! Table files: named sections of numbers in a memory-mapped file that is read in place.
//!
//! [`write()`] returns the bytes of a file, and [`TableFile::open`] reads any bytes, usually a memory map.
//! Opening checks only the header. [`TableFile::verify`] reads the whole file.
//!
//! ```
//! use capeval_tables::{Contents, Kind, TableFile, write};
//!
//! const KIND: Kind = Kind { name: "EXAMPLE", version: 1 };
//! let bytes = write(KIND, &[Contents::of("ages", &[7_u32, 9]), Contents::of("weights", &[0.5_f64])]);
//! let file = TableFile::open(bytes, KIND)?;
//! let ages = file.section::<u32>("ages")?;
//! assert_eq!(file.numbers(ages)?, [7, 9]);
//! assert_eq!(file.number(ages, 1)?, 9);
//! # Ok::<(), capeval_tables::TableError>(())
//! ```
//!
//! # Format, version 1
//!
//! All numbers are little-endian, and every section starts at a multiple of 8 bytes.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | 8 bytes | `CAPTABLE` |
//! | 8 | u32 | version of this format |
//! | 12 | u32 | version of the kind |
//! | 16 | 16 bytes | name of the kind, padded with zeros |
//! | 32 | u64 | length of the file in bytes |
//! | 40 | u32 | CRC-32 of all bytes after the section directory (the file's fingerprint) |
//! | 44 | u32 | number of sections |
//! | 48 | u32 | CRC-32 of bytes 0..48 and of the section directory |
//! | 52 | u32 | zero |
//! | 56 | 40 bytes per section | the section directory |
//!
//! An entry of the directory has the section's name (20 bytes, padded with zeros), the type of its
//! numbers (u32, see [`Element`]), its offset and its length in bytes (u64 each).

mod error;
mod read;
mod write;

pub use error::TableError;
pub use read::{Section, TableFile};
pub use write::{Contents, write};

#[cfg(target_endian = "big")]
compile_error!("table files are read in place, which requires a little-endian machine");

const MAGIC: [u8; 8] = *b"CAPTABLE";
const FORMAT_VERSION: u32 = 1;
const FIXED_HEADER: usize = 56;
const DIRECTORY_ENTRY: usize = 40;
const SECTION_NAME: usize = 20;
const KIND_NAME: usize = 16;
const ALIGNMENT: usize = 8;

/// A kind of table file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name of the kind, at most 16 ASCII characters.
    pub name: &'static str,
    /// Version, increased whenever the sections or their meanings change.
    pub version: u32,
}

/// A number type that a section can contain.
pub trait Element: bytemuck::Pod {
    /// Code of the type in the section directory.
    const CODE: u32;
    /// Name of the type.
    const NAME: &'static str;
}

macro_rules! elements {
    ($($number:ident $code:literal),*) => {
        $(impl Element for $number {
            const CODE: u32 = $code;
            const NAME: &'static str = stringify!($number);
        })*

        fn element_name(code: u32) -> &'static str {
            match code {
                $($code => $number::NAME,)*
                _ => "unknown",
            }
        }
    };
}

elements!(u8 1, u16 2, u32 3, u64 4, f32 5, f64 6);

fn header_checksum(header: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&header[..48]);
    checksum.update(&header[FIXED_HEADER..]);
    checksum.finalize()
}

#[cfg(test)]
mod tests;
