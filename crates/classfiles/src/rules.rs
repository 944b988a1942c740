//! The rules and word lists of SPICE's reference, as plain data.

use std::collections::BTreeMap;

use capeval_lemmas::Tables;
use serde::{Deserialize, Serialize};

use crate::evaluate::Evaluator;
use crate::value::{Content, Value};
use crate::{Error, Jar, morphology};

const CORENLP_SHA256: &str = "d341d5863276f55782c5ef73212222d6b3b48e02ae1951ab6de7618d28b12742";
const SCENE_GRAPH_SHA256: &str = "83a1b7c3f896dd135f9539ba41d65b155827dfc312893bfd5bb835c9f9ae310a";
const SPICE_SHA256: &str = "6c6a73ae6dd108667047c1818707590413934dcb9f1a62cef6469059b41b3d59";

const RELATIONS: &str = "edu/stanford/nlp/trees/UniversalEnglishGrammaticalRelations";
const RELATION: &str = "edu/stanford/nlp/trees/GrammaticalRelation";
const WORD_PATTERNS: &str = "edu/stanford/nlp/trees/EnglishPatterns";
const HEAD_FINDER: &str = "edu/stanford/nlp/trees/UniversalSemanticHeadFinder";
const LANGUAGE: &str = "edu/stanford/nlp/trees/PennTreebankLanguagePack";
const STRUCTURE: &str = "edu/stanford/nlp/trees/UniversalEnglishGrammaticalStructure";
const TREE_CLEANER: &str = "edu/stanford/nlp/trees/DependencyTreeTransformer";
const COORDINATION: &str = "edu/stanford/nlp/trees/CoordinationTransformer";
const QUANTITIES: &str = "edu/stanford/nlp/trees/QPTreeTransformer";
const DATES: &str = "edu/stanford/nlp/trees/DateTreeTransformer";
const AMERICANIZE: &str = "edu/stanford/nlp/process/Americanize";
const PRONOUNS: &str = "edu/stanford/nlp/dcoref/Dictionaries";
const QUANTIFIERS: &str = "edu/stanford/nlp/scenegraph/SemanticGraphEnhancer";
const TUPLE_PATTERNS: &str = "edu/anu/spice/SpiceParser";
const TUPLE_FILTER: &str = "edu/anu/spice/TupleFilter";
/// Their static code is run when another class needs it.
const OPENED: [&str; 5] = [RELATIONS, RELATION, WORD_PATTERNS, HEAD_FINDER, LANGUAGE];

/// The reference's three jars, as bytes.
#[derive(Debug)]
pub struct Jars {
    /// `stanford-corenlp-3.6.0.jar`
    pub corenlp: Vec<u8>,
    /// `SceneGraphParser-1.0.jar`
    pub scene_graph_parser: Vec<u8>,
    /// `spice-1.0.jar`
    pub spice: Vec<u8>,
}

/// A grammatical relation with the tree patterns that find it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// The name before the colon.
    pub short: String,
    /// The name after the colon.
    pub specific: Option<String>,
    /// The whole name of the more general relation.
    pub parent: Option<String>,
    /// A regular expression for the labels of nodes whose parts are looked at.
    pub source: Option<String>,
    /// Tree patterns, in order.
    pub patterns: Vec<String>,
}

/// What decides a constituent's head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadRules {
    /// For each category its rules: a direction, then labels.
    pub rules: BTreeMap<String, Vec<Vec<String>>>,
    /// The rule of categories without one that is searched from the left.
    pub default_left: Vec<String>,
    /// The rule of categories without one that is searched from the right.
    pub default_right: Vec<String>,
    /// Tags of punctuation.
    pub punctuation_tags: Vec<String>,
    /// Words that are auxiliaries of another verb.
    pub verbal_auxiliaries: Vec<String>,
    /// Words that can be copulas.
    pub copulas: Vec<String>,
    /// Words that can be auxiliaries of a passive.
    pub passive_auxiliaries: Vec<String>,
    /// Tags of verbs.
    pub verbal_tags: Vec<String>,
    /// Tags of words that are always auxiliaries.
    pub auxiliary_tags: Vec<String>,
    /// Tree patterns with the head of a copular phrase.
    pub copula_patterns: Vec<String>,
    /// Tree patterns with the head of a conjunction of several words.
    pub conjunction_patterns: Vec<String>,
    /// A tree pattern of verb phrases that only hold a time.
    pub time_pattern: String,
}

