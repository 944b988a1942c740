//! Reading of streams written by hand according to the specification.

use proptest::prelude::*;

use super::objects::Value;
use super::read;

/// A stream under construction.
#[derive(Default)]
struct Stream(Vec<u8>);

impl Stream {
    fn start() -> Self {
        Self(vec![0xac, 0xed, 0, 5])
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn name(self, name: &str) -> Self {
        self.bytes(&(name.len() as u16).to_be_bytes()).bytes(name.as_bytes())
    }

    /// Writes a class with primitive fields, up to the end of its annotations.
    fn class(self, name: &str, flags: u8, fields: &[(u8, &str)]) -> Self {
        let start = self.bytes(&[0x72]).name(name).bytes(&[0; 8]).bytes(&[flags]);
        let counted = start.bytes(&(fields.len() as u16).to_be_bytes());
        let listed = fields.iter().fold(counted, |stream, (code, field)| stream.bytes(&[*code]).name(field));
        listed.bytes(&[0x78])
    }
}

/// `class Rule { int parent; float score; }`, `class Unary extends Rule { int child; }`.
fn rule() -> Vec<u8> {
    Stream::start()
        .bytes(&[0x73])
        .class("Unary", 2, &[(b'I', "child")])
        .class("Rule", 2, &[(b'I', "parent"), (b'F', "score")])
        .bytes(&[0x70])
        .bytes(&7_i32.to_be_bytes())
        .bytes(&(-1.5_f32).to_be_bytes())
        .bytes(&9_i32.to_be_bytes())
        .0
}

/// An `ArrayList` of the strings "a" and "a". The second string is a reference to the first.
fn list() -> Vec<u8> {
    Stream::start()
        .bytes(&[0x73])
        .class("java.util.ArrayList", 3, &[(b'I', "size")])
        .bytes(&[0x70])
        .bytes(&2_i32.to_be_bytes())
        .bytes(&[0x77, 4, 0, 0, 0, 2])
        .bytes(&[0x74])
        .name("a")
        .bytes(&[0x71, 0, 0x7e, 0, 2])
        .bytes(&[0x78])
        .0
}

#[test]
fn fields_of_a_class_and_of_its_parent_are_found() {
    let (objects, value) = read(&rule()).unwrap();
    let rule = objects.node(value, "rule").unwrap();
    assert_eq!((rule.integer("parent").unwrap(), rule.integer("child").unwrap()), (7, 9));
    assert_eq!(rule.float("score").unwrap(), -1.5);
    let error = rule.integer("score").unwrap_err().to_string();
    assert_eq!(error, "the model, rule: expected an integer field, found score = Float(-1.5)");
    assert!(rule.integer("size").is_err());
}

#[test]
fn a_list_has_its_elements_and_references_to_earlier_ones() {
    let (objects, value) = read(&list()).unwrap();
    let elements = objects.node(value, "list").unwrap().list().unwrap();
    let texts: Vec<&str> = elements.iter().map(|element| element.text().unwrap()).collect();
    assert_eq!(texts, ["a", "a"]);
    assert!(objects.node(value, "list").unwrap().map().is_err());
}

#[test]
fn an_array_of_doubles() {
    let stream = Stream::start().bytes(&[0x75]).class("[D", 2, &[]).bytes(&[0x70]);
    let stream =
        stream.bytes(&2_i32.to_be_bytes()).bytes(&1.0_f64.to_be_bytes()).bytes(&0.2_f64.to_be_bytes());
    let (objects, value) = read(&stream.0).unwrap();
    assert_eq!(objects.node(value, "array").unwrap().doubles().unwrap(), [1.0, 0.2]);
}

#[test]
fn invalid_streams_report_the_position() {
    let error = read(b"PK\x03\x04").unwrap_err().to_string();
    let expected = "the model's object stream, byte 4: expected the start of a Java object stream \
                    (ac ed 00 05), found 504b0304";
    assert_eq!(error, expected);
    let error = read(&Stream::start().bytes(&[0x7d]).0).unwrap_err().to_string();
    assert_eq!(error, "the model's object stream, byte 5: expected the code of an object, found 0x7d");
    let (_, nothing) = read(&Stream::start().bytes(&[0x70]).0).unwrap();
    assert_eq!(nothing, Value::Null);
}

#[test]
fn endless_nesting_is_an_error() {
    let mut stream = Stream::start();
    for _ in 0..10_000 {
        stream = stream.bytes(&[0x75]).class("[[D", 2, &[]).bytes(&[0x70]).bytes(&1_i32.to_be_bytes());
    }
    assert!(read(&stream.0).unwrap_err().to_string().contains("at most 100 objects and classes"));
}

proptest! {
    #[test]
    fn a_damaged_stream_is_an_error_or_other_objects(
        which in 0..2_usize, place in 0..200_usize, byte in any::<u8>(), length in 0..300_usize,
    ) {
        let mut stream = [rule(), list()][which].clone();
        let place = place % stream.len();
        stream[place] = byte;
        let _ = read(&stream);
        let whole = [rule(), list()][which].clone();
        prop_assert!(length >= whole.len() || read(&whole[..length]).is_err());
    }
}
