//! Tests on small hand-made tables. `tests/conformance/meteor` compares large ones with METEOR itself.

use proptest::prelude::*;

use capeval_tables::TableError;
use capeval_tokens::{Candidates, References, Tokenization};

use super::normalize::normalize;
use super::options::Preparation;
use super::*;

/// Offsets of a table file's section directory and, after 11 sections, of its numbers.
const DIRECTORY: usize = 56;
const BODY: usize = DIRECTORY + 11 * 40;

const HALF_TO_POWER_ONE_FIFTH: f64 = 0.870_550_563_296_124_1;

const SYNSETS: &str = "bike\n1 7\nbicycle\n1\nride\n2\ntravel\n2 5\nman\n3\nguy\n3\nbox\n4\ncarton\n4\n";
const EXCEPTIONS: &str = "ride\nrode ridden\nman\nmen\n";
const FUNCTION_WORDS: &str = "a\nthe\nof\non\n,\n.\n";
const PREFIXES: &str = "# comment\n\nMr\nNo #NUMERIC_ONLY#\nInc\n";
const PARAPHRASES: &str = "0.5\non top of\nupon\n0.4\nupon\nover\n0.3\nat the moment\nright now\n\
    0.2\nright now\nat the moment\n0.1\nboy\nyoung man\n";

fn compile_texts(texts: [&str; 5]) -> Result<Vec<u8>, CompileError> {
    let [mut synsets, mut exceptions, mut function_words, mut prefixes, mut paraphrases] =
        texts.map(str::as_bytes);
    let sources = Sources {
        synsets: &mut synsets,
        exceptions: &mut exceptions,
        function_words: &mut function_words,
        prefixes: &mut prefixes,
        paraphrases: &mut paraphrases,
    };
    compile(sources, &mut |_| std::ops::ControlFlow::Continue(()))
}

fn file() -> Vec<u8> {
    compile_texts([SYNSETS, EXCEPTIONS, FUNCTION_WORDS, PREFIXES, PARAPHRASES]).unwrap()
}

fn small() -> Tables<Vec<u8>> {
    Tables::open(file()).unwrap()
}

/// Options of METEOR 1.5 with `-l en -norm`.
fn meteor_1_5() -> Options {
    let stages = Stage::ALL.into_iter().zip([1.0, 0.6, 0.8, 0.6]);
    Options {
        language: Language::English,
        stages: stages.map(|(stage, weight)| WeightedStage { stage, weight }).collect(),
        alpha: 0.85,
        beta: 0.2,
        gamma: 0.6,
        delta: 0.75,
        beam_size: 40,
        normalize: true,
        penalize_perfect: false,
    }
}

/// Options of the COCO Captions paper, equations 11 to 15.
fn paper_options() -> Options {
    let order = [Stage::Exact, Stage::Synonym, Stage::Stem, Stage::Paraphrase];
    Options {
        language: Language::English,
        stages: order.map(|stage| WeightedStage { stage, weight: 1.0 }).into(),
        delta: 0.5,
        penalize_perfect: true,
        ..meteor_1_5()
    }
}

fn prepared<R: AsRef<[S]>, S: AsRef<str>>(
    options: &Options,
    images: &[R],
) -> Result<(PreparedReferences, References), MeteorError> {
    let captions: Vec<&str> = images.iter().flat_map(|image| image.as_ref()).map(S::as_ref).collect();
    let mut starts = vec![0];
    starts.extend(images.iter().scan(0, |end, image| {
        *end += image.as_ref().len();
        Some(*end)
    }));
    let references = References::new(&captions, starts, Tokenization::None);
    PreparedReferences::new(&small(), options, &references).map(|prepared| (prepared, references))
}

/// Returns the segments of one candidate per image.
fn score_candidates<R: AsRef<[S]>, S: AsRef<str>>(
    images: &[R],
    candidates: &[&str],
) -> Result<Vec<Segment>, MeteorError> {
    let (prepared, references) = prepared(&meteor_1_5(), images)?;
    let of_each = (0..candidates.len() as u32).collect();
    prepared.score(&small(), &Candidates::new(&references, candidates, of_each, Tokenization::None))
}

fn matched(candidate: &str, reference: &str) -> Vec<(usize, usize, usize, usize, Stage)> {
    let alignment = align(&small(), &meteor_1_5(), candidate, reference).unwrap();
    let places = alignment.matches.iter().map(|found| {
        let (candidate, reference) = (found.candidate_start, found.reference_start);
        (candidate, found.candidate_len, reference, found.reference_len, found.stage)
    });
    places.collect()
}

