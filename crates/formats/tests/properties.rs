//! The readers compared with a simple `serde_json::Value` implementation, and on damaged files.

use capeval_formats::{
    Captions, ImageId, ImageIds, ReadErrorKind, read_annotations, read_json_lines_references,
    read_json_lines_results, read_results,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

type Groups = Vec<(Value, Vec<String>)>;

/// Groups the captions of a file by image in the simplest way.
fn group_by_image(entries: &[Value], order: Option<&[Value]>) -> Groups {
    let mut groups: Groups = Vec::new();
    for id in order.unwrap_or_default() {
        groups.push((id.clone(), Vec::new()));
    }
    for entry in entries {
        let caption = entry["caption"].as_str().unwrap().to_owned();
        match groups.iter_mut().find(|group| group.0 == entry["image_id"]) {
            Some(group) => group.1.push(caption),
            None => groups.push((entry["image_id"].clone(), vec![caption])),
        }
    }
    groups
}

fn groups_of(captions: &Captions) -> Groups {
    let value = |id: ImageId<'_>| match id {
        ImageId::Integer(id) => json!(id),
        ImageId::String(id) => json!(id),
    };
    let texts = |image| captions.captions_of(image).map(str::to_owned).collect();
    captions.ids().iter().enumerate().map(|(image, id)| (value(id), texts(image))).collect()
}

/// Generates ids of one type, few enough that images repeat.
fn ids() -> impl Strategy<Value = Vec<Value>> {
    let integers = vec((-3..3i64).prop_map(|id| json!(id)), 1..20);
    let large = vec(any::<i64>().prop_map(|id| json!(id)), 1..20);
    let strings = vec(vec(any::<char>(), 0..2), 1..20)
        .prop_map(|ids| ids.iter().map(|id| json!(String::from_iter(id))).collect());
    prop_oneof![integers, large, strings]
}

/// Generates captions of any characters, including those that JSON escapes.
fn caption() -> impl Strategy<Value = String> {
    let character = prop_oneof![any::<char>(), prop::sample::select(vec!['"', '\\', '\n', '\0', 'é', '😀'])];
    vec(character, 0..12).prop_map(String::from_iter)
}

fn entries() -> impl Strategy<Value = Vec<Value>> {
    (ids(), vec(caption(), 20), any::<bool>()).prop_map(|(ids, captions, has_more)| {
        let entry = |(id, caption): (&Value, &String)| match has_more {
            true => json!({"image_id": id, "id": 7, "caption": caption, "a": {"x": [null, 0.5]}}),
            false => json!({"image_id": id, "caption": caption}),
        };
        ids.iter().zip(&captions).map(entry).collect()
    })
}

/// Formats a value as JSON, optionally with non-ASCII characters escaped, as Python does.
fn format_json(value: &Value, is_ascii: bool, is_pretty: bool) -> String {
    let text = match is_pretty {
        true => serde_json::to_string_pretty(value).unwrap(),
        false => serde_json::to_string(value).unwrap(),
    };
    let mut units = [0; 2];
    let escaped = |c: char| -> String {
        match c.is_ascii() || !is_ascii {
            true => c.to_string(),
            false => c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
        }
    };
    text.chars().map(escaped).collect()
}

/// Returns the first entry of each image.
fn first_of_each(entries: &[Value]) -> Vec<Value> {
    let is_first = |(at, entry): &(usize, &Value)| {
        entries[..*at].iter().all(|before| before["image_id"] != entry["image_id"])
    };
    entries.iter().enumerate().filter(is_first).map(|pair| pair.1.clone()).collect()
}

