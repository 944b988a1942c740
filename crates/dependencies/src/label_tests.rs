//! Tests of labels that patterns require. [`Labels`](crate::Labels) stores one bit per test for each label.

use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};

/// The index of a registered test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TestId(u16);

impl TestId {
    #[inline]
    pub(crate) fn word(self) -> usize {
        usize::from(self.0) / 64
    }

    #[inline]
    pub(crate) fn bit(self) -> u64 {
        1 << (self.0 % 64)
    }
}

/// Maximum length of a list of plain words, which the pattern language tests without a regular expression.
const LONGEST_LIST: usize = 8;

#[derive(Debug)]
enum Test {
    Anything,
    Exact(Vec<String>),
    Prefix(Vec<String>),
    IgnoreCase(Vec<String>),
    LowerCased(FxHashSet<String>),
    Regex(Regex),
    Lookaround(Box<fancy_regex::Regex>),
}

#[derive(Debug, Hash, PartialEq, Eq, Clone)]
struct Key {
    description: String,
    on_category: bool,
}

/// All label tests of a set of patterns.
#[derive(Debug, Default)]
pub struct LabelTests {
    tests: Vec<(Test, bool)>,
    known: FxHashMap<Key, TestId>,
    exact: [FxHashMap<String, Vec<TestId>>; 2],
    other: Vec<TestId>,
}

impl LabelTests {
    /// Registers the test of a label description in a pattern, such as `NP|PP`, `/^VB/` or `__`.
    ///
    /// With `on_category` (`@` in the pattern), only the category of the label is tested.
    pub(crate) fn described(&mut self, description: &str, on_category: bool) -> Result<TestId, String> {
        let key = Key { description: description.to_owned(), on_category };
        if let Some(&id) = self.known.get(&key) {
            return Ok(id);
        }
        let test = read_description(description)?;
        Ok(self.register(key, test))
    }

    /// Registers a test that a regular expression matches the whole label.
    pub(crate) fn whole(&mut self, expression: &str) -> Result<TestId, String> {
        let key = Key { description: format!("whole /{expression}/"), on_category: false };
        if let Some(&id) = self.known.get(&key) {
            return Ok(id);
        }
        let test = read_expression(&format!("^(?:{expression})$"))?;
        Ok(self.register(key, test))
    }

    /// Registers a test that a word, in lower case, is in a list.
    pub(crate) fn lower_cased(&mut self, name: &str, words: &[String]) -> TestId {
        let key = Key { description: format!("lower-cased in {name}"), on_category: false };
        self.register(key, Test::LowerCased(words.iter().cloned().collect()))
    }

    fn register(&mut self, key: Key, test: Test) -> TestId {
        let id = TestId(u16::try_from(self.tests.len()).expect("fewer than 65,536 label tests"));
        match &test {
            Test::Exact(words) => {
                let lists = &mut self.exact[usize::from(key.on_category)];
                words.iter().for_each(|word| lists.entry(word.clone()).or_default().push(id));
            }
            _ => self.other.push(id),
        }
        self.tests.push((test, key.on_category));
        self.known.insert(key, id);
        id
    }

    /// Returns the number of machine words in a row of bits.
    #[inline]
    pub(crate) fn words(&self) -> usize {
        self.tests.len().div_ceil(64)
    }

    /// Sets the bits of the tests that a label passes.
    pub(crate) fn evaluate(&self, label: &str, category: &str, row: &mut [u64]) {
        for (lists, text) in self.exact.iter().zip([label, category]) {
            for test in lists.get(text).into_iter().flatten() {
                row[test.word()] |= test.bit();
            }
        }
        let lower = label.to_lowercase();
        for &id in &self.other {
            let (test, on_category) = &self.tests[usize::from(id.0)];
            if test.passes(if *on_category { category } else { label }, &lower) {
                row[id.word()] |= id.bit();
            }
        }
    }

    /// Returns the text of a group of a test's regular expression in a label.
    ///
    /// For other tests, this is the whole label.
    pub(crate) fn group(&self, test: TestId, label: &str, group: usize) -> Option<String> {
        let found = match &self.tests[usize::from(test.0)].0 {
            Test::Regex(regex) => regex.captures(label)?.get(group)?.as_str(),
            Test::Lookaround(regex) => regex.captures(label).ok()??.get(group)?.as_str(),
            _ => label,
        };
        Some(found.to_owned())
    }
}

impl Test {
    fn passes(&self, text: &str, lower: &str) -> bool {
        match self {
            Test::Anything => true,
            Test::Exact(words) => words.iter().any(|word| word == text),
            Test::Prefix(words) => words.iter().any(|word| text.starts_with(word.as_str())),
            Test::IgnoreCase(words) => words.iter().any(|word| equal_but_for_case(word, text)),
            Test::LowerCased(words) => words.contains(lower),
            Test::Regex(regex) => regex.is_match(text),
            // The few expressions with look-around are too small to reach the backtracking limit.
            Test::Lookaround(regex) => regex.is_match(text).unwrap_or(false),
        }
    }
}

