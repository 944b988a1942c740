//! The golden lines of the conformance suite.

use capeval_ptb::{Options, Punctuation, tokenize};

#[test]
fn golden_lines() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance/tokenizer/golden.txt");
    let text = std::fs::read_to_string(path).expect("the golden file");
    let (_, body) = text.split_once("\n\n").expect("a header and a body");
    let rows: Vec<&str> = body.trim_end_matches('\n').split('\n').collect();
    assert!(rows.len() > 1_000 && rows.len().is_multiple_of(3), "{} rows", rows.len());
    for row in rows.chunks_exact(3) {
        for (lowercase, expected) in [(true, row[1]), (false, row[2])] {
            let options = Options { lowercase, punctuation: Punctuation::Keep };
            assert_eq!(tokenize(row[0], &options).join(" "), expected, "for {:?}", row[0]);
        }
    }
}