/// One step of the rewriting of trees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rewriting {
    /// Tree patterns and the operations on what they match.
    Operations {
        /// Tree patterns, in order.
        patterns: Vec<String>,
        /// Operations on the nodes that the patterns name.
        operations: String,
    },
    /// A tree pattern whose node `root` keeps only the tags that are named.
    Date {
        /// The tree pattern.
        pattern: String,
    },
    /// Coordinations in noun phrases are grouped; the reference has no pattern for this.
    Coordination,
}

/// A regular expression with what its matches become.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// The regular expression.
    pub expression: String,
    /// Words that are let alone, as a regular expression.
    pub exceptions: Option<String>,
    /// What a match is replaced with.
    pub replacement: String,
}

/// All rules and lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The grammatical relations, in the order in which they are tried.
    pub relations: Vec<Relation>,
    /// Heads of constituents.
    pub heads: HeadRules,
    /// Word lists as tree patterns, by name.
    pub word_patterns: BTreeMap<String, String>,
    /// The steps of tree rewriting, in order.
    pub rewriting: Vec<Rewriting>,
    /// Prepositions of several words joined with underscores, by list.
    pub prepositions: BTreeMap<String, Vec<String>>,
    /// Patterns over dependency graphs, by class and name.
    pub graph_patterns: BTreeMap<String, String>,
    /// British and American spellings.
    pub spellings: Vec<(String, String)>,
    /// Names of days and months without and with a capital.
    pub times: Vec<(String, String)>,
    /// Spelling rules for words in neither list, in order.
    pub spelling_patterns: Vec<Pattern>,
    /// Pronouns that stand for one person or thing.
    pub singular_pronouns: Vec<String>,
    /// Words that make a tuple one of colour, size or number, by list.
    pub tuple_words: BTreeMap<String, Vec<String>>,
    /// The lexer that makes lemmas.
    pub morphology: Tables,
}

impl Rules {
    /// Reads everything from the reference's jars.
    ///
    /// # Errors
    /// When a jar is not the pinned one or holds something unexpected.
    pub fn read(jars: Jars) -> Result<Self, Error> {
        let jars = vec![
            Jar::open_pinned(jars.corenlp, "stanford-corenlp-3.6.0.jar", CORENLP_SHA256)?,
            Jar::open_pinned(jars.scene_graph_parser, "SceneGraphParser-1.0.jar", SCENE_GRAPH_SHA256)?,
            Jar::open_pinned(jars.spice, "spice-1.0.jar", SPICE_SHA256)?,
        ];
        let mut evaluator = Evaluator::new(jars, &OPENED);
        let evaluator = &mut evaluator;
        Ok(Self {
            relations: relations(evaluator)?,
            heads: heads(evaluator)?,
            word_patterns: word_patterns(evaluator)?,
            rewriting: rewriting(evaluator)?,
            prepositions: text_lists(evaluator, STRUCTURE, &PREPOSITIONS)?,
            graph_patterns: graph_patterns(evaluator)?,
            spellings: pairs(evaluator, "mapping")?,
            times: pairs(evaluator, "timexMapping")?,
            spelling_patterns: spelling_patterns(evaluator)?,
            singular_pronouns: singular_pronouns(evaluator)?,
            tuple_words: text_lists(
                evaluator,
                TUPLE_FILTER,
                &["smallNumbers", "commonColors", "sizeAdjectives"],
            )?,
            morphology: morphology::read(evaluator)?,
        })
    }
}

const PREPOSITIONS: [&str; 3] = ["TWO_WORD_PREPS_REGULAR", "TWO_WORD_PREPS_COMPLEX", "THREE_WORD_PREPS"];

fn text_lists(
    evaluator: &mut Evaluator,
    class: &str,
    fields: &[&str],
) -> Result<BTreeMap<String, Vec<String>>, Error> {
    fields
        .iter()
        .map(|&field| Ok((field.to_owned(), evaluator.static_field(class, field)?.texts(field)?)))
        .collect()
}

fn relations(evaluator: &mut Evaluator) -> Result<Vec<Relation>, Error> {
    let values = evaluator.static_field(RELATIONS, "values")?;
    values.items("the relations")?.iter().map(relation).collect()
}