/// Reads a label description.
///
/// Some descriptions look like regular expressions but are lists of words or prefixes: `/^NN|NP/` means
/// "begins with NN or NP", although the expression would also match NP anywhere.
fn read_description(description: &str) -> Result<Test, String> {
    if matches!(description, "__" | "/.*/" | "/^.*$/") {
        return Ok(Test::Anything);
    }
    let Some(expression) = description.strip_prefix('/').and_then(|d| d.strip_suffix('/')) else {
        let words: Vec<String> = list(description);
        return if words.len() <= LONGEST_LIST {
            Ok(Test::Exact(words))
        } else {
            read_expression(&format!("^(?:{description})$"))
        };
    };
    let all = |text: &str, more: &[char]| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphabetic() || c == '-' || more.contains(&c))
    };
    let between = |start: &str, end: &str| expression.strip_prefix(start).and_then(|e| e.strip_suffix(end));
    if let Some(words) = between("^(?:", ")$").filter(|e| all(&e.replace("\\$", "x"), &['|'])) {
        let words = list(&words.replace('\\', ""));
        if words.len() <= LONGEST_LIST {
            return Ok(Test::Exact(words));
        }
    } else if let Some(words) = between("^(?i:", ")$").filter(|e| all(&e.replace("\\$", "x"), &['|'])) {
        let words = list(&words.replace('\\', ""));
        if words.len() <= LONGEST_LIST {
            return Ok(Test::IgnoreCase(words));
        }
    } else if let Some(word) = between("^", "$").filter(|e| all(e, &['\'']) || e.chars().count() == 1) {
        return Ok(Test::Exact(vec![word.to_owned()]));
    } else if let Some(prefixes) =
        between("^(?:", ")").or_else(|| between("^", "")).filter(|e| all(e, &['|']))
    {
        let prefixes = list(prefixes);
        if prefixes.len() <= LONGEST_LIST {
            return Ok(Test::Prefix(prefixes));
        }
    }
    read_expression(expression)
}

/// Splits text at vertical bars. Empty words at the end are dropped.
fn list(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text.split('|').map(str::to_owned).collect();
    while words.len() > 1 && words.last().is_some_and(String::is_empty) {
        words.pop();
    }
    words
}

/// Compiles a regular expression. As in the pattern language, case is ignored only for ASCII letters.
fn read_expression(expression: &str) -> Result<Test, String> {
    let ascii = expression.replace("(?i:", "(?i-u:").replace("(?i)", "(?i-u)");
    if let Ok(regex) = Regex::new(&ascii) {
        return Ok(Test::Regex(regex));
    }
    match fancy_regex::Regex::new(expression) {
        Ok(regex) => Ok(Test::Lookaround(Box::new(regex))),
        Err(error) => Err(format!("the regular expression {expression:?} can't be compiled: {error}")),
    }
}

fn equal_but_for_case(a: &str, b: &str) -> bool {
    let fold = |c: char| {
        let upper = single(c.to_uppercase()).unwrap_or(c);
        single(upper.to_lowercase()).unwrap_or(upper)
    };
    a.chars().map(fold).eq(b.chars().map(fold))
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(description: &str, label: &str) -> bool {
        let mut tests = LabelTests::default();
        let id = tests.described(description, false).unwrap();
        let mut row = [0];
        tests.evaluate(label, label, &mut row);
        row[id.word()] & id.bit() != 0
    }

    #[test]
    fn descriptions_are_read_as_lists_prefixes_and_expressions() {
        let cases = [
            ("__", "anything", true),
            ("NP|PP", "PP", true),
            ("NP|PP", "NP-TMP", false),
            ("A|B|C|D|E|F|G|H|WP.", "WPx", true),
            ("/^VB/", "VBZ", true),
            ("/^NN|NP/", "WHNP", false),
            ("/^(?:VB|AUX)/", "AUXG", true),
            ("/^CC|CONJP$/", "XCONJP", true),
            ("/^(?:WP\\$|PRP\\$)$/", "WP$", true),
            ("/^(?i:how)$/", "HOW", true),
            ("/^(?i:the|this|those|these|that|his|her|its|my)$/", "ITS", true),
            ("/^(?i)(more|less)$/", "More", true),
            ("/^(?!RB|ADVP).*$/", "RBR", false),
            ("/^(?!RB|ADVP).*$/", "NN", true),
            ("/,/", "1,000", true),
            ("/\\//", "and/or", true),
            ("/^-LRB-$/", "-LRB-", true),
            ("/^[$]$/", "$", true),
        ];
        for (description, label, expected) in cases {
            assert_eq!(passes(description, label), expected, "{description} {label}");
        }
    }

    #[test]
    fn only_ascii_case_is_ignored_in_expressions() {
        // U+017F is a long s, which Unicode folds to s.
        assert!(!passes("/^(?i)(sun|day)$/", "\u{17f}un"));
        assert!(passes("/^(?i:sun|day)$/", "\u{17f}un"));
    }

    #[test]
    fn categories_are_tested_separately() {
        let mut tests = LabelTests::default();
        let label = tests.described("NP", false).unwrap();
        let category = tests.described("NP", true).unwrap();
        let mut row = [0];
        tests.evaluate("NP-TMP", "NP", &mut row);
        assert_eq!((row[0] & label.bit() != 0, row[0] & category.bit() != 0), (false, true));
    }

    #[test]
    fn an_invalid_expression_is_an_error() {
        assert!(LabelTests::default().described("/^(a/", false).unwrap_err().contains("^(a"));
    }
}