fn score_one(candidate: &str, references: &[&str]) -> Segment {
    score_candidates(&[references], &[candidate]).unwrap()[0]
}

#[test]
fn every_stage_matches() {
    use Stage::{Exact, Paraphrase, Stem, Synonym};
    assert_eq!(matched("dog", "dog"), [(0, 1, 0, 1, Exact)]);
    assert_eq!(matched("dogs", "dog"), [(0, 1, 0, 1, Stem)]);
    assert_eq!(matched("bike", "bicycle"), [(0, 1, 0, 1, Synonym)]);
    assert_eq!(matched("upon", "on top of"), [(0, 1, 0, 3, Paraphrase)]);
    assert_eq!(matched("on top of", "upon"), [(0, 3, 0, 1, Paraphrase)]);
    assert_eq!(matched("over", "upon it"), [(0, 1, 0, 1, Paraphrase)]);
    assert_eq!(matched("cat", "dog"), []);
    // A paraphrase of a paraphrase is not a paraphrase.
    assert_eq!(matched("over", "on top of"), []);
}

#[test]
fn base_forms_find_synsets() {
    assert_eq!(matched("boxes", "carton"), [(0, 1, 0, 1, Stage::Synonym)]);
    assert_eq!(matched("men", "guys"), [(0, 1, 0, 1, Stage::Synonym)]);
    assert_eq!(matched("ridden", "travelling"), []);
    assert_eq!(matched("ridden", "travels"), [(0, 1, 0, 1, Stage::Synonym)]);
}

#[test]
fn crossing_matches_make_chunks() {
    let alignment = align(&small(), &meteor_1_5(), "a dog and a cat", "a cat and a dog").unwrap();
    assert_eq!(alignment.matches.len(), 5);
    assert_eq!(alignment.chunks, 3);
    assert_eq!(alignment.statistics.0[..4], [5.0, 5.0, 2.0, 2.0]);
    assert_eq!(alignment.statistics.0[20..], [3.0, 5.0, 5.0]);
}

#[test]
fn score_follows_the_formula() {
    // One of two content words and one function word match, in one chunk: P = R = (0.75 + 0.25) / (1.5 +
    // 0.25), fragmentation 1/2.
    let expected = 1.0 / 1.75 * (1.0 - 0.6 * HALF_TO_POWER_ONE_FIFTH);
    let segment = score_one("a dog barks", &["a dog sleeps"]);
    assert!((segment.score - expected).abs() < 1e-15, "{segment:?}");
}

#[test]
fn the_formula_of_the_paper_weights_words_equally_and_penalizes_every_chunk() {
    let (tables, paper) = (small(), paper_options());
    let parts = align(&tables, &paper, "a dogs barks", "a dog sleeps").unwrap().parts;
    let expected = 2.0 / 3.0 * (1.0 - 0.6 * HALF_TO_POWER_ONE_FIFTH);
    assert!((parts.score - expected).abs() < 1e-15, "{parts:?}");
    let perfect = align(&tables, &paper, "a dog", "a dog").unwrap().parts;
    assert!((perfect.score - (1.0 - 0.6 * HALF_TO_POWER_ONE_FIFTH)).abs() < 1e-15, "{perfect:?}");
    assert_eq!(align(&tables, &meteor_1_5(), "a dog", "a dog").unwrap().parts.score, 1.0);
}

#[test]
fn no_matches_score_zero() {
    for (candidate, reference) in [("", ""), ("", "a dog"), ("a dog", ""), ("cat", "dog"), (" ", "\t")] {
        assert_eq!(score_one(candidate, &[reference]).score, 0.0, "{candidate:?} {reference:?}");
    }
}

#[test]
fn the_first_of_equal_references_counts() {
    let segment = score_one("a dog", &["a cat", "a dog runs", "a dog jumps"]);
    assert_eq!(segment.reference, 1);
}

#[test]
fn bars_split_references_and_are_removed_from_candidates() {
    assert_eq!(score_one("a d|||og", &["a cat ||| a dog", "a dog barks"]).score, 1.0);
    assert_eq!(score_one("a d|||og", &["a cat ||| a dog", "a dog barks"]).reference, 0);
}

#[test]
fn words_with_equal_hashes_match_exactly() {
    // METEOR compares 32-bit hashes: 31 * 'a' + 'o' = 31 * 'c' + '1'.
    assert_eq!(matched("ao", "c1"), [(0, 1, 0, 1, Stage::Exact)]);
}

