//! A reader of Java's object serialization, without Java.
//!
//! Source: "Java Object Serialization Specification", chapter 6 (the grammar of the stream), protocol version
//! 2. Unsupported features (proxy classes, resets, exceptions in the stream, externalizable classes) are
//! reported as errors.

pub(crate) mod hash_table;
mod objects;
mod stream;

pub(crate) use objects::Node;
pub(crate) use stream::read;

#[cfg(test)]
mod tests;
