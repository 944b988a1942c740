//! Grammatical relations and the nodes they hold for.

use rustc_hash::FxHashSet;

use crate::error::RulesError;
use crate::label_tests::{LabelTests, TestId};
use crate::labels::{Label, Labels};
use crate::pattern::{Matcher, Name, Pattern, Scratch};
use crate::rules::RelationRule;
use crate::tree::{NodeId, Tree};

/// A grammatical relation of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Relation(u8);

/// Relations that the conversion itself uses, by their names in the rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Special {
    pub root: Relation,
    pub dep: Relation,
    pub nsubj: Relation,
    pub nsubjpass: Relation,
    pub csubj: Relation,
    pub csubjpass: Relation,
    pub auxpass: Relation,
    pub xcomp: Relation,
    pub dobj: Relation,
    pub iobj: Relation,
    pub rel: Relation,
    pub prep: Relation,
    pub nmod: Relation,
    pub case: Relation,
}

#[derive(Debug)]
struct TargetPattern {
    relation: Relation,
    source: TestId,
    pattern: Pattern,
    target: Name,
    needed: Vec<u64>,
    needed_children: Vec<u64>,
}

/// All relations with their patterns.
#[derive(Debug)]
pub struct Relations {
    names: Vec<String>,
    parents: Vec<Option<Relation>>,
    by_name: Vec<u8>,
    patterns: Vec<TargetPattern>,
    pub(crate) special: Special,
}

impl Relations {
    pub(crate) fn new(rules: &[RelationRule], tests: &mut LabelTests) -> Result<Self, RulesError> {
        let mut names: Vec<String> = rules.iter().map(|rule| rule.name.clone()).collect();
        // The relation of the sentence's head is not in the rules.
        if !names.iter().any(|name| name == "root") {
            names.push("root".to_owned());
        }
        if names.len() > 250 || names.iter().collect::<FxHashSet<_>>().len() < names.len() {
            return Err(RulesError::Relations { expected: "at most 250 different names".to_owned() });
        }
        let special = special(&names)?;
        let mut parents = vec![None; names.len()];
        let mut patterns = Vec::new();
        for (at, rule) in rules.iter().enumerate() {
            if let Some(parent) = &rule.parent {
                let known = names.iter().position(|name| name == parent);
                let unknown =
                    || RulesError::UnknownParent { relation: rule.name.clone(), parent: parent.clone() };
                parents[at] = Some(Relation(known.ok_or_else(unknown)? as u8));
            }
            compile(rule, Relation(at as u8), tests, &mut patterns)?;
        }
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| names[a].cmp(&names[b]));
        let mut by_name = vec![0; names.len()];
        order.into_iter().enumerate().for_each(|(place, at)| by_name[at] = place as u8);
        Ok(Relations { names, parents, by_name, patterns, special })
    }

    /// Builds the bit sets of the tests that each pattern needs, once all label tests are registered.
    pub(crate) fn index(&mut self, tests: &LabelTests) {
        let row = |needed: &[TestId]| {
            let mut row = vec![0; tests.words()];
            needed.iter().for_each(|test| row[test.word()] |= test.bit());
            row
        };
        for pattern in &mut self.patterns {
            pattern.needed = row(pattern.pattern.needed_tests());
            pattern.needed_children = row(pattern.pattern.needed_child_tests());
        }
    }

    /// Returns the name of a relation.
    pub fn name(&self, relation: Relation) -> &str {
        &self.names[usize::from(relation.0)]
    }

    /// Returns the relation with a name.
    pub fn by_name(&self, name: &str) -> Option<Relation> {
        self.names.iter().position(|known| known == name).map(|at| Relation(at as u8))
    }

    /// Returns the position of a relation in alphabetical order.
    pub(crate) fn place(&self, relation: Relation) -> u8 {
        self.by_name[usize::from(relation.0)]
    }

    /// Returns whether a relation is the same as another or more general.
    pub(crate) fn is_above(&self, above: Relation, relation: Relation) -> bool {
        std::iter::successors(Some(relation), |r| self.parents[usize::from(r.0)]).any(|r| r == above)
    }

    /// Returns the most specific of the relations between two words.
    ///
    /// The relations are visited in alphabetical order. The result moves down the hierarchy where possible,
    /// and relations on other branches are ignored.
    pub(crate) fn most_specific(&self, relations: &mut [Relation]) -> Relation {
        relations.sort_by_key(|&relation| self.place(relation));
        relations.iter().fold(self.special.dep, |result, &relation| {
            if self.is_above(result, relation) { relation } else { result }
        })
    }
}

