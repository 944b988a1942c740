//! Tuples as bytes, for storage between runs.
//!
//! Strings are concatenated. Each ends with a byte that does not occur in UTF-8: `0xFF` after the last string
//! of a tuple, `0xFE` after the others.

use crate::Tuple;

const NEXT_PART: u8 = 0xFE;
const NEXT_TUPLE: u8 = 0xFF;

/// Error of bytes that are not packed tuples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored parse is damaged: expected tuples of one to three strings")]
pub struct PackedError;

impl Tuple {
    /// Packs tuples into bytes.
    #[must_use]
    pub fn pack(tuples: &[Self]) -> Vec<u8> {
        let mut packed = Vec::new();
        for tuple in tuples {
            for part in tuple.parts() {
                packed.extend_from_slice(part.as_bytes());
                packed.push(NEXT_PART);
            }
            packed.pop();
            packed.push(NEXT_TUPLE);
        }
        packed
    }

    /// Unpacks tuples from bytes created by [`Tuple::pack`].
    ///
    /// # Errors
    /// Returns a [`PackedError`] if the bytes are invalid.
    pub fn unpack(packed: &[u8]) -> Result<Vec<Self>, PackedError> {
        let Some((&NEXT_TUPLE, tuples)) = packed.split_last() else {
            return if packed.is_empty() { Ok(Vec::new()) } else { Err(PackedError) };
        };
        let tuple = |bytes: &[u8]| {
            let parts = bytes.split(|&byte| byte == NEXT_PART).map(std::str::from_utf8);
            let parts = parts.collect::<Result<Vec<&str>, _>>().map_err(|_| PackedError)?;
            Self::from_parts(&parts).ok_or(PackedError)
        };
        tuples.split(|&byte| byte == NEXT_TUPLE).map(tuple).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tuples_round_trip(texts in prop::collection::vec(prop::collection::vec(".{0,9}", 1..4), 0..6)) {
            let parts = |texts: &Vec<String>| {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                Tuple::from_parts(&texts).unwrap()
            };
            let tuples: Vec<Tuple> = texts.iter().map(parts).collect();
            prop_assert_eq!(Tuple::unpack(&Tuple::pack(&tuples)), Ok(tuples));
        }

        #[test]
        fn random_bytes_are_rejected_or_tuples(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            if let Ok(tuples) = Tuple::unpack(&bytes) {
                prop_assert_eq!(Tuple::pack(&tuples), bytes);
            }
        }
    }

    #[test]
    fn truncated_bytes_are_rejected() {
        assert_eq!(Tuple::unpack(b"dog"), Err(PackedError));
        assert_eq!(Tuple::unpack(b"a\xfeb\xfec\xfed\xff"), Err(PackedError));
    }
}
