use proptest::prelude::*;

use super::*;

const KIND: Kind = Kind { name: "TEST", version: 3 };

fn small() -> Vec<u8> {
    let sections = [
        Contents::of("bytes", &[1_u8, 2, 3]),
        Contents::of("short", &[1_u16, 65_535]),
        Contents::of("numbers", &[4_u32, 5, 6]),
        Contents::of("long", &[u64::MAX]),
        Contents::of("floats", &[0.5_f32, f32::NEG_INFINITY]),
        Contents::of("doubles", &[f64::MIN_POSITIVE]),
        Contents::of::<f64>("empty", &[]),
    ];
    write(KIND, &sections)
}

fn all<T: Element>(file: &TableFile<Vec<u8>>, name: &'static str) -> Result<Vec<T>, TableError> {
    file.numbers(file.section::<T>(name)?).map(<[T]>::to_vec)
}

fn refused(bytes: Vec<u8>) -> String {
    TableFile::open(bytes, KIND).map(|_| ()).unwrap_err().to_string()
}

/// Returns the bytes with a matching header checksum.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sections = u32::from_le_bytes(bytes[44..48].try_into().unwrap()) as usize;
    let header = FIXED_HEADER + DIRECTORY_ENTRY * sections;
    if let Some(header) = bytes.get(..header) {
        let checksum = header_checksum(header);
        bytes[48..52].copy_from_slice(&checksum.to_le_bytes());
    }
    bytes
}

#[test]
fn numbers_round_trip() {
    let file = TableFile::open(small(), KIND).unwrap();
    file.verify().unwrap();
    assert_eq!(all::<u8>(&file, "bytes").unwrap(), [1, 2, 3]);
    assert_eq!(all::<u16>(&file, "short").unwrap(), [1, 65_535]);
    assert_eq!(all::<u32>(&file, "numbers").unwrap(), [4, 5, 6]);
    assert_eq!(all::<u64>(&file, "long").unwrap(), [u64::MAX]);
    assert_eq!(all::<f32>(&file, "floats").unwrap(), [0.5, f32::NEG_INFINITY]);
    assert_eq!(all::<f64>(&file, "doubles").unwrap(), [f64::MIN_POSITIVE]);
    assert_eq!(all::<f64>(&file, "empty").unwrap(), []);
    let numbers = file.section::<u32>("numbers").unwrap();
    assert_eq!((numbers.len(), numbers.is_empty()), (3, false));
    assert_eq!(file.number(numbers, 2).unwrap(), 6);
    assert_eq!(file.range(numbers, 1, 3).unwrap(), [5, 6]);
}

#[test]
fn invalid_reads_are_reported() {
    let file = TableFile::open(small(), KIND).unwrap();
    let numbers = file.section::<u32>("numbers").unwrap();
    let out =
        |entry| format!("the TEST tables are damaged in section \"numbers\": entry {entry} is out of bounds");
    assert_eq!(file.number(numbers, 3).unwrap_err().to_string(), out(3));
    assert_eq!(file.range(numbers, 2, 4).unwrap_err().to_string(), out(4));
    assert_eq!(file.range(numbers, 2, 1).unwrap_err().to_string(), out(1));
    assert_eq!(
        all::<u32>(&file, "nothing").unwrap_err().to_string(),
        "expected a section \"nothing\" in the TEST tables, found none"
    );
    assert_eq!(
        all::<f32>(&file, "numbers").unwrap_err().to_string(),
        "expected f32 numbers in section \"numbers\" of the TEST tables, found u32"
    );
}

#[test]
fn damaged_headers_are_reported() {
    let changed = |at: usize, to: u8| {
        let mut bytes = small();
        bytes[at] = to;
        bytes
    };
    let whole = small().len();
    assert_eq!(refused(changed(0, b'x')), "expected a file of TEST tables, but the file has another format");
    assert_eq!(refused(changed(8, 9)), "expected version 1 of the table file format, found version 9");
    assert_eq!(refused(resealed(changed(12, 2))), "expected version 3 of the TEST tables, found version 2");
    assert_eq!(refused(resealed(changed(16, b'R'))), "expected a file of TEST tables, found \"REST\" tables");
    assert!(
        refused(changed(60, 1)).starts_with("the header of the TEST tables is damaged: expected checksum ")
    );
    assert_eq!(
        refused(small()[..whole - 8].to_vec()),
        format!("expected TEST tables of {whole} bytes, found {} bytes", whole - 8)
    );
    assert_eq!(refused(small()[..20].to_vec()), "expected TEST tables of 56 bytes, found 20 bytes");
    let outside = resealed(changed(FIXED_HEADER + 39, 1));
    assert_eq!(refused(outside), "section \"bytes\" of the TEST tables lies outside of the file");
}

#[test]
fn verify_finds_a_damaged_body() {
    let mut bytes = small();
    *bytes.last_mut().unwrap() ^= 1;
    let error = TableFile::open(bytes, KIND).unwrap().verify().unwrap_err().to_string();
    assert!(error.starts_with("the body of the TEST tables is damaged: expected checksum "), "{error}");
}

#[test]
fn bytes_must_be_aligned() {
    let file = small();
    let mut bytes = vec![0; 8 + file.len()];
    let opened = (0..8).map(|shift| {
        bytes[shift..shift + file.len()].copy_from_slice(&file);
        TableFile::open(&bytes[shift..shift + file.len()], KIND).map(|_| ())
    });
    let misaligned = opened.filter(|opened| *opened == Err(TableError::Misaligned { kind: "TEST" }));
    assert_eq!(misaligned.count(), 7);
}

#[test]
#[should_panic(expected = "twice")]
fn duplicate_names_panic() {
    let _ = write(KIND, &[Contents::of("twice", &[0_u8]), Contents::of("twice", &[0_u8])]);
}

proptest! {
    #[test]
    fn damaged_files_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)
    ) {
        let mut bytes = small();
        for (at, value) in flips {
            let at = 8 + at.index(bytes.len() - 8);
            bytes[at] = value;
        }
        if let Ok(file) = TableFile::open(resealed(bytes), KIND) {
            let numbers = file.section::<u32>("numbers").and_then(|section| file.numbers(section).map(<[u32]>::len));
            prop_assert!(numbers.is_err() || numbers.is_ok_and(|count| count < small().len()));
            let _ = file.verify();
        }
    }

    #[test]
    fn truncated_files_are_rejected(length in any::<prop::sample::Index>()) {
        let bytes = small();
        prop_assert!(TableFile::open(&bytes[..length.index(bytes.len())], KIND).is_err());
    }
}
