//! Memory-mapped table files.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;
use pyo3::PyResult;

/// Maps a table file without reading it.
pub fn map_file(path: &Path) -> PyResult<Mmap> {
    let file = File::open(path)?;
    // SAFETY: the file is written atomically (under a temporary name, then renamed) and never modified
    // afterwards. Every number read from it is checked before use.
    #[expect(unsafe_code, reason = "memory-mapping")]
    let map = unsafe { Mmap::map(&file) }?;
    Ok(map)
}