fn special(names: &[String]) -> Result<Special, RulesError> {
    let find = |name: &str| {
        let at = names.iter().position(|known| known == name);
        at.map(|at| Relation(at as u8))
            .ok_or_else(|| RulesError::Relations { expected: format!("a relation named {name:?}") })
    };
    Ok(Special {
        root: find("root")?,
        dep: find("dep")?,
        nsubj: find("nsubj")?,
        nsubjpass: find("nsubjpass")?,
        csubj: find("csubj")?,
        csubjpass: find("csubjpass")?,
        auxpass: find("auxpass")?,
        xcomp: find("xcomp")?,
        dobj: find("dobj")?,
        iobj: find("iobj")?,
        rel: find("rel")?,
        prep: find("prep")?,
        nmod: find("nmod")?,
        case: find("case")?,
    })
}

fn compile(
    rule: &RelationRule,
    relation: Relation,
    tests: &mut LabelTests,
    patterns: &mut Vec<TargetPattern>,
) -> Result<(), RulesError> {
    let Some(source) = &rule.source else { return Ok(()) };
    let source = tests.whole(source).map_err(RulesError::Expression)?;
    for text in &rule.patterns {
        let pattern = Pattern::compile(text, tests)?;
        let no_target = || RulesError::NoTarget { relation: rule.name.clone(), pattern: text.clone() };
        let target = pattern.name("target").ok_or_else(no_target)?;
        let (needed, needed_children) = (Vec::new(), Vec::new());
        patterns.push(TargetPattern { relation, source, pattern, target, needed, needed_children });
    }
    Ok(())
}

/// The patterns that can start at each label, filled as labels occur.
#[derive(Debug, Default)]
struct Applicable {
    by_label: Vec<Option<Box<[u16]>>>,
}

impl Applicable {
    fn at(&mut self, label: Label, labels: &Labels, patterns: &[TargetPattern]) -> &[u16] {
        if self.by_label.len() <= label.index() {
            self.by_label.resize(label.index() + 1, None);
        }
        self.by_label[label.index()].get_or_insert_with(|| {
            let fits = |pattern: &TargetPattern| {
                labels.passes(label, pattern.source)
                    && pattern.pattern.start_test().is_none_or(|test| labels.passes(label, test))
            };
            (0..patterns.len() as u16).filter(|&at| fits(&patterns[usize::from(at)])).collect()
        })
    }
}

/// Reusable working memory for finding relations.
#[derive(Debug, Default)]
pub(crate) struct RelationScratch {
    applicable: Applicable,
    scratch: Scratch,
    in_tree: Vec<u64>,
    in_children: Vec<u64>,
    possible: Vec<bool>,
    targets: Vec<NodeId>,
}

impl RelationScratch {
    /// Resets the cache. Must be called when labels are removed.
    pub fn forget(&mut self) {
        self.applicable = Applicable::default();
    }
}

impl Relations {
    /// Calls `found` with each phrase, relation and target, in the order in which the rules find them.
    pub(crate) fn each(
        &self,
        tree: &Tree,
        labels: &Labels,
        heads: &[NodeId],
        room: &mut RelationScratch,
        mut found: impl FnMut(NodeId, Relation, NodeId),
    ) {
        let matcher = Matcher::new(tree, labels, heads);
        collect(&mut room.in_tree, tree.preorder(), tree, labels);
        room.possible.clear();
        room.possible.extend(self.patterns.iter().map(|pattern| contains(&room.in_tree, &pattern.needed)));
        for node in tree.preorder().filter(|&node| tree.is_phrase(node)) {
            collect(&mut room.in_children, tree.children(node), tree, labels);
            let mut relation = None;
            for &at in room.applicable.at(tree.label(node), labels, &self.patterns) {
                let pattern = &self.patterns[usize::from(at)];
                if !room.possible[usize::from(at)] || !contains(&room.in_children, &pattern.needed_children) {
                    continue;
                }
                if relation != Some(pattern.relation) {
                    relation = Some(pattern.relation);
                    room.targets.clear();
                }
                let targets = &mut room.targets;
                matcher.each(&pattern.pattern, node, &mut room.scratch, &mut |matched| {
                    if let Some(target) = matched.node(pattern.target).filter(|node| !targets.contains(node))
                    {
                        targets.push(target);
                        found(node, pattern.relation, target);
                    }
                    false
                });
            }
        }
    }
}

