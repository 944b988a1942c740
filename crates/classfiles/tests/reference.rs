//! Compares the extracted rules with the reference program.
//!
//! Run it with `cargo test -p capeval-classfiles -- --ignored`. Paths come from the environment:
//!
//! - `CAPEVAL_SPICE_JARS`: a folder with `stanford-corenlp-3.6.0.jar`, `SceneGraphParser-1.0.jar` and
//!   `spice-1.0.jar`, directly or in its folder `lib`.
//! - `CAPEVAL_SPICE_RULES`: relations, head rules, tree operations, word lists and spellings as JSON, printed
//!   by Java reflection.
//! - `CAPEVAL_SPICE_GOLDENS`: files separated by `:`, with one dumped caption per line, optionally gzipped
//!   (`.gz`).
//! - `CAPEVAL_SPICE_LEMMAS`: a file with one `[word, tag, lemma]` per line.
//! - `CAPEVAL_SPICE_REWRITTEN`: files separated by `:`. Each line has a bracketed tree, the tree after the
//!   reference's rewriting, and the token numbers of its leaves, separated by tabs.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use capeval_classfiles::{Jars, Reference};
use capeval_dependencies::{LabelTests, Labels, Rewriter, RewritingRule, RewritingScratch, Tree};
use capeval_lemmas::{Lemmatizer, Sections};
use capeval_spice::Rules;
use capeval_tables::{Kind, TableFile};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

const KIND: Kind = Kind { name: "TEST", version: 1 };

type Outcome = Result<(), Box<dyn Error>>;

fn variable(name: &str) -> Result<String, Box<dyn Error>> {
    Ok(std::env::var(name).map_err(|_| format!("{name} must be set, as this file's first lines say"))?)
}

fn jar(folder: &Path, name: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let path = [folder.join(name), folder.join("lib").join(name)].into_iter().find(|path| path.exists());
    let path = path.ok_or_else(|| format!("{name} is not in {}", folder.display()))?;
    Ok(std::fs::read(path)?)
}

fn reference() -> Result<Reference, Box<dyn Error>> {
    let folder = PathBuf::from(variable("CAPEVAL_SPICE_JARS")?);
    let jars = Jars {
        corenlp: jar(&folder, "stanford-corenlp-3.6.0.jar")?,
        scene_graph_parser: jar(&folder, "SceneGraphParser-1.0.jar")?,
        spice: jar(&folder, "spice-1.0.jar")?,
    };
    Ok(Reference::read(jars)?)
}

