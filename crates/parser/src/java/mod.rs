//! Java's object serialization, read without Java.
//!
//! Source: "Java Object Serialization Specification", chapter 6 (the grammar of the stream),
//! protocol version 2. What the reader leaves out (proxy classes, resets, exceptions inside the
//! stream, externalizable classes) is refused with an error.

pub(crate) mod hash_table;
mod objects;
mod stream;

pub(crate) use objects::Node;
pub(crate) use stream::read;

#[cfg(test)]
mod tests;
