//! The printed tokens of a whole file.

use crate::normalize::normalize;
use crate::rules::Action;
use crate::runs::Runs;
use crate::symbols::{ends_line, symbols_of};
use crate::tokenizer::Tokenizer;

impl Tokenizer {
    /// Appends what the Stanford tokenizer prints for a file with the option `-preserveLines`.
    ///
    /// Tokens are separated by spaces. Each line end (`\n`, `\r`, `\r\n`, U+000B, U+000C, U+2028, U+2029)
    /// becomes `\n`, unless it is inside a tag. Line ends inside tags are printed unchanged.
    pub fn print_file(&mut self, text: &str, lowercase: bool, out: &mut String) {
        let (symbols, offsets) = read(text);
        let mut printer = Printer { lowercase, is_line_start: true, normalized: String::new(), out };
        let mut runs = Runs::default();
        let mut start = 0;
        while start < symbols.len() {
            let lexeme = self.lexer.next(&symbols, start, &|_| {}, &mut runs);
            let matched = &text[offsets[start]..offsets[lexeme.text_end]];
            match lexeme.action {
                Action::Skip if matched.starts_with(ends_line) => printer.end_line(),
                Action::Skip => {}
                action => printer.print(action, matched),
            }
            start = lexeme.end;
        }
    }
}

/// Returns the symbols of a text, including its line ends, and the byte offset of each symbol and of the end.
fn read(text: &str) -> (Vec<u8>, Vec<usize>) {
    let mut symbols = Vec::with_capacity(text.len());
    let mut offsets = Vec::with_capacity(text.len() + 1);
    for (offset, character) in text.char_indices() {
        let (first, second) = symbols_of(character);
        for symbol in std::iter::once(first).chain(second) {
            symbols.push(symbol);
            offsets.push(offset);
        }
    }
    offsets.push(text.len());
    (symbols, offsets)
}

struct Printer<'a> {
    lowercase: bool,
    is_line_start: bool,
    normalized: String,
    out: &'a mut String,
}

impl Printer<'_> {
    fn end_line(&mut self) {
        self.out.push('\n');
        self.is_line_start = true;
    }

    fn print(&mut self, action: Action, text: &str) {
        if !std::mem::take(&mut self.is_line_start) {
            self.out.push(' ');
        }
        // Only spaces of a tag become no-break spaces, so its line ends are left out of the normalization.
        for part in text.split_inclusive(ends_line) {
            let inner = part.strip_suffix(ends_line).unwrap_or(part);
            let token = normalize(action, inner, &mut self.normalized);
            if self.lowercase {
                crate::lowercase::push_lowercase(token, self.out);
            } else {
                self.out.push_str(token);
            }
            self.out.push_str(&part[inner.len()..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(text: &str) -> String {
        let mut out = String::new();
        Tokenizer::new().print_file(text, true, &mut out);
        out
    }

    #[test]
    fn every_line_end_ends_a_line() {
        assert_eq!(print("a\rb\r\nC\u{b}d\u{c}e\u{2028}f\u{2029}g\u{85}h\n"), "a\nb\nc\nd\ne\nf\ng ... h\n");
        assert_eq!(print("a\r\n\rb\n\rc\r\r\nd"), "a\n\nb\n\nc\n\nd");
    }

    #[test]
    fn line_ends_in_a_tag_are_printed() {
        assert_eq!(print("<a b='x\ny'> Z\nq"), "<a\u{a0}b='x\ny'> z\nq");
        assert_eq!(print("<a b='x\r\ny'> z\nq"), "<a\u{a0}b='x\r\ny'> z\nq");
    }

    #[test]
    fn the_next_line_affects_an_abbreviation() {
        assert_eq!(print("B.\r\nThe\nB. \rthe\n:)\r"), "b .\nthe\nb.\nthe\n:-rrb-\n");
    }
}
