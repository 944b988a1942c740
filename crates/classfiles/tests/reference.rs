//! Compares with the reference's own program. Paths come from the environment:
//!
//! - `CAPEVAL_SPICE_JARS`: a folder with `stanford-corenlp-3.6.0.jar`, `SceneGraphParser-1.0.jar`
//!   and `spice-1.0.jar`, in it or in its folder `lib`;
//! - `CAPEVAL_SPICE_RULES`: relations, heads, word lists and tree operations as JSON, printed by
//!   Java reflection;
//! - `CAPEVAL_SPICE_GOLDENS`: files with one dumped caption a line, separated by colons (`.gz` or not);
//! - `CAPEVAL_SPICE_LEMMAS`: a file with one `[word, tag, lemma]` a line;
//! - `CAPEVAL_SPICE_REWRITTEN`: files, separated by colons, with a bracketed tree, the tree after the
//!   reference's rewriting, and the numbers of its leaves' tokens in each line, separated by tabs.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use capeval_classfiles::{Jars, Rewriting, Rules};
use capeval_dependencies::{LabelTests, Labels, Rewriter, RewritingRule, RewritingScratch, Tree};
use capeval_lemmas::Lemmatizer;
use flate2::read::GzDecoder;
use serde_json::Value;

type Outcome = Result<(), Box<dyn Error>>;

/// The value of a variable; None, with a line on the terminal, when the comparison has nothing.
fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    if value.is_none() {
        eprintln!("NOTHING WAS COMPARED: {name} is not set");
    }
    value
}

fn jar(folder: &Path, name: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let path = [folder.join(name), folder.join("lib").join(name)].into_iter().find(|path| path.exists());
    let path = path.ok_or_else(|| format!("{name} is not in {}", folder.display()))?;
    Ok(std::fs::read(path)?)
}

fn rules() -> Result<Option<Rules>, Box<dyn Error>> {
    let Some(folder) = variable("CAPEVAL_SPICE_JARS").map(PathBuf::from) else {
        return Ok(None);
    };
    let jars = Jars {
        corenlp: jar(&folder, "stanford-corenlp-3.6.0.jar")?,
        scene_graph_parser: jar(&folder, "SceneGraphParser-1.0.jar")?,
        spice: jar(&folder, "spice-1.0.jar")?,
    };
    Ok(Some(Rules::read(jars)?))
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

#[test]
fn rules_equal_what_reflection_gives() -> Outcome {
    let (Some(rules), Some(path)) = (rules()?, variable("CAPEVAL_SPICE_RULES")) else {
        return Ok(());
    };
    let expected: Value = serde_json::from_reader(File::open(path)?)?;
    assert_eq!(serde_json::to_value(&rules.relations)?, expected["relations"]);
    assert_eq!(serde_json::to_value(&rules.prepositions)?, expected["prepositions"]);
    let (heads, found) = (&expected["heads"], serde_json::to_value(&rules.heads)?);
    for (name, java) in [
        ("rules", "rules"),
        ("default_left", "defaultLeftRule"),
        ("default_right", "defaultRightRule"),
        ("copula_patterns", "headOfCopulaTregex"),
        ("conjunction_patterns", "headOfConjpTregex"),
        ("time_pattern", "noVerbOverTempTregex"),
    ] {
        assert_eq!(found[name], heads[java], "{name}");
    }
    for (name, java) in [
        ("verbal_auxiliaries", "verbalAuxiliaries"),
        ("copulas", "copulars"),
        ("passive_auxiliaries", "passiveAuxiliaries"),
        ("verbal_tags", "verbalTags"),
        ("auxiliary_tags", "unambiguousAuxiliaryTags"),
    ] {
        assert_eq!(sorted(&found[name]), sorted(&heads[java]), "{name}");
    }
    for (name, pattern) in &rules.word_patterns {
        assert_eq!(Some(pattern.as_str()), expected["english_patterns"][name].as_str(), "{name}");
    }
    compare_rewriting(&rules, &expected["rewriting"]);
    Ok(())
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
    for step in &rules.rewriting {
        match step {
            Rewriting::Coordination => {}
            Rewriting::Date { pattern } => assert!(values.contains(&vec![pattern.clone()]), "{pattern}"),
            Rewriting::Operations { patterns, operations } => {
                assert!(values.contains(patterns), "{patterns:?}");
                assert!(values.contains(&vec![operations.clone()]), "{operations}");
            }
        }
    }
}

#[test]
fn changed_jars_are_refused() {
    let jars = Jars { corenlp: b"PK".to_vec(), scene_graph_parser: Vec::new(), spice: Vec::new() };
    let message = Rules::read(jars).unwrap_err().to_string();
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
fn lemmas_equal_the_reference() -> Outcome {
    let Some(rules) = rules()? else {
        return Ok(());
    };
    let lemmatizer = Lemmatizer::new(rules.morphology)?;
    for path in
        variable("CAPEVAL_SPICE_GOLDENS").unwrap_or_default().split(':').filter(|path| !path.is_empty())
    {
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
    if let Some(path) = variable("CAPEVAL_SPICE_LEMMAS") {
        let mut comparison = Comparison::default();
        for line in lines(&path)? {
            let line = line?;
            comparison.add(&lemmatizer, &line[0], &line[1], &line[2])?;
        }
        comparison.check(&path);
    }
    Ok(())
}

fn rewriter(rules: &Rules) -> Result<(Rewriter, Labels), Box<dyn Error>> {
    let steps = rules.rewriting.iter().map(|step| match step.clone() {
        Rewriting::Operations { patterns, operations } => RewritingRule::Operations { patterns, operations },
        Rewriting::Date { pattern } => RewritingRule::Date { pattern },
        Rewriting::Coordination => RewritingRule::Coordination,
    });
    let mut tests = LabelTests::default();
    let rewriter = Rewriter::new(&steps.collect::<Vec<_>>(), &mut tests)?;
    Ok((rewriter, Labels::new(Arc::new(tests))))
}

#[test]
fn rewritten_trees_equal_the_reference() -> Outcome {
    let (Some(rules), Some(paths)) = (rules()?, variable("CAPEVAL_SPICE_REWRITTEN")) else {
        return Ok(());
    };
    let (rewriter, mut labels) = rewriter(&rules)?;
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
            let numbers: Vec<String> = leaves.map(|leaf| tree.token(leaf).to_string()).collect();
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
