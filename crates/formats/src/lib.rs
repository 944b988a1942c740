//! Caption files and tables: bytes or record batches in, captions out, or one error that says what is wrong
//! and where.
//!
//! The readers are strict. Files that Python's `json` takes silently are refused where a score
//! would come from something else than the file seems to say: a key that stands twice in one object
//! (at the top level, in an entry, among image ids), a lone surrogate escape, more than 127 lists and
//! objects inside each other, numbers beyond the range of floats. This holds for the whole file, also
//! for fields that are not read; only an object in such a field may have a key twice, and `NaN` and
//! `Infinity` may stand in it. [`read_json`] is as strict with any other JSON file. A UTF-8 byte order
//! mark is passed over.
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
