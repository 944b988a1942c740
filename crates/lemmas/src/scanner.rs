//! One run of the lexer over `word_TAG`.

use crate::{Action, Rule, Tables, TokenEnd};

/// Text in UTF-16 units, in which the rules count.
pub(crate) type Units = Vec<u16>;

pub(crate) struct Scanner<'a> {
    tables: &'a Tables,
    text: &'a [u16],
    position: usize,
    state: u32,
}

impl<'a> Scanner<'a> {
    pub fn new(tables: &'a Tables, text: &'a [u16]) -> Self {
        Self { tables, text, position: 0, state: tables.lexer.word_state }
    }

    /// Returns the next token's lemma, or `None` at the end of the text.
    pub fn next(&mut self) -> Option<Units> {
        let mut before: Option<Units> = None;
        // Every step consumes text, except for a state change. The limit stops loops in damaged tables.
        for _ in 0..=2 * self.text.len() + self.tables.lexer.starts.len() {
            let start = self.position;
            let Some((rule, length)) = self.longest_match() else {
                return before;
            };
            let length = match rule.end {
                TokenEnd::Match => length,
                TokenEnd::BeforeEnd(units) => length.saturating_sub(units as usize),
                TokenEnd::AfterStart(units) => (units as usize).min(length),
            };
            self.position = start + length;
            let token = &self.text[start..self.position];
            match &rule.action {
                Action::Skip => {}
                Action::Enter { state } => {
                    self.state = *state;
                    self.position = start;
                }
                Action::EndTag { state } => {
                    self.state = *state;
                    return Some(join(before, token.to_vec()));
                }
                Action::LowerCaseAndNext => before = Some(join(before, lower_case(token))),
                action => return Some(join(before, self.lemma(action, token))),
            }
        }
        before
    }

    /// Returns the rule and length of the longest match. The table decides between rules of equal length.
    fn longest_match(&self) -> Option<(&'a Rule, usize)> {
        let mut state = self.tables.lexer.starts[self.state as usize] as usize;
        let mut found = None;
        let rest = &self.text[self.position..];
        for (index, &unit) in rest.iter().enumerate() {
            let class = usize::from(self.tables.classes[usize::from(unit)]);
            let next = self.tables.transitions[self.tables.rows[state] as usize + class];
            if next == 0 {
                break;
            }
            state = usize::from(next) - 1;
            let accepted = usize::from(self.tables.accepted[state]);
            if accepted > 0 {
                found = Some((&self.tables.lexer.rules[accepted - 1], index + 1));
            }
        }
        found
    }

    fn lemma(&self, action: &Action, token: &[u16]) -> Units {
        match action {
            Action::Replace { delete, add } => replace(token, *delete, add),
            Action::ReplaceBeforeEnding { delete, add } => {
                match token.last().copied().and_then(ending_length) {
                    Some(ending) => replace(token, ending + delete, add),
                    None => add.encode_utf16().collect(),
                }
            }
            Action::Undouble { delete } => self.undouble(token, *delete),
            Action::LowerCase => lower_case(token),
            _ => token.to_vec(),
        }
    }

    fn undouble(&self, token: &[u16], delete: i32) -> Units {
        let mut stem = lower_case(token);
        let length = kept(stem.len().min(token.len()), delete);
        let Some(consonant) = length.checked_sub(1).and_then(|last| stem.get(last).copied()) else {
            return stem;
        };
        if delete > 0 {
            stem.truncate(length - 1);
        }
        let text = String::from_utf16_lossy(&stem);
        if self.tables.lexer.doubling_stems.binary_search(&text).is_err() {
            stem.push(consonant);
        }
        stem
    }
}

fn join(before: Option<Units>, lemma: Units) -> Units {
    match before {
        None => lemma,
        Some(mut joined) => {
            joined.extend(lemma);
            joined
        }
    }
}

/// Returns the length of the ending -s, -ed or -ing, including the letter that replaces or precedes it.
fn ending_length(last: u16) -> Option<i32> {
    match u8::try_from(last).ok()? {
        b's' | b'S' | b'd' | b'D' => Some(2),
        b'g' | b'G' => Some(3),
        _ => None,
    }
}

fn kept(length: usize, delete: i32) -> usize {
    length.saturating_sub(usize::try_from(delete).unwrap_or(0))
}

fn replace(token: &[u16], delete: i32, add: &str) -> Units {
    let mut lemma = lower_case(&token[..kept(token.len(), delete)]);
    lemma.extend(add.encode_utf16());
    lemma
}

pub(crate) fn lower_case(units: &[u16]) -> Units {
    if units.iter().any(|&unit| unit >= 0x80)
        && let Ok(text) = String::from_utf16(units)
    {
        return capeval_ptb::lowercase(&text).encode_utf16().collect();
    }
    // A lone surrogate has no case.
    units.iter().map(|&unit| if is_ascii_upper(unit) { unit + 0x20 } else { unit }).collect()
}

fn is_ascii_upper(unit: u16) -> bool {
    (0x41..=0x5A).contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::lower_case;

    /// The expected values are Java 17's.
    #[test]
    fn lower_case_matches_java() {
        for (text, lower) in
            [("DOG\u{e9}\u{c9}", "dog\u{e9}\u{e9}"), ("ΑΣ's", "ασ's"), ("a\u{200d}Σ@", "a\u{200d}ς@")]
        {
            let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
            assert_eq!(lower_case(&units(text)), units(lower), "{text}");
        }
        assert_eq!(lower_case(&[0x41, 0xd800, 0x3a3]), [0x61, 0xd800, 0x3a3]);
    }
}
