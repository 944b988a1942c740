//! Locations of the rules and word lists in the reference implementation's classes.

use capeval_dependencies::{HeadRules, RelationRule, RewritingRule};
use capeval_lemmas::Tables;
use capeval_spice::{Rules, WordLists};

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
const TUPLE_FILTER: &str = "edu/anu/spice/TupleFilter";
/// Classes with static initializers that run when another class needs them.
const OPENED: [&str; 5] = [RELATIONS, RELATION, WORD_PATTERNS, HEAD_FINDER, LANGUAGE];

/// The three jars of the reference implementation, as bytes.
#[derive(Debug)]
pub struct Jars {
    /// `stanford-corenlp-3.6.0.jar`
    pub corenlp: Vec<u8>,
    /// `SceneGraphParser-1.0.jar`
    pub scene_graph_parser: Vec<u8>,
    /// `spice-1.0.jar`
    pub spice: Vec<u8>,
}

/// The rules and tables that SPICE takes from the reference implementation's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Relations, head rules, tree rewriting and word lists.
    pub rules: Rules,
    /// Lexer tables of the lemmatizer.
    pub lemmas: Tables,
    /// Pairs of a British spelling and the American one in the parser's lexicon.
    pub spellings: Vec<(String, String)>,
    /// Words in -our that are not British spellings.
    pub our_words: Vec<String>,
}

impl Reference {
    /// Reads all rules and tables from the reference implementation's jars.
    ///
    /// # Errors
    /// Returns an error if a jar is not the pinned one, or has unexpected content.
    pub fn read(jars: Jars) -> Result<Self, Error> {
        let jars = vec![
            Jar::open_pinned(jars.corenlp, "stanford-corenlp-3.6.0.jar", CORENLP_SHA256)?,
            Jar::open_pinned(jars.scene_graph_parser, "SceneGraphParser-1.0.jar", SCENE_GRAPH_SHA256)?,
            Jar::open_pinned(jars.spice, "spice-1.0.jar", SPICE_SHA256)?,
        ];
        let mut evaluator = Evaluator::new(jars, &OPENED);
        let evaluator = &mut evaluator;
        let mut spellings = pairs(evaluator, "timexMapping")?;
        spellings.extend(pairs(evaluator, "mapping")?);
        let dependencies = capeval_dependencies::Rules {
            rewriting: rewriting(evaluator)?,
            relations: relations(evaluator)?,
            heads: heads(evaluator)?,
            verbs_without_object: text(evaluator, WORD_PATTERNS, "NP_V_S_INF_VERBS_REGEX")?,
        };
        let rules = Rules { dependencies, lists: lists(evaluator)? };
        Ok(Self { rules, lemmas: morphology::read(evaluator)?, spellings, our_words: our_words(evaluator)? })
    }
}

fn text(evaluator: &mut Evaluator, class: &str, field: &str) -> Result<String, Error> {
    evaluator.static_field(class, field)?.to_text(field)
}

fn texts(evaluator: &mut Evaluator, class: &str, field: &str) -> Result<Vec<String>, Error> {
    evaluator.static_field(class, field)?.texts(field)
}

fn compiled(evaluator: &mut Evaluator, class: &str, field: &str) -> Result<String, Error> {
    evaluator.static_field(class, field)?.compiled_text(field)
}

/// Returns the texts of one compiled pattern or of an array of them.
fn patterns(evaluator: &mut Evaluator, class: &str, field: &str) -> Result<Vec<String>, Error> {
    let value = evaluator.static_field(class, field)?;
    match &value {
        Value::Call(_) => Ok(vec![value.compiled_text(field)?]),
        _ => value.items(field)?.iter().map(|item| item.compiled_text(field)).collect(),
    }
}

fn relations(evaluator: &mut Evaluator) -> Result<Vec<RelationRule>, Error> {
    let values = evaluator.static_field(RELATIONS, "values")?;
    values.items("the relations")?.iter().map(relation).collect()
}

/// Builds a relation from its constructor's arguments: language, name, long name and parent, followed by
/// nothing, by the specific name, or by source pattern, compiler, patterns and an optional specific name.
fn relation(value: &Value) -> Result<RelationRule, Error> {
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
    let short = short.to_text("a relation's name")?;
    let name = specific.map_or(short.clone(), |specific| format!("{short}:{specific}"));
    let parent = match parent {
        Value::Null => None,
        other => Some(relation(other)?.name),
    };
    Ok(RelationRule { name, parent, source, patterns })
}

