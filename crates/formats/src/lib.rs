//! Reads captions from files and tables: bytes or record batches in, captions or one located error out.
//!
//! The readers are strict. They reject files that Python's `json` accepts silently, if the scores could
//! differ from what the file appears to contain: duplicate keys in an object (at the top level, in an entry,
//! among image ids), lone surrogate escapes, more than 127 nested lists and objects, and numbers beyond the
//! range of floats. These checks cover the whole file, including fields that are not read. In such fields,
//! nested objects may repeat a key, and `NaN` and `Infinity` are allowed. [`read_json`] applies the same
//! checks to any other JSON file. A UTF-8 byte order mark is skipped.
//!
//! ```
//! use capeval_formats::{ReadErrorKind, read_results};
//!
//! let results = read_results(br#"[{"image_id": 391895, "caption": "a man on a moped"}]"#)?;
//! assert_eq!(results.caption(0), "a man on a moped");
//!
//! let error = read_results(br#"[{"image_id": true, "caption": "a man"}]"#).unwrap_err();
//! assert_eq!(error.kind, ReadErrorKind::WrongType);
//! assert_eq!(
//!     error.to_string(),
//!     "entries[0].image_id must be an integer or a string (got true)"
//! );
//! # Ok::<(), capeval_formats::ReadError>(())
//! ```

mod batches;
mod captions;
mod error;
mod ids;
mod interner;
mod json;
mod karpathy;
mod outline;
mod pickle;
mod python_numbers;
mod readers;
mod shapes;
mod source;
mod tree;

pub use batches::{Columns, read_batches};
pub use captions::{Captions, CaptionsError};
pub use error::{Place, Position, ReadError, ReadErrorKind};
pub use ids::{ImageId, ImageIds};
pub use outline::{Looks, Outline, read_outline};
pub use pickle::check_pickle;
pub use readers::{
    read_annotations, read_json, read_json_lines, read_json_lines_references, read_json_lines_results,
    read_karpathy, read_results, read_results_strictly, read_results_under,
};
pub use tree::Build;
