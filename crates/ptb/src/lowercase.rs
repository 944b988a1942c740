//! Lower case, as Unicode 13 has it.

/// Appends the text in lower case.
pub(crate) fn push_lowercase(text: &str, out: &mut String) {
    if text.is_ascii() {
        out.extend(
            text.bytes()
                .map(|byte| char::from(byte.to_ascii_lowercase())),
        );
    } else {
        out.push_str(&text.to_lowercase());
    }
}