#[test]
fn normalization_matches_meteor() {
    // Printed by edu.cmu.meteor.util.Normalizer of meteor-1.5.jar, then lower-cased. "Nos." and "art." would
    // need prefixes that the small table lacks.
    let cases = [
        ("a,b,c 1,000 1,b x,5", "a , b,c 1,000 1 , b x , 5"),
        (
            "Mr. Smith's U.S. dog ... Inc. and No. 5 no. five",
            "mr. smith 's us dog ... inc. and no. 5 no. five",
        ),
        ("the rockin' 1990's boys' 'tis it's o'clock", "the rockin ' 1990 's boys ' ' tis it 's o 'clock"),
        (
            "``well-known'' state-of-the-art -- T-shirt –x–",
            "\" well known \" state of the art - t shirt - x -",
        ),
        ("end. End. Inc. a..b .. x....y", "end . end . inc. a .. b .. x .... y"),
        ("5% of $3 & a_b #1 c/o [z]", "5 % of $ 3 & a _ b # 1 c / o [ z ]"),
        ("a.b. No. Nos", "ab no . nos"),
        ("œuvre ÉTÉ привет МИР 日本語 naïve", "œuvre été привет мир 日 本 語 naïve"),
        // Java 17 does not know the lower case of this Unicode 14 letter.
        ("\u{a7c0} DOG", "\u{a7c0} dog"),
    ];
    for (text, expected) in cases {
        assert_eq!(normalize(text, &small()).unwrap(), expected, "{text}");
    }
}

#[test]
fn a_table_is_compiled_the_same_from_compressed_paraphrases() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(PARAPHRASES.as_bytes()).unwrap();
    let compressed = encoder.finish().unwrap();
    let mut reported = Vec::new();
    let sources = Sources {
        synsets: &mut SYNSETS.as_bytes(),
        exceptions: &mut EXCEPTIONS.as_bytes(),
        function_words: &mut FUNCTION_WORDS.as_bytes(),
        prefixes: &mut PREFIXES.as_bytes(),
        paraphrases: &mut &compressed[..],
    };
    assert_eq!(
        compile(sources, &mut |pairs| {
            reported.push(pairs);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap(),
        file()
    );
    assert_eq!(reported, [5]);
    small().verify().unwrap();
}

#[test]
fn synonyms_can_be_compiled_alone() {
    let bytes = compile_synonyms(&mut SYNSETS.as_bytes(), &mut EXCEPTIONS.as_bytes()).unwrap();
    let synonyms = Synonyms::open(bytes.clone()).unwrap();
    let synsets = |word: &str| synonyms.synsets(word).unwrap();
    assert_eq!(synsets("travel"), [2, 5]);
    assert_eq!(synsets("bikes"), [1, 7]);
    assert_eq!(synsets("rode"), [2]);
    assert!(synsets("unheard").is_empty());
    assert!(synonyms.verify().is_ok());
    assert!(Tables::open(bytes).is_err());
    assert!(Synonyms::open(file()).is_err());
}

#[test]
fn invalid_sources_are_reported() {
    let good = [SYNSETS, EXCEPTIONS, FUNCTION_WORDS, PREFIXES, PARAPHRASES];
    let cases = [
        (0, "bike\none\n", "english.synsets, line 2: expected synset numbers, found \"one\""),
        (0, "", "english.synsets: expected at least one entry, found none"),
        (
            1,
            "ride\n",
            "english.exceptions, line 2: expected the irregular forms of the word above, found \"the end of the file\"",
        ),
        (2, "", "english.words: expected at least one entry, found none"),
        (3, "# none\n", "english.prefixes: expected at least one entry, found none"),
        (4, "0.5\na\n", "paraphrase-en.gz, line 3: expected a phrase, found \"the end of the file\""),
        (4, "0.5\n\nb\n", "paraphrase-en.gz, line 2: expected a phrase of at least one word, found \"\""),
    ];
    for (source, text, message) in cases {
        let mut texts = good;
        texts[source] = text;
        assert_eq!(compile_texts(texts).unwrap_err().to_string(), message);
    }
    let cut = [0x1f, 0x8b, 8, 0];
    let error = compile(
        Sources {
            synsets: &mut SYNSETS.as_bytes(),
            exceptions: &mut EXCEPTIONS.as_bytes(),
            function_words: &mut FUNCTION_WORDS.as_bytes(),
            prefixes: &mut PREFIXES.as_bytes(),
            paraphrases: &mut &cut[..],
        },
        &mut |_| std::ops::ControlFlow::Continue(()),
    );
    assert!(matches!(error, Err(CompileError::Read { origin: Source::Paraphrases, line: 1, .. })));
}

#[test]
fn a_damaged_table_is_reported() {
    let mut bytes = file();
    bytes[BODY + 3] ^= 1;
    let tables = Tables::open(bytes).unwrap();
    assert!(matches!(tables.verify(), Err(TableError::Checksum { part: "body", .. })));
    let other = capeval_tables::write(capeval_tables::Kind { name: "OTHER", version: 1 }, &[]);
    assert_eq!(
        Tables::open(other).unwrap_err().to_string(),
        "expected a file of METEOR tables, found \"OTHER\" tables"
    );
}

#[test]
fn invalid_input_is_reported() {
    let none: [&str; 0] = [];
    let error = |options: &Options, references: &[&[&str]]| {
        prepared(options, references).map(|_| ()).unwrap_err().to_string()
    };
    let options = meteor_1_5();
    assert_eq!(error(&options, &[&["a"], &none]), "image 1: expected at least one reference, found none");
    let wrong = Options { alpha: 2.0, ..meteor_1_5() };
    assert_eq!(error(&wrong, &[&["a"]]), "option \"alpha\" must be a number from 0 to 1 (got 2)");
    let wrong = Options { stages: vec![], ..meteor_1_5() };
    assert_eq!(error(&wrong, &[&["a"]]), "option \"stages\" must be one to four different stages (got )");
    let wrong = Options { beam_size: 0, ..meteor_1_5() };
    assert_eq!(error(&wrong, &[&["a"]]), "option \"beam_size\" must be at least 1 (got 0)");
    let wrong = Options { beta: f64::NAN, ..meteor_1_5() };
    assert_eq!(error(&wrong, &[&["a"]]), "option \"beta\" must be a finite number of at least 0 (got NaN)");
    let (prepared, references) = prepared(&options, &[["a"]]).unwrap();
    let candidates = |images| Candidates::new(&references, &["a", "b"], images, Tokenization::None);
    let unknown = prepared.score(&small(), &candidates(vec![0, 3])).unwrap_err();
    assert_eq!(unknown, MeteorError::UnknownImage { candidate: 1, image: 3, images: 1 });
    let other = compile_texts([SYNSETS, EXCEPTIONS, "an\n", PREFIXES, PARAPHRASES]).unwrap();
    let other = prepared.score(&Tables::open(other).unwrap(), &candidates(vec![0, 0]));
    assert!(matches!(other, Err(MeteorError::OtherTables { .. })));
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a", "the", "on", "top", "of", "upon", "over", "bike", "bikes", "bicycle", "rode", "riding",
        "travel", "man", "men", "guy", "young", "boy", "boxes", "carton", "at", "moment", "right", "now",
        ",", "dog",
    ])
}

