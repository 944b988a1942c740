//! The reader of any JSON, compared with `serde_json::Value`.

use std::borrow::Cow;

use capeval_formats::{Build, ReadErrorKind, read_json, read_json_lines};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

struct Values;

impl Build for Values {
    type Value = Value;

    fn null(&self) -> Value {
        Value::Null
    }

    fn boolean(&self, value: bool) -> Value {
        json!(value)
    }

    fn integer(&self, value: i64) -> Value {
        json!(value)
    }

    fn large_integer(&self, value: u64) -> Value {
        json!(value)
    }

    fn float(&self, value: f64) -> Value {
        json!(value)
    }

    fn string(&self, value: &str) -> Value {
        json!(value)
    }

    fn list(&self, values: Vec<Value>) -> Value {
        Value::Array(values)
    }

    fn object(&self, keys: &[Cow<'_, str>], values: Vec<Value>) -> Value {
        keys.iter().map(|key| key.clone().into_owned()).zip(values).collect()
    }
}

fn refused(text: &str) -> (ReadErrorKind, String) {
    let error = read_json(text.as_bytes(), &Values).unwrap_err();
    (error.kind, error.message)
}

#[test]
fn problems_are_reported() {
    let cases = [
        ("", ReadErrorKind::EmptyFile, "the file is empty; expected JSON"),
        (r#"{"a": [1"#, ReadErrorKind::Truncated, "the file ends inside a[1] (truncated?)"),
        (r#"[{"b": 1, "b": 2}]"#, ReadErrorKind::DuplicateKey, r#"entries[0] has the key "b" twice"#),
        (r#"{"a": {"b": 1, "b": 2}}"#, ReadErrorKind::DuplicateKey, r#"a has the key "b" twice"#),
        (
            "[1e999]",
            ReadErrorKind::NumberTooLarge,
            "entries[0] must be within the range of floats (got 1e999)",
        ),
        ("[1] 2", ReadErrorKind::NotJson, "line 1 column 5 is not JSON: trailing characters (found '2')"),
    ];
    for (text, kind, message) in cases {
        assert_eq!(refused(text), (kind, message.to_owned()));
    }
    assert_eq!(refused(r#"["\ud800"]"#).0, ReadErrorKind::LoneSurrogate);
    assert_eq!(refused(&"[".repeat(200)).0, ReadErrorKind::TooDeep);
}

#[test]
fn lines_have_their_numbers() {
    let lines = read_json_lines(b"1\n\n[2]\r\n{}", &Values).unwrap();
    assert_eq!(lines, [(1, json!(1)), (3, json!([2])), (4, json!({}))]);
    let error = read_json_lines(b"1\n{\"a\": }\n", &Values).unwrap_err();
    assert!(error.message.starts_with("line 2 column 7 (a) is not JSON"), "{}", error.message);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has finite numbers alone", |value| value.is_finite())
            .prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(".{0,4}", inner, 0..6).prop_map(|object| object.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_read_back(value in value(), is_pretty: bool) {
        let text = if is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let plainly: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read_json(text.as_bytes(), &Values).unwrap(), plainly);
    }

    #[test]
    fn broken_json_never_panics(value in value(), cut: prop::sample::Index, byte: u8) {
        let mut text = value.to_string().into_bytes();
        let at = cut.index(text.len());
        text[at] = byte;
        let _ = read_json(&text, &Values);
        let _ = read_json_lines(&text[..at], &Values);
    }
}

#[test]
fn nan_and_infinity_are_floats() {
    struct Floats;

    impl Build for Floats {
        type Value = String;

        fn null(&self) -> String {
            "null".to_owned()
        }

        fn boolean(&self, value: bool) -> String {
            value.to_string()
        }

        fn integer(&self, value: i64) -> String {
            value.to_string()
        }

        fn large_integer(&self, value: u64) -> String {
            value.to_string()
        }

        fn float(&self, value: f64) -> String {
            format!("float {value}")
        }

        fn string(&self, value: &str) -> String {
            format!("{value:?}")
        }

        fn list(&self, values: Vec<String>) -> String {
            format!("[{}]", values.join(", "))
        }

        fn object(&self, keys: &[Cow<'_, str>], values: Vec<String>) -> String {
            let fields: Vec<String> =
                keys.iter().zip(values).map(|(key, value)| format!("{key}: {value}")).collect();
            format!("{{{}}}", fields.join(", "))
        }
    }

    let file = "{\"a\": [NaN, -Infinity ,\n Infinity], \"NaN\": \"NaN, \\\" Infinity\", \"é\": NaN, \"d\": \"\u{7f}\"}";
    let read = read_json(file.as_bytes(), &Floats).unwrap();
    let expected =
        r#"{a: [float NaN, float -inf, float inf], NaN: "NaN, \" Infinity", é: float NaN, d: "\u{7f}"}"#;
    assert_eq!(read, expected);
    let lines = read_json_lines(b"NaN\n{\"x\": -Infinity}\n[1]", &Floats).unwrap();
    assert_eq!(
        lines,
        [(1, "float NaN".to_owned()), (2, "{x: float -inf}".to_owned()), (3, "[1]".to_owned())]
    );
    // Every character forms a string of the text, so there is no placeholder and the numbers are rejected.
    let every: String =
        (0x20..0x80_u8).map(char::from).map(|c| format!("\"\\u{:04x}\",", c as u32)).collect();
    let error = read_json(format!("[{every} NaN]").as_bytes(), &Floats).unwrap_err();
    assert_eq!(error.kind, ReadErrorKind::NotANumber);
}
