use capeval_tables::{Kind, TableFile, write};

use super::*;

const KIND: Kind = Kind { name: "TEST", version: 1 };
const WORDS: u32 = 0;
const VERBS: u32 = 1;

/// Builds a lexer whose rules match fixed texts: lexer state, text and result.
fn tables(rules: &[(u32, &str, Rule)]) -> Tables {
    const CLASSES: usize = 128;
    let classes = (0..0x1_0000_usize).map(|unit| if unit < CLASSES { unit as u8 } else { 0 }).collect();
    let mut transitions = vec![0_u16; 2 * CLASSES];
    let mut accepted = vec![0_u16; 2];
    for (place, (state, text, _)) in rules.iter().enumerate() {
        let mut node = *state as usize;
        for unit in text.encode_utf16() {
            let cell = node * CLASSES + usize::from(unit);
            if transitions[cell] == 0 {
                accepted.push(0);
                transitions[cell] = u16::try_from(accepted.len()).unwrap();
                transitions.resize(accepted.len() * CLASSES, 0);
            }
            node = usize::from(transitions[cell]) - 1;
        }
        accepted[node] = u16::try_from(place + 1).unwrap();
    }
    let rows = (0..accepted.len()).map(|node| u32::try_from(node * CLASSES).unwrap()).collect();
    let lexer = LexerRules {
        starts: vec![0, 1],
        word_state: WORDS,
        rules: rules.iter().map(|rule| rule.2.clone()).collect(),
        doubling_stems: vec!["hum".to_owned()],
        particles: vec!["off".to_owned(), "up".to_owned()],
    };
    Tables { classes, rows, transitions, accepted, lexer }
}

fn rule(action: Action) -> Rule {
    Rule { end: TokenEnd::Match, action }
}

fn replace(delete: i32, add: &str) -> Rule {
    rule(Action::Replace { delete, add: add.to_owned() })
}

fn example() -> Tables {
    let before_tag = |action| Rule { end: TokenEnd::BeforeEnd(3), action };
    tables(&[
        (WORDS, "men", replace(2, "an")),
        (WORDS, "mends", replace(1, "")),
        (WORDS, "Went_VB", rule(Action::Enter { state: VERBS })),
        (WORDS, "Went_NN", before_tag(Action::LowerCase)),
        (WORDS, "Bob_NNP", Rule { end: TokenEnd::AfterStart(3), action: Action::AsWritten }),
        (WORDS, "well-", rule(Action::LowerCaseAndNext)),
        (WORDS, "%", rule(Action::Skip)),
        (WORDS, "_VB", rule(Action::EndTag { state: WORDS })),
        (WORDS, "shut_VB", rule(Action::Enter { state: VERBS })),
        (WORDS, "hummed_VB", rule(Action::Enter { state: VERBS })),
        (WORDS, "rubbed_VB", rule(Action::Enter { state: VERBS })),
        (WORDS, "mixing_VB", rule(Action::Enter { state: VERBS })),
        (VERBS, "Went", replace(3, "go")),
        (VERBS, "shut", rule(Action::LowerCase)),
        (VERBS, "hummed", rule(Action::Undouble { delete: 2 })),
        (VERBS, "rubbed", rule(Action::Undouble { delete: 2 })),
        (VERBS, "mixing", rule(Action::ReplaceBeforeEnding { delete: 1, add: "X".to_owned() })),
    ])
}

#[test]
fn the_longest_rule_of_the_state_decides() {
    let lemmatizer = Lemmatizer::new(example()).unwrap();
    for (word, tag, lemma) in [
        ("men", "NNS", "man"),
        ("mend", "VB", "man"),
        ("mends", "VB", "mend"),
        ("Went", "VBD", "wgo"),
        ("Went", "NN", "went"),
        ("Bob", "NNP", "Bob"),
        ("well-men", "NNS", "well-man"),
        ("well-", "XX", "well-"),
        ("%men", "NNS", "man"),
        ("", "VB", "_VB"),
        ("?", "NN", ""),
        ("mixing", "VBG", "miX"),
    ] {
        assert_eq!(lemmatizer.lemma(word, tag), lemma, "{word}_{tag}");
    }
}

#[test]
fn doubled_consonants_depend_on_the_stem() {
    let lemmatizer = Lemmatizer::new(example()).unwrap();
    assert_eq!(lemmatizer.lemma("hummed", "VBD"), "hum");
    assert_eq!(lemmatizer.lemma("rubbed", "VBD"), "rubb");
}

#[test]
fn particles_stay_with_their_verbs() {
    let lemmatizer = Lemmatizer::new(example()).unwrap();
    assert_eq!(lemmatizer.lemma("shut_off", "VB"), "shut_off");
    assert_eq!(lemmatizer.lemma("Went_up_", "VBD"), "wgo_up");
    // "in" is not in the particles, so the underscore is part of the word, which matches no rule.
    assert_eq!(lemmatizer.lemma("shut_in", "VB"), "");
}

#[test]
fn damaged_tables_are_errors() {
    let damaged = |change: &dyn Fn(&mut Tables)| {
        let mut tables = example();
        change(&mut tables);
        Lemmatizer::new(tables).unwrap_err().to_string()
    };
    for (found, expected) in [
        (
            damaged(&|tables| tables.classes.truncate(65535)),
            "there must be 65536 character classes (got 65535)",
        ),
        (damaged(&|tables| tables.accepted.push(0)), "states (got"),
        (damaged(&|tables| tables.rows[3] = u32::MAX), "a row must be below"),
        (damaged(&|tables| tables.transitions[5] = u16::MAX), "a next state must be below"),
        (damaged(&|tables| tables.accepted[1] = 99), "a rule must be below 18 (got 99)"),
        (damaged(&|tables| tables.lexer.starts[0] = 4000), "a first state must be below"),
        (damaged(&|tables| tables.lexer.word_state = 7), "a lexer state must be below 2 (got 7)"),
    ] {
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn a_cyclic_lexer_terminates() {
    let circle = tables(&[(WORDS, "a", rule(Action::Enter { state: WORDS }))]);
    assert_eq!(Lemmatizer::new(circle).unwrap().lemma("a", "NN"), "");
}

#[test]
fn tables_round_trip() {
    let tables = example();
    let sections = Sections::new(&tables).unwrap();
    let file = TableFile::open(write(KIND, &sections.contents()), KIND).unwrap();
    assert_eq!(Lemmatizer::open(&file).unwrap().lemma("men", "NNS"), "man");
    let empty = TableFile::open(write(KIND, &[]), KIND).unwrap();
    assert!(matches!(Lemmatizer::open(&empty), Err(SectionsError::Table(_))));
}