/// A relation from its constructor's arguments: language, name, long name, parent, then either
/// nothing, the specific name, or source pattern, compiler, patterns and perhaps the specific name.
fn relation(value: &Value) -> Result<Relation, Error> {
    let arguments = value.made("a relation")?;
    let [_, short, _, parent, rest @ ..] = arguments.as_slice() else {
        return Err(value.shape("a relation", "at least four arguments"));
    };
    let optional = |value: &Value| match value {
        Value::Null => Ok(None),
        other => other.to_text("a relation").map(Some),
    };
    let (source, patterns, specific) = match rest {
        [] => (None, Vec::new(), None),
        [specific] => (None, Vec::new(), optional(specific)?),
        [source, _, patterns] => (optional(source)?, patterns.texts("a relation's patterns")?, None),
        [source, _, patterns, specific] => {
            (optional(source)?, patterns.texts("a relation's patterns")?, optional(specific)?)
        }
        _ => return Err(value.shape("a relation", "at most eight arguments")),
    };
    let parent = match parent {
        Value::Null => None,
        other => {
            let parent = relation(other)?;
            Some(match parent.specific {
                Some(specific) => format!("{}:{specific}", parent.short),
                None => parent.short,
            })
        }
    };
    Ok(Relation { short: short.to_text("a relation's name")?, specific, parent, source, patterns })
}

fn heads(evaluator: &mut Evaluator) -> Result<HeadRules, Error> {
    let descriptor = "(Ledu/stanford/nlp/trees/TreebankLanguagePack;Z)V";
    let language = evaluator.construct(LANGUAGE, "()V", &[])?;
    let finder = evaluator.construct(HEAD_FINDER, descriptor, &[language, Value::Int(1)])?;
    let mut rules = BTreeMap::new();
    for (category, lists) in Evaluator::field(&finder, "nonTerminalInfo")?.entries("the head rules")? {
        let lists = lists.items("head rules")?;
        let lists = lists.iter().map(|list| list.texts("a head rule")).collect::<Result<_, _>>()?;
        rules.insert(category.to_text("a category")?, lists);
    }
    let texts = |field: &str| Evaluator::field(&finder, field)?.texts(field);
    let sorted = |field: &str| {
        texts(field).map(|mut texts| {
            texts.sort();
            texts
        })
    };
    Ok(HeadRules {
        rules,
        default_left: texts("defaultLeftRule")?,
        default_right: texts("defaultRightRule")?,
        punctuation_tags: evaluator.static_field(LANGUAGE, "pennPunctTags")?.texts("pennPunctTags")?,
        verbal_auxiliaries: sorted("verbalAuxiliaries")?,
        copulas: sorted("copulars")?,
        passive_auxiliaries: sorted("passiveAuxiliaries")?,
        verbal_tags: sorted("verbalTags")?,
        auxiliary_tags: sorted("unambiguousAuxiliaryTags")?,
        copula_patterns: patterns(evaluator, HEAD_FINDER, "headOfCopulaTregex")?,
        conjunction_patterns: patterns(evaluator, HEAD_FINDER, "headOfConjpTregex")?,
        time_pattern: compiled(evaluator, HEAD_FINDER, "noVerbOverTempTregex")?,
    })
}

fn compiled(evaluator: &mut Evaluator, class: &str, field: &str) -> Result<String, Error> {
    evaluator.static_field(class, field)?.compiled_text(field)
}

/// The texts of one compiled pattern or of an array of them.
fn patterns(evaluator: &mut Evaluator, class: &str, field: &str) -> Result<Vec<String>, Error> {
    let value = evaluator.static_field(class, field)?;
    match &value {
        Value::Call(_) => Ok(vec![value.compiled_text(field)?]),
        _ => value.items(field)?.iter().map(|item| item.compiled_text(field)).collect(),
    }
}

const WORD_PATTERN_FIELDS: [&str; 14] = [
    "timeWordRegex",
    "timeWordLotRegex",
    "copularWordRegex",
    "clausalComplementRegex",
    "passiveAuxWordRegex",
    "beAuxiliaryRegex",
    "haveRegex",
    "selfRegex",
    "xcompVerbRegex",
    "xcompNoObjVerbRegex",
    "ccompVerbRegex",
    "ccompObjVerbRegex",
    "RELATIVIZING_WORD_REGEX",
    "NP_V_S_INF_VERBS_REGEX",
];

fn word_patterns(evaluator: &mut Evaluator) -> Result<BTreeMap<String, String>, Error> {
    WORD_PATTERN_FIELDS
        .iter()
        .map(|&field| Ok((field.to_owned(), evaluator.static_field(WORD_PATTERNS, field)?.to_text(field)?)))
        .collect()
}

