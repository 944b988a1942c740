//! Accepted file formats and the captions read from them.

use capeval_formats::{
    Captions, ImageIds, read_annotations, read_json_lines_references, read_json_lines_results, read_karpathy,
    read_outline, read_results, read_results_under,
};

fn integers(groups: &[(i64, &[&str])]) -> Captions {
    let ids = groups.iter().map(|group| group.0).collect();
    let texts: Vec<&[&str]> = groups.iter().map(|group| group.1).collect();
    Captions::from_grouped(ImageIds::Integers(ids), &texts).unwrap()
}

fn strings(groups: &[(&str, &[&str])]) -> Captions {
    let ids = groups.iter().map(|group| group.0.to_owned()).collect();
    let texts: Vec<&[&str]> = groups.iter().map(|group| group.1).collect();
    Captions::from_grouped(ImageIds::Strings(ids), &texts).unwrap()
}

#[track_caller]
fn references(file: &str, expected: &Captions) {
    assert_eq!(read_annotations(file.as_bytes()).as_ref(), Ok(expected));
}

#[track_caller]
fn results(file: &str, expected: &Captions) {
    assert_eq!(read_results(file.as_bytes()).as_ref(), Ok(expected));
}

#[test]
fn images_are_in_the_order_of_images() {
    let expected = integers(&[(3, &["b"]), (2, &["a", "c"])]);
    let images = r#""images": [{"file_name": "x", "id": 3}, {"id": 2}]"#;
    let annotations = r#""annotations": [{"image_id": 2, "id": 1, "caption": "a"},
        {"caption": "b", "image_id": 3}, {"image_id": 2, "caption": "c"}]"#;
    let rest = r#""info": {"year": 2014, "x": [1.5, -2, null, true, {"y": "\u00e9"}]}"#;
    references(&format!("{{{images}, {annotations}, {rest}}}"), &expected);
    references(&format!("{{{rest}, {annotations}, {images}}}"), &expected);
}

#[test]
fn without_images_the_order_is_of_first_appearance() {
    let file = r#" {"annotations": [{"image_id": 2, "caption": "a"},
        {"image_id": 3, "caption": "b"}, {"image_id": 2, "caption": "c"}], "type": "captions"} "#;
    references(file, &integers(&[(2, &["a", "c"]), (3, &["b"])]));
}

#[test]
fn a_list_has_references_in_four_forms() {
    let file = r#"[{"image_id": "x.jpg", "references": ["a", "b"]},
        {"captions": ["c"], "image_id": "y.jpg", "split": "near"},
        {"image_id": "x.jpg", "caption": ["d", ""]}, {"image_id": "y.jpg", "caption": "e"}]"#;
    let expected = strings(&[("x.jpg", &["a", "b", "d", ""]), ("y.jpg", &["c", "e"])]);
    references(file, &expected);
}

#[test]
fn a_mapping_has_references_as_strings_or_objects() {
    let file = r#"{"391895": ["a", "b"], "7": [{"caption": "c", "id": 4}, "d"]}"#;
    references(file, &integers(&[(391895, &["a", "b"]), (7, &["c", "d"])]));
}

