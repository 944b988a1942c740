//! Tree patterns in the language of Tregex: `VP < (NP=target $+ PP)`.
//!
//! A pattern is read ([`syntax`]), compiled to a list of steps ([`program`]) and run by back-tracking
//! ([`matcher`]). Matches come in the order of the original: relations from left to right, the candidates
//! of each in a fixed order, the last relation varying fastest. A match that can be reached in two ways
//! comes twice.
//!
//! Supported are the relations of [`syntax::Link`], `!`, `?`, `[ | ]`, `&`, `@`, names (`=x`), links
//! (`~x`) and groups of regular expressions (`#1%x`). Not supported are `<...`, `.+(..)` and `,+(..)`.

mod error;
mod matcher;
mod program;
mod syntax;

pub use error::PatternError;
pub use matcher::{Match, Matcher, Scratch};
pub use program::{Name, Pattern};