fn heads(evaluator: &mut Evaluator) -> Result<HeadRules, Error> {
    let descriptor = "(Ledu/stanford/nlp/trees/TreebankLanguagePack;Z)V";
    let language = evaluator.construct(LANGUAGE, "()V", &[])?;
    // The argument 1 means that copulas are not heads.
    let finder = evaluator.construct(HEAD_FINDER, descriptor, &[language, Value::Int(1)])?;
    let mut table = Vec::new();
    for (category, lists) in Evaluator::field(&finder, "nonTerminalInfo")?.entries("the head rules")? {
        let lists = lists.items("head rules")?;
        let lists = lists.iter().map(|list| list.texts("a head rule")).collect::<Result<_, _>>()?;
        table.push((category.to_text("a category")?, lists));
    }
    table.sort();
    let texts_of = |field: &str| Evaluator::field(&finder, field)?.texts(field);
    Ok(HeadRules {
        table,
        punctuation_tags: texts(evaluator, LANGUAGE, "pennPunctTags")?,
        auxiliaries: texts_of("verbalAuxiliaries")?,
        copulas: texts_of("copulars")?,
        passive_auxiliaries: texts_of("passiveAuxiliaries")?,
        verb_tags: texts_of("verbalTags")?,
        auxiliary_tags: texts_of("unambiguousAuxiliaryTags")?,
        copular_questions: patterns(evaluator, HEAD_FINDER, "headOfCopulaTregex")?,
        conjunction_phrases: patterns(evaluator, HEAD_FINDER, "headOfConjpTregex")?,
        temporal_verb_phrase: compiled(evaluator, HEAD_FINDER, "noVerbOverTempTregex")?,
    })
}

/// Location of a rewriting step.
enum RewritingFields {
    /// Class, field of the patterns, field of the operations.
    Operations(&'static str, &'static str, &'static str),
    /// Class, field of the pattern.
    Date(&'static str, &'static str),
    Coordination,
}

use RewritingFields as Fields;

/// The rewriting steps in order.
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

fn rewriting(evaluator: &mut Evaluator) -> Result<Vec<RewritingRule>, Error> {
    REWRITINGS
        .iter()
        .map(|step| {
            Ok(match *step {
                Fields::Coordination => RewritingRule::Coordination,
                Fields::Date(class, field) => {
                    RewritingRule::Date { pattern: compiled(evaluator, class, field)? }
                }
                Fields::Operations(class, pattern_field, operation_field) => RewritingRule::Operations {
                    patterns: patterns(evaluator, class, pattern_field)?,
                    operations: compiled(evaluator, class, operation_field)?,
                },
            })
        })
        .collect()
}

fn lists(evaluator: &mut Evaluator) -> Result<WordLists, Error> {
    Ok(WordLists {
        two_word_prepositions: texts(evaluator, STRUCTURE, "TWO_WORD_PREPS_REGULAR")?,
        two_word_prepositions_headed_by_first: texts(evaluator, STRUCTURE, "TWO_WORD_PREPS_COMPLEX")?,
        three_word_prepositions: texts(evaluator, STRUCTURE, "THREE_WORD_PREPS")?,
        quantity_nouns: first_words(evaluator, "QUANT_MOD_PATTERN")?,
        plural_quantities: first_words(evaluator, "QUANT_MOD_PATTERN2")?,
        partitives: first_words(evaluator, "QUANT_MOD_PATTERN3")?,
        singular_pronouns: singular_pronouns(evaluator)?,
        colors: texts(evaluator, TUPLE_FILTER, "commonColors")?,
        sizes: texts(evaluator, TUPLE_FILTER, "sizeAdjectives")?,
        numbers: texts(evaluator, TUPLE_FILTER, "smallNumbers")?,
    })
}

/// Returns the first words of a quantifier pattern such as `{word:/(?i:lot|number)/} ...`.
fn first_words(evaluator: &mut Evaluator, field: &str) -> Result<Vec<String>, Error> {
    let value = evaluator.static_field(QUANTIFIERS, field)?;
    let pattern = value.compiled_text(field)?;
    let words = pattern.strip_prefix("{word:/(?i:").and_then(|rest| rest.split_once(")/}"));
    let (words, _) = words.ok_or_else(|| value.shape(field, "a graph pattern that begins with words"))?;
    Ok(words.split('|').map(str::to_owned).collect())
}

fn pairs(evaluator: &mut Evaluator, field: &str) -> Result<Vec<(String, String)>, Error> {
    let entries = evaluator.static_field(AMERICANIZE, field)?.entries(field)?;
    entries.iter().map(|(from, to)| Ok((from.to_text(field)?, to.to_text(field)?))).collect()
}

/// The words are regular expressions, such as `de[tv]our`.
fn our_words(evaluator: &mut Evaluator) -> Result<Vec<String>, Error> {
    let expressions = texts(evaluator, AMERICANIZE, "OUR_EXCEPTIONS")?;
    Ok(expressions.iter().flat_map(|expression| spelled_out(expression)).collect())
}

fn spelled_out(expression: &str) -> Vec<String> {
    let parts = expression.split_once('[').and_then(|(before, rest)| Some((before, rest.split_once(']')?)));
    match parts {
        Some((before, (letters, after))) => {
            letters.chars().map(|letter| format!("{before}{letter}{after}")).collect()
        }
        None => vec![expression.to_owned()],
    }
}

/// The constructor reads large files after it has set the list.
fn singular_pronouns(evaluator: &mut Evaluator) -> Result<Vec<String>, Error> {
    let object = Value::object(PRONOUNS, Content::Fields(Vec::new()));
    evaluator.run_constructors(&object, &["singularPronouns"])?;
    Evaluator::field(&object, "singularPronouns")?.texts("singularPronouns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letter_sets_are_expanded() {
        assert_eq!(spelled_out("de[tv]our"), ["detour", "devour"]);
        assert_eq!(spelled_out("contour"), ["contour"]);
    }
}
