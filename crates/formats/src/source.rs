//! Decodes files, reads their text with serde, and converts serde's errors to [`ReadError`].

use serde::de::DeserializeSeed;
use serde_json::error::Category;

use crate::error::{Position, ReadError, ReadErrorKind};
use crate::ids::IMAGE_ID;
use crate::json::{Fault, Found, Read, Reader, Shape};
use crate::tree::{Build, Tree};

/// The text of a file, or of one of its lines, to be read as one JSON value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'de> {
    pub(crate) file: &'de str,
    /// Byte range of the text in the file.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether the text is one line of several.
    pub(crate) is_line: bool,
}

impl<'de> Source<'de> {
    /// Creates the source of a whole file.
    pub(crate) fn whole(file: &'de str) -> Self {
        Source { file, start: 0, end: file.len(), is_line: false }
    }

    /// Reads the text as one value of `shape`. Nothing may follow the value.
    pub(crate) fn read<S: Shape<'de>>(self, reader: &mut Reader<'de>, shape: S) -> Result<(), ReadError> {
        let mut parser = serde_json::Deserializer::from_str(&self.file[self.start..self.end]);
        Read(shape, reader)
            .deserialize(&mut parser)
            .and_then(|()| parser.end())
            .map_err(|error| self.convert_error(reader, &error))
    }

    /// Reads the text as one value of any type. Nothing may follow the value.
    pub(crate) fn read_tree<B: Build>(
        self,
        reader: &mut Reader<'de>,
        builder: &B,
    ) -> Result<B::Value, ReadError> {
        let mut parser = serde_json::Deserializer::from_str(&self.file[self.start..self.end]);
        Tree(builder, reader)
            .deserialize(&mut parser)
            .and_then(|value| parser.end().map(|()| value))
            .map_err(|error| self.convert_error(reader, &error))
    }

    fn convert_error(self, reader: &mut Reader<'de>, error: &serde_json::Error) -> ReadError {
        let (kind, position, message) = match (reader.fault.take(), error.classify()) {
            (Some(Fault::Other(kind, message)), _) => (kind, None, message),
            (Some(Fault::Wrong { expected, found }), _) => {
                let (kind, message) = self.wrong_type(reader, expected, &found, error);
                (kind, None, message)
            }
            (None, Category::Eof) => self.truncated(reader),
            (None, _) => self.not_json(reader, error),
        };
        ReadError { kind, place: reader.place(), position, message }
    }

    fn wrong_type(
        self,
        reader: &Reader<'de>,
        expected: &str,
        found: &Found,
        error: &serde_json::Error,
    ) -> (ReadErrorKind, String) {
        let place = reader.describe_place();
        let Found::Words(found) = found else {
            let number = self.number_before(error);
            let found = shown_number(number);
            let is_integer = number.bytes().all(|b| b == b'-' || b.is_ascii_digit());
            if expected == IMAGE_ID && is_integer && number.parse::<i64>().is_err() {
                return (ReadErrorKind::NumberTooLarge, too_large_id(&place, &found));
            }
            let message = format!("{place} must be {expected} (got {found})");
            return (ReadErrorKind::WrongType, message);
        };
        let message = format!("{place} must be {expected} (got {found})");
        (ReadErrorKind::WrongType, message)
    }

    fn truncated(self, reader: &Reader<'de>) -> (ReadErrorKind, Option<Position>, String) {
        let position = Some(position_at(self.file, self.end));
        let place = reader.place();
        let is_last = self.file[self.end..].trim_ascii().is_empty();
        let message = match place {
            Some(place) if self.is_line && !is_last => format!(
                "{} ends inside its JSON (truncated?); expected one whole object in each line",
                place.entry
            ),
            Some(place) => format!("the file ends inside {place} (truncated?)"),
            None => "the file ends inside its JSON (truncated?)".to_owned(),
        };
        (ReadErrorKind::Truncated, position, message)
    }

    /// Returns the kind, position and message of a syntax error. serde_json reports its reasons only as text.
    fn not_json(
        self,
        reader: &Reader<'de>,
        error: &serde_json::Error,
    ) -> (ReadErrorKind, Option<Position>, String) {
        let reason = error.to_string();
        let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |parts| parts.0);
        let wrong = self.wrong_byte(error);
        let (kind, byte, what) = match reason {
            "recursion limit exceeded" => {
                let what = ": expected at most 127 lists and objects inside each other";
                (ReadErrorKind::TooDeep, wrong, what.to_owned())
            }
            "number out of range" => return self.number_out_of_range(reader, error),
            "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
                let byte = self.surrogate_before(wrong);
                let what = format!(
                    ": {} is a lone surrogate, half of a character",
                    self.file.get(byte..byte + 6).unwrap_or_default()
                );
                (ReadErrorKind::LoneSurrogate, byte, what)
            }
            _ => match self.python_number(wrong) {
                Some((byte, number)) => {
                    let what = format!(": {number} is not JSON; expected a number or null");
                    (ReadErrorKind::NotANumber, byte, what)
                }
                None => {
                    let what = format!(" is not JSON: {reason} (found {})", self.found(wrong));
                    (ReadErrorKind::NotJson, wrong, what)
                }
            },
        };
        let position = position_at(self.file, byte);
        let at = self.describe_position(reader, position);
        (kind, Some(position), at + &what)
    }

    fn number_out_of_range(
        self,
        reader: &Reader<'de>,
        error: &serde_json::Error,
    ) -> (ReadErrorKind, Option<Position>, String) {
        let place = reader.describe_place();
        let number = self.number_before(error);
        let position = position_at(self.file, self.reached(error) - number.len());
        let number = shown_number(number);
        let is_id = reader.place().is_some_and(|place| match place.field.as_deref() {
            Some("image_id") => true,
            Some("id") => place.entry.starts_with("images["),
            _ => false,
        });
        let message = if is_id {
            too_large_id(&place, &number)
        } else {
            format!("{place} must be within the range of floats (got {number})")
        };
        (ReadErrorKind::NumberTooLarge, Some(position), message)
    }

    /// Formats a position as `line 3 column 17 (annotations[17].caption)`.
    ///
    /// The line of JSON Lines is not repeated.
    fn describe_position(self, reader: &Reader<'de>, position: Position) -> String {
        let place = match reader.place() {
            Some(place) if self.is_line => place.field,
            place => place.map(|place| place.to_string()),
        };
        place.map_or_else(|| position.to_string(), |place| format!("{position} ({place})"))
    }

    /// Returns the offset after the last byte that serde_json read.
    fn reached(self, error: &serde_json::Error) -> usize {
        let text = &self.file[self.start..self.end];
        let lines_before = error.line().saturating_sub(1);
        let line_start: usize = text.split_inclusive('\n').take(lines_before).map(str::len).sum();
        self.start + (line_start + error.column()).min(text.len())
    }

    fn wrong_byte(self, error: &serde_json::Error) -> usize {
        let mut byte = self.reached(error).saturating_sub(1).max(self.start);
        while !self.file.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    }

    fn found(self, byte: usize) -> String {
        self.file[byte..self.end].chars().next().map_or_else(|| "the end".to_owned(), |c| format!("{c:?}"))
    }

    /// Returns the number that ends at the byte where serde_json stopped.
    fn number_before(self, error: &serde_json::Error) -> &'de str {
        let is_of_number = |b: &u8| b.is_ascii_digit() || b"+-.eE".contains(b);
        let reached = &self.file.as_bytes()[..self.reached(error)];
        let length = reached.iter().rev().take_while(|b| is_of_number(b)).count();
        &self.file[reached.len() - length..reached.len()]
    }

    /// Returns the start of `NaN`, `Infinity` or `-Infinity` if `byte` is within one.
    fn python_number(self, byte: usize) -> Option<(usize, &'static str)> {
        let before = &self.file.as_bytes()[self.start..byte];
        let length = before.iter().rev().take_while(|b| b.is_ascii_alphabetic() || **b == b'-').count();
        let start = byte - length;
        ["NaN", "Infinity", "-Infinity"]
            .into_iter()
            .find(|number| self.file[start..self.end].starts_with(number))
            .map(|number| (start, number))
    }

    /// Returns the start of the last surrogate escape before `byte`.
    fn surrogate_before(self, byte: usize) -> usize {
        let text = &self.file.as_bytes()[self.start..byte];
        let is_surrogate = |escape: &[u8]| {
            escape.starts_with(b"\\u")
                && escape[2].eq_ignore_ascii_case(&b'd')
                && !(b'0'..=b'7').contains(&escape[3])
        };
        text.windows(4).rposition(is_surrogate).map_or(byte, |at| self.start + at)
    }
}

