//! The reference implementation's rules and word lists in a table file.

use capeval_tables::{Contents, TableError, TableFile};
use serde::{Deserialize, Serialize};

use crate::WordLists;

const SECTION: &str = "spice.rules";

/// The rules in the reference implementation's code, except its grammar and lemma tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Rules for tree rewriting, relations and heads.
    pub dependencies: capeval_dependencies::Rules,
    /// Word lists.
    pub lists: WordLists,
}

/// Error of reading rules from a file.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The section is missing.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The content of the section is invalid.
    #[error("the section spice.rules must contain the rules as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Rules {
    /// Serializes the rules to the bytes of the section.
    ///
    /// # Errors
    /// No error is known, because plain strings and lists can always be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RulesError> {
        Ok(serde_json::to_vec(self)?)
    }

    /// Returns the section of a table file for the bytes of [`Rules::to_bytes`].
    #[must_use]
    pub fn contents(bytes: &[u8]) -> Contents<'_> {
        Contents::of(SECTION, bytes)
    }

    /// Reads the rules from a table file.
    ///
    /// # Errors
    /// Returns a [`RulesError`] if the section is missing or damaged.
    pub fn open<B: AsRef<[u8]>>(file: &TableFile<B>) -> Result<Self, RulesError> {
        Ok(serde_json::from_slice(file.numbers(file.section::<u8>(SECTION)?)?)?)
    }
}

#[cfg(test)]
mod tests {
    use capeval_dependencies::RewritingRule;
    use capeval_tables::{Kind, write};

    use super::*;

    const KIND: Kind = Kind { name: "TEST", version: 1 };

    #[test]
    fn rules_round_trip() {
        let rules = Rules {
            dependencies: capeval_dependencies::Rules {
                rewriting: vec![
                    RewritingRule::Coordination,
                    RewritingRule::Date { pattern: "NP=root".to_owned() },
                ],
                verbs_without_object: "(?i:sing|hum)".to_owned(),
                ..Default::default()
            },
            lists: WordLists { colors: vec!["grün".to_owned()], ..Default::default() },
        };
        let bytes = rules.to_bytes().unwrap();
        let file = TableFile::open(write(KIND, &[Rules::contents(&bytes)]), KIND).unwrap();
        assert_eq!(Rules::open(&file).unwrap(), rules);
    }

    #[test]
    fn invalid_rules_are_errors() {
        let empty = TableFile::open(write(KIND, &[]), KIND).unwrap();
        assert!(matches!(Rules::open(&empty), Err(RulesError::Table(_))));
        let other = TableFile::open(write(KIND, &[Rules::contents(b"{}")]), KIND).unwrap();
        assert!(matches!(Rules::open(&other), Err(RulesError::Json(_))));
    }
}