proptest! {
    #[test]
    fn lists_match_the_simple_reader(entries in entries(), is_ascii: bool, is_pretty: bool) {
        let expected = group_by_image(&entries, None);
        let file = format_json(&json!(entries), is_ascii, is_pretty);
        prop_assert_eq!(&groups_of(&read_annotations(file.as_bytes()).unwrap()), &expected);

        let file = format_json(&json!({"info": null, "annotations": entries}), is_ascii, is_pretty);
        prop_assert_eq!(&groups_of(&read_annotations(file.as_bytes()).unwrap()), &expected);

        let lines: Vec<_> = entries.iter().map(|entry| format_json(entry, is_ascii, false)).collect();
        let read = read_json_lines_references(lines.join("\n").as_bytes()).unwrap();
        prop_assert_eq!(&groups_of(&read), &expected);
    }

    #[test]
    fn listed_images_give_the_order(entries in entries(), seed: u64, is_ascii: bool) {
        let mut order: Vec<Value> = first_of_each(&entries).iter().map(|entry| entry["image_id"].clone()).collect();
        let turn = seed as usize % order.len();
        order.rotate_left(turn);
        let images: Vec<Value> = order.iter().map(|id| json!({"id": id, "height": 3})).collect();
        let expected = group_by_image(&entries, Some(&order));
        let (images, entries) = (format_json(&json!(images), is_ascii, false), format_json(&json!(entries), is_ascii, false));
        for file in [
            format!(r#"{{"images": {images}, "annotations": {entries}}}"#),
            format!(r#"{{"annotations": {entries}, "images": {images}}}"#),
        ] {
            prop_assert_eq!(&groups_of(&read_annotations(file.as_bytes()).unwrap()), &expected);
        }
    }

    #[test]
    fn results_match_the_simple_reader(entries in entries(), is_ascii: bool, is_pretty: bool) {
        let once = first_of_each(&entries);
        let expected = group_by_image(&once, None);
        let file = format_json(&json!(once), is_ascii, is_pretty);
        prop_assert_eq!(&groups_of(&read_results(file.as_bytes()).unwrap()), &expected);
        let lines: Vec<_> = once.iter().map(|entry| format_json(entry, is_ascii, false) + "\n").collect();
        let read = read_json_lines_results(lines.concat().as_bytes()).unwrap();
        prop_assert_eq!(&groups_of(&read), &expected);

        let file = format_json(&json!(entries), is_ascii, is_pretty);
        let kind = read_results(file.as_bytes()).err().map(|error| error.kind);
        let is_repeated = once.len() < entries.len();
        prop_assert_eq!(kind, is_repeated.then_some(ReadErrorKind::DuplicateImage));
    }

    #[test]
    fn a_selected_image_has_its_captions(counts in vec(1..5usize, 1..10)) {
        let caption = |image: usize, number: usize| format!("caption {number} of {image}");
        let captions_of = |(image, &count): (usize, &usize)| (0..count).map(|number| caption(image, number)).collect();
        let groups: Vec<Vec<String>> = counts.iter().enumerate().map(captions_of).collect();
        let ids = ImageIds::Integers((0..).take(groups.len()).collect());
        let captions = Captions::from_grouped(ids, &groups).unwrap();
        for (image, group) in groups.iter().enumerate() {
            prop_assert!(captions.captions_of(image).eq(group));
            let alone = captions.select(&[image]).unwrap();
            prop_assert!(alone.captions_of(0).eq(captions.captions_of(image)));
        }
    }

    #[test]
    fn broken_files_never_panic(
        entries in entries(),
        is_pretty: bool,
        changes in vec((any::<prop::sample::Index>(), 0..3u8, any::<u8>()), 1..6),
    ) {
        let file = json!({"images": [{"id": 1}], "annotations": entries});
        for value in [file, json!(entries), json!({"1": ["a", {"caption": "b"}], "2": ["c"]}), json!({"1": "a"})] {
            let mut bytes = format_json(&value, is_pretty, is_pretty).into_bytes();
            for (at, change, byte) in &changes {
                let at = at.index(bytes.len());
                match change {
                    0 => bytes[at] = *byte,
                    1 => bytes.insert(at, b"{}[]\",:\\u-0N\n"[*byte as usize % 13]),
                    _ => drop(bytes.drain(at..(at + 3).min(bytes.len() - 1).max(at))),
                }
            }
            for read in [read_annotations, read_results, read_json_lines_references, read_json_lines_results] {
                if let Err(error) = read(&bytes) {
                    prop_assert!(!error.message.is_empty() && !error.message.contains('\n'));
                }
            }
        }
    }
}

proptest! {
    // Each case reads every prefix of a file.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_prefix_is_rejected(entries in entries(), is_ascii: bool, is_pretty: bool) {
        let images: Vec<Value> = first_of_each(&entries).iter().map(|entry| json!({"id": entry["image_id"]})).collect();
        let once = first_of_each(&entries);
        let coco = format_json(&json!({"images": images, "annotations": entries}), is_ascii, is_pretty);
        let list = format_json(&json!(once), is_ascii, is_pretty);
        for end in 1..coco.len() {
            let error = read_annotations(&coco.as_bytes()[..end]).unwrap_err();
            prop_assert_eq!(error.kind, ReadErrorKind::Truncated, "{} {}", end, error);
        }
        for end in 1..list.len() {
            let error = read_results(&list.as_bytes()[..end]).unwrap_err();
            prop_assert_eq!(error.kind, ReadErrorKind::Truncated, "{} {}", end, error);
        }
    }
}
