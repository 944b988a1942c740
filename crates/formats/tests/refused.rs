//! Rejected files: the kind and exact message of each error.

use capeval_formats::{
    Captions, Place, Position, ReadError, ReadErrorKind as Kind, read_annotations,
    read_json_lines_references, read_json_lines_results, read_karpathy, read_results, read_results_strictly,
    read_results_under,
};

type Reader = fn(&[u8]) -> Result<Captions, ReadError>;

const ALL: [Reader; 4] =
    [read_annotations, read_results, read_json_lines_references, read_json_lines_results];
const LISTS: [Reader; 2] = [read_annotations, read_results];
const LINES: [Reader; 2] = [read_json_lines_references, read_json_lines_results];

#[track_caller]
fn refused(readers: &[Reader], file: impl AsRef<[u8]>, kind: Kind, message: &str) {
    for reader in readers {
        let error = reader(file.as_ref()).unwrap_err();
        assert_eq!((error.kind, error.to_string().as_str()), (kind, message));
        assert!(!message.contains('\n'));
    }
}

/// Formats an entry with the given JSON as its id and caption.
fn entry(id: &str, caption: &str) -> String {
    format!(r#"[{{"image_id": {id}, "caption": {caption}}}]"#)
}

#[test]
fn empty_files() {
    refused(&ALL, "", Kind::EmptyFile, "the file is empty; expected JSON");
    for file in [" ", "\n\r\n\t"] {
        refused(&ALL, file, Kind::EmptyFile, "the file has only white space; expected JSON");
    }
}

#[test]
fn files_without_captions() {
    let message = "the file must have at least one caption (got none)";
    refused(&LISTS, "[]", Kind::NoCaptions, message);
    refused(&LISTS, "{}", Kind::NoCaptions, message);
    let annotations = &[read_annotations as Reader];
    refused(annotations, r#"{"annotations": []}"#, Kind::NoCaptions, message);
    let file = r#"{"images": [], "annotations": []}"#;
    refused(annotations, file, Kind::NoCaptions, message);
}

#[test]
fn other_encodings() {
    let text = entry("1", "\"é\"");
    let message = "the file looks like UTF-16 or UTF-32; expected plain UTF-8";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for file in [&little, &big, &[b"\xFF\xFE", &*little].concat(), &[b"\xFE\xFF", &*big].concat()] {
        refused(&ALL, file, Kind::Utf16, message);
    }

    let message = "the file looks like gzip; expected the JSON inside it";
    refused(&ALL, b"\x1f\x8b\x08\x00", Kind::Compressed, message);
    let message = "the file looks like a zip archive; expected the JSON inside it";
    refused(&ALL, b"PK\x03\x04\x14", Kind::Compressed, message);
}

#[test]
fn bytes_that_are_not_utf8() {
    let message =
        "line 2 column 30: the byte 0xff is not UTF-8 here; expected plain UTF-8 in entries[0].caption";
    let file = b"[\n{\"image_id\": 1, \"caption\": \"\xc3\xa9\xff\"}]";
    refused(&LISTS, file, Kind::NotUtf8, message);
    // An encoded surrogate, which some writers of UTF-16 strings produce.
    let message =
        "line 2 column 14: the byte 0xed is not UTF-8 here; expected plain UTF-8 in line 2: image_id";
    refused(&LINES, b"\n{\"image_id\":\"\xed\xa0\x80\"}", Kind::NotUtf8, message);
    let message = "line 1 column 1: the byte 0x89 is not UTF-8 here; expected plain UTF-8";
    refused(&ALL, b"\x89PNG\r\n", Kind::NotUtf8, message);
    let message = "line 1 column 33: the byte 0xff is not UTF-8 here; expected plain UTF-8";
    refused(&LISTS, b"[{\"image_id\":1,\"caption\":\"abc\"}]\xff", Kind::NotUtf8, message);
    // An error before the invalid byte is reported first.
    let message = "entries[0] must be an object with \"image_id\" and \"caption\" (got 3)";
    refused(&LISTS, b"[3, \"\xff\"]", Kind::WrongType, message);
}

#[test]
fn text_that_is_not_json() {
    let cases = [
        ("hello", "line 1 column 1 is not JSON: expected value (found 'h')"),
        ("[{'image_id': 1}]", r"line 1 column 3 (entries[0]) is not JSON: key must be a string (found '\'')"),
        (
            r#"[{"image_id": 01, "caption": ""}]"#,
            "line 1 column 16 (entries[0].image_id) is not JSON: invalid number (found '1')",
        ),
        (
            r#"[{"image_id": 1, "caption": "é\x"}]"#,
            "line 1 column 32 (entries[0].caption) is not JSON: invalid escape (found 'x')",
        ),
        (
            r#"[{"image_id": 1, "caption": "",}]"#,
            "line 1 column 32 (entries[0]) is not JSON: trailing comma (found '}')",
        ),
        (
            "[{\"image_id\": 1, \"caption\": \"\"}]\n]",
            "line 2 column 1 is not JSON: trailing characters (found ']')",
        ),
    ];
    for (file, message) in cases {
        refused(&LISTS, file, Kind::NotJson, message);
    }
}

#[test]
fn control_characters_in_strings() {
    for character in ["\n", "\t", "\r", "\0", "\u{1f}"] {
        for file in [
            entry("1", &format!("\"{character}\"")),
            format!(r#"[{{"image_id": 1, "x": "{character}", "caption": ""}}]"#),
        ] {
            let error = read_results(file.as_bytes()).unwrap_err();
            assert_eq!(error.kind, Kind::NotJson);
            assert!(error.message.contains("control character"), "{error}");
        }
    }
}

#[test]
fn nan_and_infinity() {
    for number in ["NaN", "Infinity", "-Infinity"] {
        let message = format!("entries[0].image_id must be an integer or a string (got {number})");
        refused(&LISTS, entry(number, "\"\""), Kind::NotANumber, &message);
        let message = format!("entries[0].caption must be a string (got {number})");
        refused(&[read_results], entry("1", number), Kind::NotANumber, &message);
        let error = read_annotations(number.as_bytes()).unwrap_err();
        assert!(error.message.ends_with(&format!("(got {number})")), "{error}");
        let file = format!("{{\"image_id\": 1, \"caption\": \"\"}}\n{{\"image_id\": {number}}}");
        let message = format!("line 2: image_id must be an integer or a string (got {number})");
        refused(&LINES, file, Kind::NotANumber, &message);
    }
}

#[test]
fn nan_and_infinity_as_keys() {
    for file in [r#"[{"x": 1, NaN: 2}]"#, "[{NaN: 2}]", r#"{"x": NaNs}"#] {
        let error = read_results(file.as_bytes()).unwrap_err();
        assert!(matches!(error.kind, Kind::NotJson | Kind::NotANumber), "{error}");
    }
}

#[test]
fn strict_results_are_limited_to_the_forms_of_servers() {
    for number in ["NaN", "Infinity", "-Infinity"] {
        let file = format!("[{{\"image_id\": 1,\n \"x\": [0, {number}], \"caption\": \"\"}}]");
        assert!(read_results(file.as_bytes()).is_ok());
        let message =
            format!("line 2 column 11 (entries[0].x): {number} is not JSON; expected a number or null");
        refused(&[read_results_strictly], file, Kind::NotANumber, &message);
    }
    let message = "entries[0].caption must be a string (got a list)";
    refused(&[read_results_strictly], entry("1", r#"["a"]"#), Kind::WrongType, message);
    let error = read_results_strictly(br#"{"1": ["a"]}"#).unwrap_err();
    let message = r#""1" must be a caption, as the value of an image id (got a list)"#;
    assert!(error.message.starts_with(message), "{error}");
}

#[test]
fn results_with_several_captions() {
    let message = "entries[0] must have one caption (got a list of 2)";
    refused(&[read_results], entry("1", r#"["a", "b"]"#), Kind::SeveralCaptions, message);
    let message = "entries[0] must have one caption (got a list of 0)";
    refused(&[read_results], entry("1", "[]"), Kind::SeveralCaptions, message);
    let message = r#""1" must have one caption (got a list of 2)"#;
    refused(&[read_results], r#"{"1": ["a", "b"]}"#, Kind::SeveralCaptions, message);
}

#[test]
fn datasets_with_splits() {
    let cases = [
        (r#"{"images": {}}"#, Kind::WrongType, "images must be a list of objects (got an object)"),
        (r#"{"info": 1}"#, Kind::MissingField, r#"the file must have the key "images" (got keys "info")"#),
        (
            r#"{"images": [{"split": "a", "sentences": []}]}"#,
            Kind::MissingField,
            r#"images[0] must have the key "cocoid" (got keys "split", "sentences")"#,
        ),
        (
            r#"{"images": [{"cocoid": 1, "sentences": []}]}"#,
            Kind::MissingField,
            r#"images[0] must have the key "split" (got keys "cocoid", "sentences")"#,
        ),
        (
            r#"{"images": [{"cocoid": 1, "split": "a", "sentences": [{"tokens": []}]}]}"#,
            Kind::MissingField,
            r#"images[0].sentences[0] must have the key "raw" (got keys "tokens")"#,
        ),
        (
            r#"{"images": [{"cocoid": 1, "split": "a", "sentences": []}]}"#,
            Kind::NoReferences,
            "images[0] must have at least one caption (got an empty list)",
        ),
        (
            r#"{"images": [{"cocoid": 1.5, "split": "a", "sentences": [{"raw": ""}]}]}"#,
            Kind::WrongType,
            "images[0].cocoid must be an integer or a string (got 1.5)",
        ),
        (
            r#"{"images": [{"cocoid": 5, "split": "a", "sentences": [{"raw": ""}]},
                {"cocoid": 6, "split": "b", "sentences": [{"raw": ""}]},
                {"cocoid": 5, "split": "a", "sentences": [{"raw": ""}]}]}"#,
            Kind::DuplicateImage,
            "duplicate image id 5 in images[2].cocoid (first seen in images[0])",
        ),
        (
            r#"{"images": [{"cocoid": 5, "split": "a", "sentences": [{"raw": ""}]},
                {"cocoid": "6", "split": "a", "sentences": [{"raw": ""}]}]}"#,
            Kind::MixedIds,
            r#"image ids must be all integers or all strings (images[0].cocoid is 5, images[1].cocoid is "6")"#,
        ),
    ];
    for (file, kind, message) in cases {
        let error = read_karpathy(file.as_bytes(), "cocoid", &[]).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (kind, message));
    }
}

#[test]
fn numbers_too_large() {
    let long = "9".repeat(5000);
    for (id, found) in [
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775809", "-9223372036854775809"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        (&"7".repeat(100), "a number of 100 characters"),
        (&long, "a number of 5000 characters"),
    ] {
        let message = format!("entries[0].image_id must be an integer of 64 bits or a string (got {found})");
        refused(&LISTS, entry(id, "\"\""), Kind::NumberTooLarge, &message);
    }
    let file = format!(r#"{{"images": [{{"id": {long}}}]}}"#);
    let message = "images[0].id must be an integer of 64 bits or a string (got a number of 5000 characters)";
    refused(&[read_annotations], file, Kind::NumberTooLarge, message);
    let file = format!(r#"[{{"id": {long}, "image_id": 1, "caption": ""}}]"#);
    let message = "entries[0].id must be within the range of floats (got a number of 5000 characters)";
    refused(&LISTS, file, Kind::NumberTooLarge, message);
}

#[test]
fn ids_of_another_type() {
    for (id, found) in [
        ("true", "true"),
        ("1.0", "1.0"),
        ("1e3", "1e3"),
        ("-0", "-0"),
        ("null", "null"),
        ("[1]", "a list"),
        (r#"{"a": 1}"#, "an object"),
    ] {
        let message = format!("entries[0].image_id must be an integer or a string (got {found})");
        refused(&LISTS, entry(id, "\"\""), Kind::WrongType, &message);
        let file = format!(r#"{{"images": [{{"id": 1}}, {{"id": {id}}}]}}"#);
        let message = format!("images[1].id must be an integer or a string (got {found})");
        refused(&[read_annotations], file, Kind::WrongType, &message);
    }
}

#[test]
fn ids_of_two_types() {
    let file = r#"[{"image_id": 1, "caption": ""}, {"image_id": "1", "caption": ""}]"#;
    let message = r#"image ids must be all integers or all strings (entries[0].image_id is 1, entries[1].image_id is "1")"#;
    refused(&LISTS, file, Kind::MixedIds, message);
    let file = r#"{"images": [{"id": "a"}], "annotations": [{"image_id": 1, "caption": ""}]}"#;
    let message = r#"image ids must be all integers or all strings (images[0].id is "a", annotations[0].image_id is 1)"#;
    refused(&[read_annotations], file, Kind::MixedIds, message);
}

#[test]
fn captions_of_another_type() {
    for (caption, found) in [
        ("null", "null"),
        ("5", "5"),
        ("0.5", "0.5"),
        ("false", "false"),
        (r#"["a"]"#, "a list"),
        (r#"{"a": 1}"#, "an object"),
    ] {
        let message = format!("entries[0].caption must be a string (got {found})");
        refused(&[read_results_strictly], entry("1", caption), Kind::WrongType, &message);
        if found != "a list" {
            refused(&[read_results], entry("1", caption), Kind::WrongType, &message);
        }
        let file = format!(r#"{{"annotations": {}}}"#, entry("1", caption));
        let message = format!("annotations[0].caption must be a string (got {found})");
        refused(&[read_annotations], file, Kind::WrongType, &message);
    }
    let message = "entries[0].caption must be a string or a list of strings (got null)";
    refused(&[read_annotations], entry("1", "null"), Kind::WrongType, message);
    let message = "entries[0].caption[1] must be a string (got null)";
    refused(&[read_annotations], entry("1", r#"["a", null]"#), Kind::WrongType, message);
    let message = r#"entries[0].references must be a list of strings (got "a")"#;
    let file = r#"[{"image_id": 1, "references": "a"}]"#;
    refused(&[read_annotations], file, Kind::WrongType, message);
}

#[test]
fn missing_fields() {
    let message = r#"entries[0] must have the key "caption" (got keys "image_id", "id")"#;
    refused(&LISTS, r#"[{"image_id": 1, "id": 2}]"#, Kind::MissingField, message);
    let message = r#"entries[0] must have the key "image_id" (got keys "caption")"#;
    refused(&LISTS, r#"[{"caption": ""}]"#, Kind::MissingField, message);
    let message = r#"entries[0] must have the key "image_id" (got no keys)"#;
    refused(&LISTS, "[{}]", Kind::MissingField, message);
    let message = r#"line 2 must have the key "caption" (got keys "image_id")"#;
    refused(&LINES, "\n{\"image_id\": 1}", Kind::MissingField, message);
    let message = r#"images[0] must have the key "id" (got keys "ID")"#;
    refused(&[read_annotations], r#"{"images": [{"ID": 1}]}"#, Kind::MissingField, message);
    let message = r#"the file must have the key "annotations" (got keys "info", "images")"#;
    let file = r#"{"info": {}, "images": [{"id": 1}]}"#;
    refused(&[read_annotations], file, Kind::MissingField, message);
}

#[test]
fn duplicate_keys() {
    let cases = [
        (r#"[{"image_id": 1, "caption": "a", "caption": "a"}]"#, "caption"),
        (r#"[{"image_id": 1, "image\u005fid": 1, "caption": "a"}]"#, "image_id"),
        (r#"[{"id": 1, "image_id": 1, "caption": "a", "id": 2}]"#, "id"),
    ];
    for (file, key) in cases {
        let message = format!(r#"entries[0] has the key "{key}" twice"#);
        refused(&LISTS, file, Kind::DuplicateKey, &message);
        let message = format!(r#"line 1 has the key "{key}" twice"#);
        refused(&LINES, &file[1..file.len() - 1], Kind::DuplicateKey, &message);
    }
    let annotations = &[read_annotations as Reader];
    let file = r#"{"annotations": [{"image_id": 1, "caption": ""}], "info": 1, "info": 2}"#;
    refused(annotations, file, Kind::DuplicateKey, r#"the file has the key "info" twice"#);
    let file = r#"{"images": [{"x": 1, "id": 1, "x": 1}]}"#;
    refused(annotations, file, Kind::DuplicateKey, r#"images[0] has the key "x" twice"#);
    let file = r#"{"7": ["a"], "7": ["b"]}"#;
    refused(annotations, file, Kind::DuplicateKey, r#"the file has the key "7" twice"#);
    let file = r#"{"7": "a", "7": "b"}"#;
    refused(&[read_results], file, Kind::DuplicateKey, r#"the file has the key "7" twice"#);
    let file = r#"[{"image_id": 1, "references": ["a"], "caption": "b"}]"#;
    let message = r#"entries[0] must have one of "references" and "caption" (got both)"#;
    refused(annotations, file, Kind::DuplicateKey, message);
}

#[test]
fn a_duplicate_key_among_many() {
    for first in [0, 15, 16, 17, 63] {
        let keys: Vec<String> = (0..64).map(|key| format!(r#""k{key}": 0"#)).collect();
        let file = format!(r#"[{{{}, "k{first}": 1}}]"#, keys.join(","));
        let message = format!(r#"entries[0] has the key "k{first}" twice"#);
        refused(&LISTS, file, Kind::DuplicateKey, &message);
    }
}

#[test]
fn duplicate_images() {
    let file =
        r#"[{"image_id": 8, "caption": ""}, {"image_id": 9, "caption": ""}, {"image_id": 9, "caption": ""}]"#;
    let message = "duplicate image id 9 in entries[2].image_id (first seen in entries[1])";
    refused(&[read_results], file, Kind::DuplicateImage, message);
    let file = r#"{"annotations": [{"image_id": 9, "caption": ""}, {"image_id": 9, "caption": ""}]}"#;
    let message = "duplicate image id 9 in annotations[1].image_id (first seen in annotations[0])";
    refused(&[|bytes| read_results_under(bytes, "annotations")], file, Kind::DuplicateImage, message);
    let file = "{\"image_id\": \"a\", \"caption\": \"\"}\n\n{\"image_id\": \"a\", \"caption\": \"\"}";
    let message = r#"duplicate image id "a" in line 3: image_id (first seen in line 1)"#;
    refused(&[read_json_lines_results], file, Kind::DuplicateImage, message);
    let file = r#"{"images": [{"id": 3}, {"id": 4}, {"id": 3}], "annotations": []}"#;
    let message = "duplicate image id 3 in images[2].id (first seen in images[0])";
    refused(&[read_annotations], file, Kind::DuplicateImage, message);
}

#[test]
fn images_and_annotations_that_disagree() {
    let images = r#""images": [{"id": 3}, {"id": 4}]"#;
    let annotations = r#""annotations": [{"image_id": 4, "caption": ""}, {"image_id": 5, "caption": ""}]"#;
    let message = r#"annotations[1].image_id must be the id of one of "images" (got 5)"#;
    for file in [format!("{{{images}, {annotations}}}"), format!("{{{annotations}, {images}}}")] {
        refused(&[read_annotations], file, Kind::UnknownImage, message);
    }
    let ids: Vec<String> = (0..9).map(|id| format!(r#"{{"id": {id}}}"#)).collect();
    let file =
        format!(r#"{{"images": [{}], "annotations": [{{"image_id": 1, "caption": ""}}]}}"#, ids.join(","));
    let message = r#"every image of "images" must have an annotation (8 of 9 have none: 0, 2, 3, 4, 5, ...)"#;
    refused(&[read_annotations], file, Kind::NoReferences, message);
    let message = r#""7" must have at least one caption (got an empty list)"#;
    refused(&[read_annotations], r#"{"7": []}"#, Kind::NoReferences, message);
    let message = "entries[0] must have at least one caption (got an empty list)";
    refused(&[read_annotations], entry("1", "[]"), Kind::NoReferences, message);
}

#[test]
fn lone_surrogates() {
    for (caption, column, escape) in [
        (r#""\udc00""#, 30, r"\udc00"),
        (r#""\uD800""#, 30, r"\uD800"),
        (r#""\ud800 x""#, 30, r"\ud800"),
        (r#""é \ud800\u0041""#, 32, r"\ud800"),
        (r#""\ud83d\ude00\udbff""#, 42, r"\udbff"),
    ] {
        let message = format!(
            "line 1 column {column} (entries[0].caption): {escape} is a lone surrogate, half of a character"
        );
        refused(&LISTS, entry("1", caption), Kind::LoneSurrogate, &message);
    }
}

#[test]
fn nesting_without_end() {
    for opening in ["[", r#"{"a":"#] {
        let nested = opening.repeat(200_000);
        let closed = if opening == "[" { "]".repeat(200_000) } else { "}".repeat(200_000) };
        for file in [
            format!(r#"[{{"image_id": 1, "x": {nested}"#),
            format!(r#"[{{"image_id": 1, "caption": "", "x": {nested}0{closed}}}]"#),
        ] {
            for reader in LISTS {
                let error = reader(file.as_bytes()).unwrap_err();
                assert_eq!(error.kind, Kind::TooDeep);
                let end = "(entries[0].x): expected at most 127 lists and objects inside each other";
                assert!(error.message.ends_with(end), "{error}");
            }
        }
        for reader in ALL {
            let error = reader(nested.as_bytes()).unwrap_err();
            assert!(matches!(error.kind, Kind::TooDeep | Kind::WrongType | Kind::NotJson), "{error}");
            let error = reader(entry("1", &nested).as_bytes()).unwrap_err();
            assert_eq!(error.kind, Kind::WrongType, "{error}");
        }
    }
}

#[test]
fn top_levels_of_another_type() {
    let file = r#"{"images": [{"id": 1}], "annotations": [{"image_id": 1, "caption": ""}]}"#;
    let message = r#"images must be a caption, as the value of an image id (got a list); expected a list of {"image_id", "caption"} objects or captions by image id, found an object with keys "images", "annotations""#;
    refused(&[read_results_strictly], file, Kind::WrongType, message);
    let file = r#"{"HI": [{"image": "x", "captions": ["a", "b"]}], "HM": []}"#;
    let message = r#"HI[0] must have the key "caption" (got keys "image", "captions"); expected COCO annotations or lists of captions by image id, found an object with keys "HI", "HM""#;
    refused(&[read_annotations], file, Kind::MissingField, message);
    let message = r#"entries[0] must be an object with "image_id" and "caption" (got a list)"#;
    refused(&LISTS, "[[]]", Kind::WrongType, message);
    let message = r#"line 1 must be an object with "image_id" and "caption" (got a list)"#;
    refused(&LINES, "[]", Kind::WrongType, message);
    let message = r#"the file must be a list of {"image_id", "caption"} objects or an object of captions by image id (got null)"#;
    refused(&[read_results], "null", Kind::WrongType, message);
    let message = "annotations must be a list of objects (got 3)";
    refused(&[read_annotations], r#"{"annotations": 3}"#, Kind::WrongType, message);
}

#[test]
fn truncated_files_report_the_entry() {
    let whole = r#"{"images": [{"id": 1}], "annotations": [{"image_id": 1, "caption": "é"}]}"#;
    for (end, place) in [
        ("{", "its JSON"),
        (r#"{"images": [{"i"#, "images[0]"),
        (r#"{"images": [{"id": 1}], "annot"#, "its JSON"),
        (r#"{"images": [{"id": 1}], "annotations": "#, "annotations"),
        (&whole[..whole.len() - 7], "annotations[0].caption"),
    ] {
        assert!(whole.starts_with(end));
        let message = format!("the file ends inside {place} (truncated?)");
        refused(&[read_annotations], end, Kind::Truncated, &message);
    }
    // Cut within the "é".
    let cut = &whole.as_bytes()[..whole.len() - 6];
    let message = "the file ends inside annotations[0].caption (truncated?)";
    refused(&[read_annotations], cut, Kind::Truncated, message);
    let message = "the file ends inside a character at line 1 column 33 (truncated?)";
    let file = b"[{\"image_id\":1,\"caption\":\"abc\"}]\xc3";
    refused(&LISTS, file, Kind::Truncated, message);
}

#[test]
fn truncated_lines_report_the_line() {
    let file = "{\"image_id\": 1, \"caption\": \"\"}\n{\"image_id\": 2, \"capt\n";
    let message = "the file ends inside line 2 (truncated?)";
    refused(&LINES, file, Kind::Truncated, message);
    let file = "{\"image_id\": 1,\n\"caption\": \"\"}\n";
    let message = "line 1 ends inside its JSON (truncated?); expected one whole object in each line";
    refused(&LINES, file, Kind::Truncated, message);
}

#[test]
fn errors_carry_place_and_position() {
    let file = "[{\"image_id\": 1, \"caption\": \"é\"},\n {\"image_id\": 2, \"caption\": NULL}]";
    let error = read_results(file.as_bytes()).unwrap_err();
    let place = Place { entry: "entries[1]".to_owned(), field: Some("caption".to_owned()) };
    assert_eq!(error.place, Some(place));
    let byte = file.find("NULL").unwrap();
    let position = Position { line: 2, column: 29, byte };
    assert_eq!(error.position, Some(position));
}
