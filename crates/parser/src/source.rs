//! The parser model as distributed by its authors: from the jar to plain lists.

use std::io::{Read, Seek};

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use crate::error::ModelError;
use crate::java::{self, Node, hash_table};

/// The entry of CoreNLP's models jar with the English grammar.
pub const MODEL_ENTRY: &str = "edu/stanford/nlp/models/lexparser/englishPCFG.ser.gz";
/// SHA-256 of [`MODEL_ENTRY`] in CoreNLP 3.6.0. The jar itself (378 MB) is not checked.
pub const MODEL_ENTRY_SHA256: &str = "ed674cce7311f76c018806e61cdb045e219258ee30014da4e3e686b9230ebea9";
/// Exact sizes, known because the checksum is verified before anything is unpacked.
const ENTRY_SIZE: u64 = 1_883_795;
const UNPACKED_SIZE: u64 = 6_365_065;

/// A rule with two children. States are indices into [`Source::states`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinaryRule {
    /// The parent state.
    pub parent: u32,
    /// The left child.
    pub left: u32,
    /// The right child.
    pub right: u32,
    /// The natural logarithm of the rule's probability.
    pub score: f32,
}

/// A rule with one child.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnaryRule {
    /// The parent state.
    pub parent: u32,
    /// The child.
    pub child: u32,
    /// The natural logarithm of the rule's probability.
    pub score: f32,
}

/// The number of times that a word, or a signature of unknown words, was seen with a tag.
///
/// `None` stands for all words or all tags. These marginal counts are separate entries, because they are not
/// exact sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// Index of the word in [`Source::words`].
    pub word: Option<u32>,
    /// Index of the tag in [`Source::tags`].
    pub tag: Option<u32>,
    /// The count, which may be fractional due to smoothing.
    pub count: f64,
}

/// A grammar and lexicon as plain lists, the input of [`crate::compile()`].
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Names of all states.
    pub states: Vec<String>,
    /// Tags. Each is the name of a state.
    pub tags: Vec<String>,
    /// Words and signatures.
    pub words: Vec<String>,
    /// Binary rules, in the order that decides ties.
    pub binary_rules: Vec<BinaryRule>,
    /// Unary rules, in the order that decides ties and the order of summation in chains.
    pub unary_rules: Vec<UnaryRule>,
    /// Counts of words in the training data.
    pub seen: Vec<Count>,
    /// Counts of signatures of rare words.
    pub unseen: Vec<Count>,
    /// Pairs of a spelling and the one in the lexicon (`grey`, `gray`), which are in CoreNLP's code instead
    /// of the model.
    pub spellings: Vec<(String, String)>,
    /// Words in -our that are not British spellings ("contour"), also from CoreNLP's code.
    pub our_words: Vec<String>,
}

impl Source {
    /// Reads the grammar from CoreNLP 3.6.0's models jar. The spellings are left empty.
    ///
    /// # Errors
    /// Returns a [`ModelError`] unless the jar contains exactly the grammar of that release.
    pub fn from_jar<R: Read + Seek>(jar: R) -> Result<Self, ModelError> {
        let mut archive = zip::ZipArchive::new(jar)?;
        let mut entry = Vec::new();
        archive.by_name(MODEL_ENTRY)?.take(ENTRY_SIZE + 1).read_to_end(&mut entry)?;
        Self::from_entry(&entry)
    }

    /// Reads the grammar from the bytes of [`MODEL_ENTRY`].
    ///
    /// # Errors
    /// Returns a [`ModelError`] unless the bytes are exactly those of CoreNLP 3.6.0.
    pub fn from_entry(entry: &[u8]) -> Result<Self, ModelError> {
        let found: String = Sha256::digest(entry).iter().map(|byte| format!("{byte:02x}")).collect();
        if found != MODEL_ENTRY_SHA256 {
            let part = "the entry englishPCFG.ser.gz";
            return Err(ModelError::Checksum { part, expected: MODEL_ENTRY_SHA256, found });
        }
        let mut stream = Vec::new();
        GzDecoder::new(entry).take(UNPACKED_SIZE).read_to_end(&mut stream)?;
        Self::from_stream(&stream)
    }