fn too_large_id(place: &str, found: &str) -> String {
    format!("{place} must be an integer of 64 bits or a string (got {found})")
}

fn shown_number(number: &str) -> String {
    if number.len() <= 40 { number.to_owned() } else { format!("a number of {} characters", number.len()) }
}

fn position_at(file: &str, byte: usize) -> Position {
    let line_start = file[..byte].rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        line: 1 + file[..line_start].matches('\n').count(),
        column: 1 + file[line_start..byte].chars().count(),
        byte,
    }
}

/// Byte order mark that some programs write before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Returns the text of a file without a byte order mark.
///
/// Empty files are an error. If the file is not valid UTF-8, the valid text is returned with the error.
pub(crate) fn text_of(bytes: &[u8]) -> Result<(&str, Option<ReadError>), ReadError> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    refuse_other_encodings(bytes)?;
    if bytes.trim_ascii().is_empty() {
        let found = if bytes.is_empty() { "is empty" } else { "has only white space" };
        let message = format!("the file {found}; expected JSON");
        return Err(ReadError::of_file(ReadErrorKind::EmptyFile, message));
    }
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok((text, None)),
        Err(error) => error,
    };
    let (valid, rest) = bytes.split_at(error.valid_up_to());
    let text = std::str::from_utf8(valid).unwrap_or_default();
    let position = position_at(text, text.len());
    let (kind, message) = match error.error_len() {
        Some(_) => (
            ReadErrorKind::NotUtf8,
            format!("{position}: the byte 0x{:02x} is not UTF-8 here; expected plain UTF-8", rest[0]),
        ),
        None => {
            (ReadErrorKind::Truncated, format!("the file ends inside a character at {position} (truncated?)"))
        }
    };
    let error = ReadError { position: Some(position), ..ReadError::of_file(kind, message) };
    Ok((text, Some(error)))
}

fn refuse_other_encodings(bytes: &[u8]) -> Result<(), ReadError> {
    let (kind, message) = match bytes {
        // JSON starts with an ASCII character, so an adjacent zero byte is the other half of a wider
        // character.
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, ..] | [_, 0, ..] => {
            (ReadErrorKind::Utf16, "the file looks like UTF-16 or UTF-32; expected plain UTF-8")
        }
        [0x1F, 0x8B, ..] => {
            (ReadErrorKind::Compressed, "the file looks like gzip; expected the JSON inside it")
        }
        [b'P', b'K', 3, 4, ..] => {
            (ReadErrorKind::Compressed, "the file looks like a zip archive; expected the JSON inside it")
        }
        _ => return Ok(()),
    };
    Err(ReadError::of_file(kind, message))
}