fn lines(path: &str) -> Result<impl Iterator<Item = Result<Value, Box<dyn Error>>>, Box<dyn Error>> {
    let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
    let reader: Box<dyn Read> =
        if path.ends_with(".gz") { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
    Ok(BufReader::new(reader).lines().map(|line| Ok(serde_json::from_str(&line?)?)))
}

fn sorted(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut texts: Vec<String> = texts.map(str::to_owned).collect();
    texts.sort();
    texts
}

/// Returns a relation's names and other fields as Java reflection prints them.
fn expected_relation(relation: &Value) -> Value {
    let short = relation["short"].as_str().unwrap_or_default();
    let name =
        relation["specific"].as_str().map_or(short.to_owned(), |specific| format!("{short}:{specific}"));
    json!({
        "name": name,
        "parent": relation["parent"],
        "source": relation["source"],
        "patterns": relation["patterns"],
    })
}

#[test]
#[ignore = "needs the reference's jars and its dumps"]
fn rules_equal_java_reflection() -> Outcome {
    let reference = reference()?;
    let expected: Value = serde_json::from_reader(File::open(variable("CAPEVAL_SPICE_RULES")?)?)?;
    let found: Value = serde_json::from_slice(&reference.rules.to_bytes()?)?;
    let relations = expected["relations"].as_array().into_iter().flatten().map(expected_relation);
    assert_eq!(found["dependencies"]["relations"], relations.collect::<Value>());
    let (heads, found_heads) = (&expected["heads"], &found["dependencies"]["heads"]);
    let table =
        heads["rules"].as_object().into_iter().flatten().map(|(category, lists)| json!([category, lists]));
    assert_eq!(found_heads["table"], table.collect::<Value>());
    for (name, java) in [
        ("copular_questions", "headOfCopulaTregex"),
        ("conjunction_phrases", "headOfConjpTregex"),
        ("temporal_verb_phrase", "noVerbOverTempTregex"),
    ] {
        assert_eq!(found_heads[name], heads[java], "{name}");
    }
    for (name, java) in [
        ("auxiliaries", "verbalAuxiliaries"),
        ("copulas", "copulars"),
        ("passive_auxiliaries", "passiveAuxiliaries"),
        ("verb_tags", "verbalTags"),
        ("auxiliary_tags", "unambiguousAuxiliaryTags"),
    ] {
        assert_eq!(sorted(&found_heads[name]), sorted(&heads[java]), "{name}");
    }
    let verbs = &expected["english_patterns"]["NP_V_S_INF_VERBS_REGEX"];
    assert_eq!(found["dependencies"]["verbs_without_object"], *verbs);
    compare_lists(&found["lists"], &expected["lists"]);
    compare_rewriting(&reference.rules, &expected["rewriting"]);
    let expected_spellings: BTreeMap<String, String> = serde_json::from_value(expected["spellings"].clone())?;
    assert_eq!(reference.spellings.len(), expected_spellings.len());
    assert_eq!(reference.spellings.into_iter().collect::<BTreeMap<_, _>>(), expected_spellings);
    Ok(())
}

fn compare_lists(found: &Value, expected: &Value) {
    let names: Vec<&String> = found.as_object().into_iter().flat_map(|lists| lists.keys()).collect();
    assert_eq!(names.len(), 10);
    for name in names {
        assert_eq!(sorted(&found[name]), sorted(&expected[name]), "{name}");
    }
}

fn compare_rewriting(rules: &Rules, classes: &Value) {
    let fields: Vec<&Value> = classes.as_object().into_iter().flat_map(|classes| classes.values()).collect();
    let values: Vec<Vec<String>> = fields
        .iter()
        .flat_map(|class| class.as_object().into_iter().flat_map(|class| class.values()))
        .map(|value| match value {
            Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            other => other.as_str().map(str::to_owned).into_iter().collect(),
        })
        .collect();
    for step in &rules.dependencies.rewriting {
        match step {
            RewritingRule::Coordination => {}
            RewritingRule::Date { pattern } => assert!(values.contains(&vec![pattern.clone()]), "{pattern}"),
            // The reference does not keep the text of operations. Rewritten trees cover them.
            RewritingRule::Operations { patterns, .. } => assert!(values.contains(patterns), "{patterns:?}"),
        }
    }
}

#[test]
fn changed_jars_are_rejected() {
    let jars = Jars { corenlp: b"PK".to_vec(), scene_graph_parser: Vec::new(), spice: Vec::new() };
    let message = Reference::read(jars).unwrap_err().to_string();
    assert!(message.starts_with("stanford-corenlp-3.6.0.jar must have the SHA-256 d341d586"), "{message}");
}

#[derive(Default)]
struct Comparison {
    equal: usize,
    different: BTreeMap<String, (String, String)>,
}

impl Comparison {
    fn add(&mut self, lemmatizer: &Lemmatizer, word: &Value, tag: &Value, expected: &Value) -> Outcome {
        let (word, tag) =
            (word.as_str().ok_or("a word is no text")?, tag.as_str().ok_or("a tag is no text")?);
        let found = lemmatizer.lemma(word, tag);
        let expected = expected.as_str().unwrap_or_default();
        if found == expected {
            self.equal += 1;
        } else {
            self.different.insert(format!("{word}_{tag}"), (found, expected.to_owned()));
        }
        Ok(())
    }

    fn check(&self, what: &str) {
        println!("{what}: {} lemmas equal, {} forms differ", self.equal, self.different.len());
        let some: Vec<_> = self.different.iter().take(40).collect();
        assert!(some.is_empty(), "word: (found, expected): {some:#?}");
        assert!(self.equal > 0, "{what} holds no lemmas");
    }
}

#[test]
#[ignore = "needs the reference's jars and its dumps"]
fn lemmas_equal_the_reference() -> Outcome {
    let reference = reference()?;
    let sections = Sections::new(&reference.lemmas)?;
    let file = TableFile::open(capeval_tables::write(KIND, &sections.contents()), KIND)?;
    let lemmatizer = Lemmatizer::open(&file)?;
    for path in variable("CAPEVAL_SPICE_GOLDENS")?.split(':').filter(|path| !path.is_empty()) {
        let mut comparison = Comparison::default();
        for line in lines(path)? {
            for sentence in line?["s"].as_array().into_iter().flatten() {
                let column = |name: &str| sentence[name].as_array().into_iter().flatten();
                for ((word, tag), lemma) in column("t").zip(column("p")).zip(column("l")) {
                    comparison.add(&lemmatizer, word, tag, lemma)?;
                }
            }
        }
        comparison.check(path);
    }
    let path = variable("CAPEVAL_SPICE_LEMMAS")?;
    let mut comparison = Comparison::default();
    for line in lines(&path)? {
        let line = line?;
        comparison.add(&lemmatizer, &line[0], &line[1], &line[2])?;
    }
    comparison.check(&path);
    Ok(())
}

fn rewriter(rules: &Rules) -> Result<(Rewriter, Labels), Box<dyn Error>> {
    let mut tests = LabelTests::default();
    let rewriter = Rewriter::new(&rules.dependencies.rewriting, &mut tests)?;
    Ok((rewriter, Labels::new(Arc::new(tests))))
}

#[test]
#[ignore = "needs the reference's jars and its dumps"]
fn rewritten_trees_equal_the_reference() -> Outcome {
    let paths = variable("CAPEVAL_SPICE_REWRITTEN")?;
    let (rewriter, mut labels) = rewriter(&reference()?.rules)?;
    let mut scratch = RewritingScratch::default();
    for path in paths.split(':').filter(|path| !path.is_empty()) {
        let (mut equal, mut changed, mut different) = (0, 0, Vec::new());
        let mut seconds = 0.0;
        for line in BufReader::new(File::open(path)?).lines() {
            let line = line?;
            let columns: Vec<&str> = line.split('\t').collect();
            let [before, after, tokens] = columns.as_slice() else {
                return Err(format!("{path}: three columns are expected in {line:?}").into());
            };
            let mut tree = Tree::read(before, &mut labels)?;
            let begun = std::time::Instant::now();
            let outcome = rewriter.rewrite(&mut tree, &mut labels, &mut scratch);
            seconds += begun.elapsed().as_secs_f64();
            let leaves = tree.preorder().filter(|&node| tree.is_leaf(node));
            // A childless node created by a step is not a token: 0 here, -1 in the reference.
            let number = |leaf| if tree.token(leaf) == 0 { -1 } else { i64::from(tree.token(leaf)) };
            let numbers: Vec<String> = leaves.map(|leaf| number(leaf).to_string()).collect();
            let found = (tree.to_text(&labels), numbers.join(","));
            changed += usize::from(before != after);
            if outcome.is_ok() && found == (after.to_string(), tokens.to_string()) {
                equal += 1;
            } else {
                different.push(format!("{before}\n expected {after}\n found    {} {outcome:?}", found.0));
            }
        }
        let each = seconds * 1e6 / f64::from(equal.max(1));
        println!(
            "{path}: {equal} trees equal ({changed} of all are changed), {} differ; {each:.1} µs a tree",
            different.len()
        );
        different.truncate(12);
        assert!(different.is_empty(), "{}", different.join("\n"));
        assert!(equal > 0, "{path} holds no trees");
    }
    Ok(())
}
