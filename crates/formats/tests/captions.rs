//! The captions container.

use capeval_formats::{Captions, CaptionsError, ImageId, ImageIds};

fn sample() -> Captions {
    let ids = ImageIds::Strings(["b", "a", "c"].map(String::from).to_vec());
    Captions::from_grouped(ids, &[vec!["b one", ""], vec!["a é", "a two"], vec!["c"]]).unwrap()
}

fn grouped(captions: &Captions) -> Vec<(String, Vec<&str>)> {
    let images = captions.ids().iter().enumerate();
    images.map(|(image, id)| (id.to_string(), captions.captions_of(image).collect())).collect()
}

#[test]
fn captions_keep_their_order() {
    let captions = sample();
    let expected = [
        (r#""b""#.to_owned(), vec!["b one", ""]),
        (r#""a""#.to_owned(), vec!["a é", "a two"]),
        (r#""c""#.to_owned(), vec!["c"]),
    ];
    assert_eq!(grouped(&captions), expected);
    assert_eq!((captions.len(), captions.caption_count()), (3, 5));
    assert_eq!(captions.image_offsets(), [0, 2, 4, 5]);
    assert_eq!(captions.caption(3), "a two");
    assert_eq!(captions.captions_of(0).len(), 2);
    let flat: Vec<_> = captions.iter().collect();
    assert_eq!(flat, [(0, "b one"), (0, ""), (1, "a é"), (1, "a two"), (2, "c")]);
}

#[test]
fn select_uses_the_order_of_indices() {
    let selected = sample().select(&[2, 0]).unwrap();
    let expected = [(r#""c""#.to_owned(), vec!["c"]), (r#""b""#.to_owned(), vec!["b one", ""])];
    assert_eq!(grouped(&selected), expected);
    assert_eq!(sample().select(&[0, 1, 2]), Ok(sample()));
    assert!(sample().select(&[]).unwrap().is_empty());
}

#[test]
fn select_rejects_invalid_indices() {
    let error = sample().select(&[0, 3]).unwrap_err();
    assert_eq!(error, CaptionsError::OutOfRange { index: 3, images: 3 });
    assert_eq!(error.to_string(), "an image index must be less than the number of images, 3 (got 3)");
    let error = sample().select(&[1, 2, 1]).unwrap_err();
    assert_eq!(error.to_string(), r#"duplicate image id "a" at index 2 (first seen at index 0)"#);
}

#[test]
fn constructors_report_the_problem() {
    let error = Captions::from_grouped(ImageIds::Integers(vec![1]), &[["a"], ["b"]]).unwrap_err();
    assert_eq!(error.to_string(), "ids and captions must have the same length (got 1 and 2)");
    let ids = ImageIds::Integers(vec![1, 2, 1]);
    let error = Captions::from_grouped(ids, &[["a"], ["b"], ["c"]]).unwrap_err();
    let expected = CaptionsError::DuplicateImage { id: "1".to_owned(), first: 0, second: 2 };
    assert_eq!(error, expected);
    let ids = ImageIds::Integers(vec![1, 2]);
    let error = Captions::from_grouped(ids, &[vec!["a"], vec![]]).unwrap_err();
    assert_eq!(error.to_string(), "every image must have a caption (image 2 at index 1 has none)");
}

#[test]
fn a_container_may_be_empty() {
    let captions = Captions::from_grouped(ImageIds::Strings(vec![]), &[] as &[Vec<&str>]).unwrap();
    assert!(captions.is_empty());
    assert_eq!((captions.caption_count(), captions.iter().count()), (0, 0));
}

#[test]
fn only_plain_integers_become_integers() {
    let strings = |ids: &[&str]| ImageIds::Strings(ids.iter().map(|&id| id.into()).collect());
    let integers = strings(&["12", "-3", "0"]).to_integers();
    assert_eq!(integers, Some(ImageIds::Integers(vec![12, -3, 0])));
    for id in ["007", "+1", "-0", "1.0", "", " 1", "9223372036854775808"] {
        assert_eq!(strings(&["1", id]).to_integers(), None, "{id:?}");
    }
    assert_eq!(sample().with_integer_ids(), Err(sample()));
    assert_eq!(strings(&["x"]).get(0), Some(ImageId::String("x")));
    assert_eq!(strings(&["x"]).get(1), None);
}

#[test]
fn captions_with_line_ends_are_found() {
    let long = "x\u{2019}\u{2027}\u{85}\u{1c} ".repeat(1000);
    let texts = ["", "a\nb", "a\rb\r", "", "\u{b}", &long, "\u{c}x", &long, "a\u{2028}", "\u{2029}", ""];
    let found = [2, 4, 6, 8, 9];
    let captions = Captions::from_grouped(ImageIds::Integers(vec![1]), &[texts.to_vec()]).unwrap();
    assert_eq!(captions.with_line_ends(), found);
    // At every position relative to the blocks that are searched.
    for before in 4090..4100 {
        let text = format!("{}\u{2029}", "x".repeat(before));
        let captions = Captions::from_grouped(ImageIds::Integers(vec![1]), &[["a", &text]]).unwrap();
        assert_eq!(captions.with_line_ends(), [1], "{before}");
    }
}