/// Collects the tests that any of the nodes pass.
fn collect(row: &mut Vec<u64>, nodes: impl Iterator<Item = NodeId>, tree: &Tree, labels: &Labels) {
    row.clear();
    row.resize(labels.tests().words(), 0);
    for node in nodes {
        row.iter_mut().zip(labels.row(tree.label(node))).for_each(|(all, one)| *all |= one);
    }
}

fn contains(row: &[u64], needed: &[u64]) -> bool {
    row.iter().zip(needed).all(|(row, needed)| row & needed == *needed)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The required relations, some with patterns of a small artificial grammar.
    pub(crate) fn small_rules() -> Vec<RelationRule> {
        let rule = |name: &str, parent: Option<&str>, source: Option<&str>, patterns: &[&str]| RelationRule {
            name: name.to_owned(),
            parent: parent.map(str::to_owned),
            source: source.map(str::to_owned),
            patterns: patterns.iter().map(|&p| p.to_owned()).collect(),
        };
        vec![
            rule("dep", None, None, &[]),
            rule("auxpass", Some("dep"), Some("VP"), &["VP < (/^VB/=target < was) < (VP < VBN)"]),
            rule("punct", Some("dep"), Some(".*"), &["__ < /^[.,]$/=target"]),
            rule("nsubj", Some("dep"), Some("S|SQ"), &["S|SQ < (NP=target $++ VP)"]),
            rule("nsubjpass", Some("nsubj"), None, &[]),
            rule("csubj", Some("dep"), None, &[]),
            rule("csubjpass", Some("csubj"), None, &[]),
            rule("xcomp", Some("dep"), Some("VP"), &["VP < (S=target < VP)"]),
            rule("dobj", Some("dep"), Some("VP|SQ"), &["VP < NP=target", "SQ < WHNP=target"]),
            rule("iobj", Some("dep"), None, &[]),
            rule("rel", Some("dep"), Some("SBAR"), &["SBAR < (WHNP=target $+ S)"]),
            rule("prep", Some("dep"), Some("VP"), &["VP < (PP=target <: IN)"]),
            rule("nmod", Some("dep"), Some("NP|VP"), &["__ < (PP=target < NP)"]),
            rule("nmod:tmod", Some("nmod"), Some("VP"), &["VP < (PP=target < (NP < (NN < night)))"]),
            rule("case", Some("dep"), Some("PP"), &["PP < IN=target"]),
            rule("det", Some("dep"), Some("NP"), &["NP < DT=target"]),
            rule("acl", Some("dep"), Some("NP"), &["NP < NP < (SBAR=target)"]),
        ]
    }

    #[test]
    fn the_most_specific_relation_wins_on_its_branch() {
        let mut tests = LabelTests::default();
        let relations = Relations::new(&small_rules(), &mut tests).unwrap();
        let [nmod, tmod, case] = ["nmod", "nmod:tmod", "case"].map(|name| relations.by_name(name).unwrap());
        assert_eq!(relations.most_specific(&mut [tmod, nmod]), tmod);
        assert_eq!(relations.most_specific(&mut [nmod, case]), case);
        assert_eq!(relations.name(relations.most_specific(&mut [])), "dep");
    }

    #[test]
    fn inconsistent_rules_are_errors() {
        let refused = |change: fn(&mut Vec<RelationRule>)| {
            let mut rules = small_rules();
            change(&mut rules);
            Relations::new(&rules, &mut LabelTests::default()).unwrap_err().to_string()
        };
        assert!(refused(|rules| rules[2].patterns.push("NP < DT".to_owned())).contains("target"));
        assert!(refused(|rules| rules[2].parent = Some("none".to_owned())).contains("none"));
        assert!(refused(|rules| rules[3].name = "sbj".to_owned()).contains("nsubj"));
        assert!(refused(|rules| rules[3].patterns[0].push('(')).contains("expected"));
    }
}
