//! Validation of pickles before they are loaded.

/// The argument of a pickle operation.
enum After {
    /// This number of bytes.
    Bytes(usize),
    /// A length field of this size, followed by that many bytes.
    Counted(usize),
    /// This number of lines.
    Lines(usize),
}

/// Checks that a pickle is complete, uses protocol 5 or lower, and has plausible memo indices.
///
/// Python allocates memory for every memo index up to the largest one, so a damaged pickle could exhaust the
/// memory. The largest allowed index is the length of the pickle.
///
/// # Errors
/// Returns a description of the problem.
///
/// ```
/// use capeval_formats::check_pickle;
///
/// assert_eq!(check_pickle(b"\x80\x02]r\x00\x00\x00\x00."), Ok(()));
/// let error = check_pickle(b"\x80\x02]r\x00\x00\x00\x70.").unwrap_err();
/// assert_eq!(error, "byte 3: memo index 1879048192 is too large for a pickle of 9 bytes");
/// ```
pub fn check_pickle(pickle: &[u8]) -> Result<(), String> {
    let mut place = 0;
    loop {
        let start = place;
        let operation = *pickle.get(place).ok_or("the pickle is truncated")?;
        place += 1;
        let rest = &pickle[place..];
        let after = after(operation).ok_or_else(|| format!("byte {start} is not a pickle operation"))?;
        let cut = || format!("the pickle ends within the operation at byte {start}");
        let argument = match after {
            After::Bytes(len) => rest.get(..len),
            After::Counted(len) => rest.get(..len).and_then(|count| {
                let count = number_of(count)?;
                // The content of a frame is operations, so only its length field is skipped.
                let counted = rest[len..].get(..count)?;
                Some(if operation == b'\x95' { &rest[..len] } else { &rest[..len + counted.len()] })
            }),
            After::Lines(lines) => {
                let ends = rest.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
                ends.map(|(end, _)| &rest[..=end]).nth(lines - 1)
            }
        };
        let argument = argument.ok_or_else(cut)?;
        place += argument.len();
        let number = match operation {
            b'.' => return Ok(()),
            b'r' => number_of(argument),
            b'p' => str::from_utf8(&argument[..argument.len() - 1]).ok().and_then(|text| text.parse().ok()),
            _ => continue,
        };
        let number = number.ok_or_else(|| format!("byte {start}: invalid memo index"))?;
        // A pickle has no more objects than bytes.
        if number > pickle.len() {
            let len = pickle.len();
            return Err(format!(
                "byte {start}: memo index {number} is too large for a pickle of {len} bytes"
            ));
        }
    }
}

/// Decodes a little-endian unsigned integer.
fn number_of(bytes: &[u8]) -> Option<usize> {
    let number =
        bytes.iter().rev().try_fold(0_u64, |all, &byte| Some(all.checked_mul(256)? + u64::from(byte)));
    usize::try_from(number?).ok()
}

fn after(operation: u8) -> Option<After> {
    Some(match operation {
        b'('
        | b'.'
        | b'0'..=b'2'
        | b'N'
        | b'Q'
        | b'R'
        | b'a'
        | b'b'
        | b'd'
        | b'}'
        | b'e'
        | b'l'
        | b']'
        | b'o'
        | b's'
        | b't'
        | b')'
        | b'u'
        | b'\x81'
        | b'\x85'..=b'\x89'
        | b'\x8f'..=b'\x94'
        | b'\x97'
        | b'\x98' => After::Bytes(0),
        b'K' | b'h' | b'q' | b'\x80' | b'\x82' => After::Bytes(1),
        b'M' | b'\x83' => After::Bytes(2),
        b'J' | b'j' | b'r' | b'\x84' => After::Bytes(4),
        b'G' => After::Bytes(8),
        b'U' | b'C' | b'\x8c' | b'\x8a' => After::Counted(1),
        b'T' | b'X' | b'B' | b'\x8b' => After::Counted(4),
        b'\x8d' | b'\x8e' | b'\x95' | b'\x96' => After::Counted(8),
        b'F' | b'I' | b'L' | b'S' | b'V' | b'P' | b'g' | b'p' => After::Lines(1),
        b'c' | b'i' => After::Lines(2),
        _ => return None,
    })
}
