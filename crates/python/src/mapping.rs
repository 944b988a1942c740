//! Table files mapped into memory.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;
use pyo3::PyResult;

/// Maps a table file, of which nothing is read yet.
pub fn map_file(path: &Path) -> PyResult<Mmap> {
    let file = File::open(path)?;
    // SAFETY: the file is written whole under another name and put in place in one step, and nobody
    // changes it afterwards. Every number read from it is checked before it is used.
    #[expect(unsafe_code, reason = "memory-mapping")]
    let map = unsafe { Mmap::map(&file) }?;
    Ok(map)
}