fn caption(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(word(), words).prop_map(|words| words.join(" "))
}

/// Generates a caption of words and of tokens that METEOR splits, joins or drops.
fn odd_caption() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "a", "Dog", "T-shirt", "1,000", "Mr.", "dog.", "", "|||", "x|||y", "\u{a0}", "d\u{1}g", "\t", "..",
        "'s",
    ]);
    prop::collection::vec(odd, 0..8).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn captions_mapped_by_number_equal_their_text(
        texts in prop::collection::vec(odd_caption(), 1..6),
        preparation in prop::sample::select(vec![
            Preparation::None, Preparation::Lowercase, Preparation::Normalize,
        ]),
    ) {
        let tables = small();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let references = References::new(&texts, vec![0, texts.len()], Tokenization::None);
        let read = words::read_words(&tables, preparation, words::Source::References(&references)).unwrap();
        let mut expected = Vec::new();
        for text in texts.iter().flat_map(|text| text.split("|||")) {
            let text = text.trim_matches(|c| c <= ' ');
            let text = match preparation {
                Preparation::None => text.to_owned(),
                Preparation::Lowercase => capeval_ptb::lowercase(text),
                Preparation::Normalize => normalize(text, &tables).unwrap(),
            };
            expected.push(text.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>());
        }
        let caption = |ends: &[u32]| &read.words[ends[0] as usize..ends[1] as usize];
        let found: Vec<Vec<String>> = read.starts.windows(2).map(|ends| {
            caption(ends).iter().map(|&word| read.texts.word(word).to_owned()).collect()
        }).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_reference_aligns_with_itself_in_one_chunk(caption in caption(1..80)) {
        let alignment = align(&small(), &meteor_1_5(), &caption, &caption).unwrap();
        prop_assert_eq!(alignment.matches.len(), alignment.reference.len());
        prop_assert_eq!(alignment.chunks, 1);
        prop_assert!((alignment.parts.score - 1.0).abs() < 1e-12);
    }

    #[test]
    fn scores_are_from_0_to_1_and_words_match_once(one in caption(0..30), other in caption(0..30)) {
        let alignment = align(&small(), &meteor_1_5(), &one, &other).unwrap();
        prop_assert!((0.0..=1.0 + 1e-12).contains(&alignment.parts.score));
        let (mut candidate, mut reference) = (vec![0; 30], vec![0; 30]);
        for found in &alignment.matches {
            candidate[found.candidate_start..][..found.candidate_len].iter_mut().for_each(|n| *n += 1);
            reference[found.reference_start..][..found.reference_len].iter_mut().for_each(|n| *n += 1);
        }
        prop_assert!(candidate.iter().chain(&reference).all(|&n| n <= 1));
    }

    #[test]
    fn references_only_help_and_their_order_does_not_matter(
        candidate in caption(0..20),
        references in prop::collection::vec(caption(0..20), 2..5),
    ) {
        let score = |references: &[&str]| score_one(&candidate, references).score;
        let mut references: Vec<&str> = references.iter().map(String::as_str).collect();
        let all = score(&references);
        prop_assert!(score(&references[1..]) <= all);
        references.reverse();
        prop_assert_eq!(score(&references), all);
    }

    #[test]
    fn batches_score_like_single_captions(cases in prop::collection::vec((caption(0..12), caption(0..12)), 1..30)) {
        let references: Vec<[&str; 1]> = cases.iter().map(|(_, reference)| [reference.as_str()]).collect();
        let candidates: Vec<&str> = cases.iter().map(|(candidate, _)| candidate.as_str()).collect();
        let segments = score_candidates(&references, &candidates).unwrap();
        for (segment, (candidate, reference)) in segments.iter().zip(&cases) {
            prop_assert_eq!(*segment, score_one(candidate, &[reference]));
        }
    }

    #[test]
    fn any_text_is_scored(candidate in "\\PC{0,40}", reference in "\\PC{0,40}") {
        let score = score_one(&candidate, &[&reference]).score;
        prop_assert!((0.0..=1.0 + 1e-12).contains(&score));
    }

    #[test]
    fn damaged_tables_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        candidate in caption(0..12),
        reference in caption(0..12),
    ) {
        let mut bytes = file();
        for (at, value) in flips {
            let at = DIRECTORY + at.index(bytes.len() - DIRECTORY);
            bytes[at] = value;
        }
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&bytes[..48]);
        checksum.update(&bytes[DIRECTORY..BODY]);
        let checksum = checksum.finalize();
        bytes[48..52].copy_from_slice(&checksum.to_le_bytes());
        if let Ok(tables) = Tables::open(bytes) {
            let score_candidates = align(&tables, &meteor_1_5(), &candidate, &reference);
            if let Ok(alignment) = score_candidates {
                prop_assert!(alignment.parts.score >= 0.0);
            }
        }
    }

    #[test]
    fn truncated_tables_are_rejected(length in any::<prop::sample::Index>()) {
        let bytes = file();
        let length = length.index(bytes.len());
        prop_assert!(Tables::open(&bytes[..length]).is_err());
    }
}