#[test]
fn the_ids_of_a_mapping_are_integers_when_all_of_its_keys_are() {
    let file = r#"{"391895": ["a", "b"], "07": ["c"]}"#;
    references(file, &strings(&[("391895", &["a", "b"]), ("07", &["c"])]));
    results(r#" {"5": "a", "-1": "b"}"#, &integers(&[(5, &["a"]), (-1, &["b"])]));
    results(r#"[{"image_id": "5", "caption": "a"}]"#, &strings(&[("5", &["a"])]));
}

#[test]
fn a_mapping_may_have_many_images() {
    let groups: Vec<String> = (0..1000).map(|id| format!(r#""{id}": ["c{id}"]"#)).collect();
    let captions = read_annotations(format!("{{{}}}", groups.join(",")).as_bytes()).unwrap();
    assert_eq!(captions.len(), 1000);
    assert_eq!(*captions.ids(), ImageIds::Integers((0..1000).collect()));
    assert_eq!(captions.caption(999), "c999");
}

#[test]
fn results_are_a_list_or_a_mapping() {
    let expected = integers(&[(5, &["a"]), (-1, &[""])]);
    let file = r#"[{"caption": "a", "image_id": 5, "score": [0.1]}, {"image_id": -1, "caption": ""}]"#;
    results(file, &expected);
    results(r#"{"5": "a", "x": "b"}"#, &strings(&[("5", &["a"]), ("x", &["b"])]));
}

#[test]
fn the_range_of_ids_is_64_bits() {
    let file = r#"[{"image_id": 9223372036854775807, "caption": "a"},
        {"image_id": -9223372036854775808, "caption": "b"}]"#;
    results(file, &integers(&[(i64::MAX, &["a"]), (i64::MIN, &["b"])]));
}

#[test]
fn escapes_are_decoded_and_line_breaks_kept() {
    let file = r#"[{"image\u005fid": "\u00e9", "caption": "\"\\\/\b\f\n\r\t\u0000\ud83d\ude00 é😀"}]"#;
    let expected = strings(&[("é", &["\"\\/\u{8}\u{c}\n\r\t\0😀 é😀"])]);
    results(file, &expected);
    references(file, &expected);
}

#[test]
fn json_lines_may_have_blank_lines_and_any_line_ending() {
    let file = "\n{\"image_id\": 1, \"caption\": \"a\"}\r\n \t\n {\"image_id\": 2, \"caption\": \"b\"} ";
    let expected = integers(&[(1, &["a"]), (2, &["b"])]);
    let read = read_json_lines_results(file.as_bytes());
    assert_eq!(read.as_ref(), Ok(&expected));
    let read = read_json_lines_references(file.as_bytes());
    assert_eq!(read.as_ref(), Ok(&expected));
}

#[test]
fn json_lines_references_may_be_lists() {
    let file = r#"{"image_id": 1, "references": ["a", "b"]}
{"image_id": 2, "caption": "c"}
{"image_id": 1, "caption": "d"}"#;
    let read = read_json_lines_references(file.as_bytes());
    assert_eq!(read, Ok(integers(&[(1, &["a", "b", "d"]), (2, &["c"])])));
}

#[test]
fn ignored_values_may_be_nested_up_to_the_limit() {
    let file = format!(r#"[{{"image_id": 1, "caption": "a", "x": {}{}}}]"#, "[".repeat(125), "]".repeat(125));
    results(&file, &integers(&[(1, &["a"])]));
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let file = "\u{feff}[{\"image_id\": 1, \"caption\": \"a\"}]";
    results(file, &integers(&[(1, &["a"])]));
    references(file, &integers(&[(1, &["a"])]));
}

#[test]
fn nan_and_infinity_are_allowed_in_ignored_fields() {
    let file =
        r#"[{"image_id": 1, "p": NaN, "caption": "NaN"}, {"image_id": 2, "caption": "b", "q": [-Infinity]}]"#;
    let expected = integers(&[(1, &["NaN"]), (2, &["b"])]);
    results(file, &expected);
    references(file, &expected);
    let file = r#"{"info": Infinity, "annotations": [{"image_id": 1, "caption": "a", "area": NaN}]}"#;
    references(file, &integers(&[(1, &["a"])]));
    let file = b"{\"image_id\": 1, \"caption\": \"a\", \"p\": NaN}\n{\"image_id\": 2, \"caption\": \"b\"}";
    assert_eq!(read_json_lines_results(file), Ok(integers(&[(1, &["a"]), (2, &["b"])])));
}

#[test]
fn a_result_may_be_a_list_of_one_caption() {
    results(r#"[{"image_id": 1, "caption": ["a"]}]"#, &integers(&[(1, &["a"])]));
    results(
        r#"{"1": ["a"], "2": "b", "3": [{"caption": "c"}]}"#,
        &integers(&[(1, &["a"]), (2, &["b"]), (3, &["c"])]),
    );
}

#[test]
fn results_may_be_wrapped_in_an_object() {
    let file = br#"{"scores": [{"image_id": 9}], "results": [{"image_id": 2, "caption": "a"}]}"#;
    assert_eq!(read_results_under(file, "results"), Ok(integers(&[(2, &["a"])])));
}

#[test]
fn datasets_are_read_by_split() {
    let file = br#"{"dataset": "coco", "images": [
        {"sentences": [{"raw": "a", "tokens": ["a"]}, {"raw": "b"}], "split": "val", "cocoid": 7, "imgid": 0},
        {"cocoid": 8, "split": "test", "sentences": [{"raw": "c"}], "filename": "x.jpg", "imgid": 1},
        {"sentences": [{"raw": "d"}], "cocoid": 9, "split": "val", "imgid": 2}]}"#;
    let splits = vec!["val".to_owned(), "test".to_owned()];
    let all = integers(&[(7, &["a", "b"]), (8, &["c"]), (9, &["d"])]);
    assert_eq!(read_karpathy(file, "cocoid", &[]), Ok((all, splits.clone())));
    let val = integers(&[(0, &["a", "b"]), (2, &["d"])]);
    assert_eq!(read_karpathy(file, "imgid", &splits[..1]), Ok((val, splits.clone())));
    let flickr =
        br#"{"images": [{"filename": "x.jpg", "imgid": 0, "split": "test", "sentences": [{"raw": "c"}]},
        {"filename": "y.jpg", "split": "val", "sentences": [{"raw": "\u00e9"}]}]}"#;
    let test = strings(&[("x.jpg", &["c"])]);
    assert_eq!(
        read_karpathy(flickr, "filename", &splits[1..]),
        Ok((test, vec!["test".to_owned(), "val".to_owned()]))
    );
    let nothing = read_karpathy(flickr, "filename", &["train".to_owned()]).unwrap().0;
    assert!(nothing.is_empty());
}

#[test]
fn an_outline_describes_the_beginning() {
    let keys = |file: &str| {
        let outline = read_outline(file.as_bytes());
        let keys: Vec<String> = outline.top.fields.iter().map(|(key, _)| key.clone()).collect();
        (outline.top.kind, keys.join(" "), outline.is_followed, outline.is_sound)
    };
    let text = |kind, keys: &str, is_followed, is_sound| (kind, keys.to_owned(), is_followed, is_sound);
    assert_eq!(keys(r#"{"info": {}, "images": [{"id": 1}, oh"#), text("object", "info images", false, true));
    assert_eq!(
        keys(r#"{"images": [1], "annotations": [{}"#),
        text("object", "images annotations", false, true)
    );
    assert_eq!(keys(r#"{"a": NaN, "b": 1}"#), text("object", "a b", false, true));
    assert_eq!(keys("{\"a\": 1}\n{\"b\": 1}"), text("object", "a", true, true));
    assert_eq!(keys(r#"{"a": 1, "b": "#), text("object", "a b", false, false));
    assert_eq!(keys("[]"), text("list", "", false, true));
    assert_eq!(keys(""), text("", "", false, false));
    let first = read_outline(br#"[{"x": ["a"], "y": NaN, "z": {}}, oh"#).top.first.unwrap();
    assert_eq!(first.fields.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["x", "y", "z"]);
}
