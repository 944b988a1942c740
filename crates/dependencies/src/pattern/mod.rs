//! Tree patterns in the Tregex language: `VP < (NP=target $+ PP)`.
//!
//! A pattern is parsed ([`syntax`]), compiled to a list of steps ([`program`]) and matched by backtracking
//! ([`matcher`]). Matches are in the order of the original implementation: relations from left to right, the
//! candidates of each in a fixed order, with the last relation varying fastest. A match that can be reached
//! in two ways is returned twice.
//!
//! Supported are the relations of [`syntax::Link`], `!`, `?`, `[ | ]`, `&`, `@`, names (`=x`), links (`~x`)
//! and groups of regular expressions (`#1%x`). Not supported are `<...`, `.+(..)` and `,+(..)`.

mod error;
mod matcher;
mod program;
mod syntax;

pub use error::PatternError;
pub use matcher::{Match, Matcher, Scratch};
pub use program::{Name, Pattern};