/// Where a step of the rewriting is found.
enum RewritingFields {
    /// Class, field with the patterns, field with the operations.
    Operations(&'static str, &'static str, &'static str),
    /// Class, field with the pattern.
    Date(&'static str, &'static str),
    Coordination,
}

use RewritingFields as Fields;

/// The steps in their order.
const REWRITINGS: [RewritingFields; 20] = [
    Fields::Operations(TREE_CLEANER, "matchPattern", "operation"),
    Fields::Operations(COORDINATION, "MWE_PATTERNS", "MWE_OPERATION"),
    Fields::Operations(COORDINATION, "ACCORDING_TO_PATTERN", "ACCORDING_TO_OPERATION"),
    Fields::Operations(COORDINATION, "BUT_ALSO_PATTERN", "BUT_ALSO_OPERATION"),
    Fields::Operations(COORDINATION, "AT_RBS_PATTERN", "AT_RBS_OPERATION"),
    Fields::Operations(COORDINATION, "AT_ALL_PATTERN", "AT_ALL_OPERATION"),
    Fields::Operations(COORDINATION, "FLAT_PREP_CC_PATTERN", "FLAT_PREP_CC_OPERATION"),
    Fields::Operations(COORDINATION, "ucpRenameTregex", "ucpRenameTsurgeon"),
    Fields::Coordination,
    Fields::Operations(QUANTITIES, "flattenNPoverQPTregex", "flattenNPoverQPTsurgeon"),
    Fields::Operations(QUANTITIES, "splitCCTregex", "splitCCTsurgeon"),
    Fields::Operations(QUANTITIES, "splitMoneyTregex", "splitMoneyTsurgeon"),
    Fields::Operations(COORDINATION, "flattenSQTregex", "flattenSQTsurgeon"),
    Fields::Date(DATES, "tregexMonthYear"),
    Fields::Date(DATES, "tregexMonthDayYear"),
    Fields::Operations(COORDINATION, "removeXOverXTregex", "removeXOverXTsurgeon"),
    Fields::Operations(COORDINATION, "findFlatConjpTregex", "addConjpTsurgeon"),
    Fields::Operations(COORDINATION, "moveRBTregex", "moveRBTsurgeon"),
    Fields::Operations(COORDINATION, "changeSbarToPPTregex", "changeSbarToPPTsurgeon"),
    Fields::Operations(COORDINATION, "rearrangeNowThatTregex", "rearrangeNowThatTsurgeon"),
];

fn rewriting(evaluator: &mut Evaluator) -> Result<Vec<Rewriting>, Error> {
    REWRITINGS
        .iter()
        .map(|step| {
            Ok(match *step {
                Fields::Coordination => Rewriting::Coordination,
                Fields::Date(class, field) => Rewriting::Date { pattern: compiled(evaluator, class, field)? },
                Fields::Operations(class, pattern_field, operation_field) => Rewriting::Operations {
                    patterns: patterns(evaluator, class, pattern_field)?,
                    operations: compiled(evaluator, class, operation_field)?,
                },
            })
        })
        .collect()
}

/// Every field that holds one graph pattern.
fn graph_patterns(evaluator: &mut Evaluator) -> Result<BTreeMap<String, String>, Error> {
    let mut found = BTreeMap::new();
    for class in [STRUCTURE, QUANTIFIERS, TUPLE_PATTERNS] {
        let short = class.rsplit('/').next().unwrap_or(class);
        for (field, value) in evaluator.static_fields(class)? {
            if let Value::Call(call) = &value
                && call.class == "edu/stanford/nlp/semgraph/semgrex/SemgrexPattern"
            {
                found.insert(format!("{short}.{field}"), value.compiled_text(&field)?);
            }
        }
    }
    Ok(found)
}

fn pairs(evaluator: &mut Evaluator, field: &str) -> Result<Vec<(String, String)>, Error> {
    let entries = evaluator.static_field(AMERICANIZE, field)?.entries(field)?;
    entries.iter().map(|(from, to)| Ok((from.to_text(field)?, to.to_text(field)?))).collect()
}

fn spelling_patterns(evaluator: &mut Evaluator) -> Result<Vec<Pattern>, Error> {
    let expressions = patterns(evaluator, AMERICANIZE, "pats")?;
    let exceptions = evaluator.static_field(AMERICANIZE, "excepts")?.items("excepts")?;
    let replacements = evaluator.static_field(AMERICANIZE, "reps")?.texts("reps")?;
    let all = expressions.into_iter().zip(exceptions).zip(replacements);
    all.map(|((expression, exceptions), replacement)| {
        let exceptions = match &exceptions {
            Value::Null => None,
            other => Some(other.compiled_text("excepts")?),
        };
        Ok(Pattern { expression, exceptions, replacement })
    })
    .collect()
}

/// The constructor goes on to read large files; the list is set before.
fn singular_pronouns(evaluator: &mut Evaluator) -> Result<Vec<String>, Error> {
    let object = Value::object(PRONOUNS, Content::Fields(Vec::new()));
    evaluator.run_constructors(&object, &["singularPronouns"])?;
    let mut pronouns = Evaluator::field(&object, "singularPronouns")?.texts("singularPronouns")?;
    pronouns.sort();
    Ok(pronouns)
}