    fn from_stream(stream: &[u8]) -> Result<Self, ModelError> {
        let (objects, parser) = java::read(stream)?;
        let parser = objects.node(parser, "parser")?;
        check_options(&parser)?;
        let lexicon = parser.field("lex")?;
        let rules = parser.field("ug")?.field("coreRules")?;
        Ok(Self {
            states: index(&parser.field("stateIndex")?)?,
            tags: index(&parser.field("tagIndex")?)?,
            words: index(&parser.field("wordIndex")?)?,
            binary_rules: binary_rules(&parser.field("bg")?.field("allRules")?)?,
            unary_rules: sort_as_in_java(unary_rules(&rules)?),
            seen: counts(&lexicon.field("seenCounter")?)?,
            unseen: counts(&lexicon.field("uwModel")?.field("unSeenCounter")?)?,
            spellings: Vec::new(),
            our_words: Vec::new(),
        })
    }
}

/// Checks the options of the parser. Only these values are supported.
fn check_options(parser: &Node<'_>) -> Result<(), ModelError> {
    let (options, lexicon) = (parser.field("op")?, parser.field("lex")?);
    let (unknown, english) = (lexicon.field("uwModel")?, options.field("tlpParams")?);
    let booleans = [
        (&options, "doPCFG", true),
        (&options, "doDep", false),
        (&options, "forceCNF", false),
        (&options, "dcTags", false),
        (&lexicon, "flexiTag", true),
        (&lexicon, "smartMutation", false),
        (&lexicon, "useSignatureForKnownSmoothing", false),
    ];
    for (node, name, expected) in booleans {
        if node.boolean(name)? != expected {
            return Err(ModelError::content(
                name,
                "the option of the English grammar",
                (!expected).to_string(),
            ));
        }
    }
    let train = options.field("trainOptions")?;
    let english_train = english.field("englishTrain")?;
    let integers = [
        (&lexicon, "smoothInUnknownsThreshold", 100),
        (&train, "openClassTypesThreshold", 50),
        (&unknown, "unknownLevel", 2),
        (&english_train, "splitBaseNP", 1),
        (&english_train, "splitPoss", 1),
    ];
    for (node, name, expected) in integers {
        let found = node.integer(name)?;
        if found != expected {
            return Err(ModelError::content(name, "the option of the English grammar", found.to_string()));
        }
    }
    let smoothing = lexicon.field("smooth")?.doubles()?;
    if smoothing != [1.0, 0.2] {
        return Err(ModelError::content("smooth", "1.0 and 0.2", format!("{smoothing:?}")));
    }
    Ok(())
}

fn index(node: &Node<'_>) -> Result<Vec<String>, ModelError> {
    let entries = node.field("objects")?.list()?;
    entries.iter().map(|entry| Ok(entry.text()?.to_owned())).collect()
}

fn number(node: &Node<'_>, field: &'static str) -> Result<u32, ModelError> {
    let number = node.integer(field)?;
    u32::try_from(number).map_err(|_| ModelError::content(field, "a state's number", number.to_string()))
}

fn binary_rules(list: &Node<'_>) -> Result<Vec<BinaryRule>, ModelError> {
    let rule = |node: &Node<'_>| {
        Ok(BinaryRule {
            parent: number(node, "parent")?,
            left: number(node, "leftChild")?,
            right: number(node, "rightChild")?,
            score: node.float("score")?,
        })
    };
    list.list()?.iter().map(rule).collect()
}

fn unary_rules(map: &Node<'_>) -> Result<Vec<UnaryRule>, ModelError> {
    let rule = |(node, _): &(Node<'_>, Node<'_>)| {
        let (parent, child) = (number(node, "parent")?, number(node, "child")?);
        Ok(UnaryRule { parent, child, score: node.float("score")? })
    };
    map.map()?.iter().map(rule).collect()
}

/// Sorts rules in the iteration order of a Java `HashSet` built from a deserialized `HashMap`.
///
/// The iteration order of the first table is the insertion order of the second, which has the same size.
fn sort_as_in_java(rules: Vec<UnaryRule>) -> Vec<UnaryRule> {
    let capacity = (rules.len() as f32 / 0.75) as usize + 1;
    let buckets = capacity.max(16).next_power_of_two();
    let hash = |rule: &UnaryRule| (rule.parent << 16) ^ rule.child;
    hash_table::order(hash_table::order(rules, buckets, hash), buckets, hash)
}

fn counts(counter: &Node<'_>) -> Result<Vec<Count>, ModelError> {
    let part = |node: &Node<'_>, field: &'static str| match node.integer(field)? {
        -1 => Ok(None),
        _ => number(node, field).map(Some),
    };
    let count = |(key, value): &(Node<'_>, Node<'_>)| {
        Ok(Count { word: part(key, "word")?, tag: part(key, "tag")?, count: value.double("d")? })
    };
    counter.field("map")?.map()?.iter().map(count).collect()
}
