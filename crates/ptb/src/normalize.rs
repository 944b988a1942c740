//! Treebank forms of quotes, brackets and other tokens.

use crate::rules::Action;

const SOFT_HYPHEN: char = '\u{ad}';

/// Returns the token of a matched text. `scratch` holds the token if it differs from the text.
///
/// The text of an abbreviation that ends a sentence includes the abbreviation's period.
pub(crate) fn normalize<'a>(action: Action, text: &'a str, scratch: &'a mut String) -> &'a str {
    match action {
        Action::Skip => return "",
        Action::Keep | Action::FinalAbbreviation | Action::FinalAcronym => return text,
        Action::Write(token) => return token,
        Action::Hyphens if matches!(text.len(), 3 | 4) => return "--",
        Action::Hyphens => return text,
        Action::DropSoftHyphens if !text.contains(SOFT_HYPHEN) => return text,
        _ => scratch.clear(),
    }
    match action {
        Action::DropSoftHyphens => {
            scratch.extend(text.chars().filter(|&c| c != SOFT_HYPHEN));
            if scratch.is_empty() {
                scratch.push('-');
            }
        }
        Action::Ampersand => ampersands(text, scratch),
        Action::NoBreak => rewrite(text, scratch, no_break),
        Action::Brackets => rewrite(text, scratch, bracket),
        Action::Phone => rewrite(text, scratch, |c| no_break(c).or_else(|| bracket(c))),
        Action::Fraction => rewrite(text, scratch, fraction),
        Action::Currency => rewrite(text, scratch, currency),
        Action::Quotes { opening } => quotes(text, opening, scratch),
        _ => scratch.push_str(text),
    }
    scratch
}

fn rewrite(text: &str, out: &mut String, form: impl Fn(char) -> Option<&'static str>) {
    for character in text.chars() {
        match form(character) {
            Some(form) => out.push_str(form),
            None => out.push(character),
        }
    }
}

fn ampersands(text: &str, out: &mut String) {
    const ENTITY: &str = "&amp;";
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_entity = rest.get(..ENTITY.len()).is_some_and(|s| s.eq_ignore_ascii_case(ENTITY));
        let taken = if is_entity { ENTITY.len() } else { first.len_utf8() };
        out.push(first);
        rest = &rest[taken..];
    }
}

/// Replaces a space, or a line end within a caption, by a no-break space.
fn no_break(character: char) -> Option<&'static str> {
    (character == ' ' || crate::symbols::ends_line(character)).then_some("\u{a0}")
}

fn bracket(character: char) -> Option<&'static str> {
    match character {
        '(' => Some("-LRB-"),
        ')' => Some("-RRB-"),
        _ => None,
    }
}

fn fraction(character: char) -> Option<&'static str> {
    match character {
        '¼' => Some("1/4"),
        '½' => Some("1/2"),
        '¾' => Some("3/4"),
        '⅓' => Some("1/3"),
        '⅔' => Some("2/3"),
        _ => None,
    }
}

/// Returns the Treebank's form of a currency sign: cents, `#` for pounds, and dollars, also for euros and the
/// generic currency sign.
///
/// Other signs are unchanged.
fn currency(character: char) -> Option<&'static str> {
    match character {
        '¢' => Some("cents"),
        '£' => Some("#"),
        '\u{80}' | '¤' | '\u{20a0}' | '€' => Some("$"),
        _ => None,
    }
}

/// Converts quotes to LaTeX form. Entities are recognized only in lower case.
fn quotes(text: &str, opening: bool, out: &mut String) {
    let (single, double) = if opening { ("`", "``") } else { ("'", "''") };
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (form, taken) = if rest.starts_with("&apos;") {
            (single, 6)
        } else if rest.starts_with("&quot;") {
            (double, 6)
        } else {
            let form = match first {
                '\'' => single,
                '"' => double,
                '\u{91}' | '‘' | '‛' | '‹' => "`",
                '\u{92}' | '’' | '›' => "'",
                '\u{93}' | '“' | '«' => "``",
                '\u{94}' | '”' | '»' => "''",
                _ => &rest[..first.len_utf8()],
            };
            (form, first.len_utf8())
        };
        out.push_str(form);
        rest = &rest[taken..];
    }
}