#[test]
fn too_many_matches_are_an_error() {
    let (many, few) = (["dog"; 3000].join(" "), ["dog"; 300].join(" "));
    let images = [vec!["dog"], vec!["cat", many.as_str()], vec!["a man rides a bike"]];
    let error = score_candidates(&images, &["dog", many.as_str(), "a man"]).unwrap_err();
    assert_eq!(error, MeteorError::TooManyMatches { candidate: 1, reference: 1 });
    assert!(error.to_string().starts_with("candidate 1, reference 1 of its image: "));
    assert_eq!(score_candidates(&images, &["dog", few.as_str(), "a man"]).unwrap()[1].reference, 1);
}

#[test]
fn a_long_candidate_of_one_word_is_compared_with_a_short_reference() {
    // The distances of 200,000 matches sum to more than 32 bits.
    let alignment = align(&small(), &meteor_1_5(), &["dog"; 100_000].join(" "), "a dog and a dog").unwrap();
    assert_eq!((alignment.matches.len(), alignment.chunks), (2, 2));
}

#[test]
fn long_captions_of_different_words_align() {
    let words: Vec<String> = (0..10_000).map(|number| format!("w{number}x")).collect();
    let (caption, turned) = (words.join(" "), [&words[5000..], &words[..5000]].concat().join(" "));
    let alignment = align(&small(), &meteor_1_5(), &caption, &turned).unwrap();
    assert_eq!((alignment.matches.len(), alignment.chunks), (10_000, 2));
}
