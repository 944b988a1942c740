//! The head child of each node of a tree.
//!
//! Heads come from a table of categories, with these exceptions: the head of an auxiliary or copula is its
//! complement, the head of a coordination is its first member, and a few patterns have their own heads.

use rustc_hash::FxHashMap;

use crate::error::{ConversionError, RulesError};
use crate::label_tests::{LabelTests, TestId};
use crate::labels::{Label, Labels};
use crate::pattern::{Matcher, Name, Pattern, Scratch};
use crate::rules::HeadRules;
use crate::tree::{NodeId, Tree};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// Category by category, each from the left.
    Left,
    /// From the left, the first child with any of the categories.
    LeftAny,
    /// From the left, the first child with none of the categories.
    LeftExcept,
    Right,
    RightAny,
    RightExcept,
}

impl Direction {
    fn starts_left(self) -> bool {
        matches!(self, Direction::Left | Direction::LeftAny | Direction::LeftExcept)
    }
}

#[derive(Debug)]
struct Search {
    direction: Direction,
    categories: Vec<Label>,
}

/// The head of each node of a tree.
#[derive(Debug, Default)]
pub struct Heads {
    /// Head child of each node, or [`NodeId::NONE`] for leaves.
    pub(crate) child: Vec<NodeId>,
    /// Head child of each node as seen by tree patterns, which ignore the node's parent.
    ///
    /// An existential "there" next to a verb phrase has no effect on it.
    pub(crate) child_without_parent: Vec<NodeId>,
    /// Leaf at the end of each node's path of heads.
    pub(crate) word: Vec<NodeId>,
}

impl Heads {
    /// Returns the head child of a node, or `None` for leaves.
    pub fn child(&self, node: NodeId) -> Option<NodeId> {
        self.child[node.index()].get()
    }

    /// Returns the head child of each node as seen by tree patterns.
    pub fn for_patterns(&self) -> &[NodeId] {
        &self.child_without_parent
    }

    /// Returns the head word of a node.
    pub fn word(&self, node: NodeId) -> NodeId {
        self.word[node.index()]
    }
}

/// Label tests of the head rules, registered before labels are interned.
#[derive(Debug)]
pub(crate) struct HeadTests {
    auxiliary: TestId,
    copula: TestId,
    passive: TestId,
    verb_tag: TestId,
    auxiliary_tag: TestId,
    punctuation_tag: TestId,
    temporal_function: TestId,
    participle: TestId,
    verb_phrase: TestId,
    noun_phrase: TestId,
    verb: TestId,
    wh: TestId,
    question: TestId,
    conjunction_phrases: Vec<(Pattern, Name)>,
    copular_questions: Vec<(Pattern, Name)>,
    temporal_verb_phrase: Pattern,
}

impl HeadTests {
    pub(crate) fn new(rules: &HeadRules, tests: &mut LabelTests) -> Result<Self, RulesError> {
        let mut described =
            |description: &str| tests.described(description, false).map_err(RulesError::Expression);
        let (temporal_function, participle) = (described("/-TMP|-ADV/")?, described("VBN|VBG|VBD")?);
        let (verb_phrase, noun_phrase) = (described("/^VP/")?, described("/^NP/")?);
        let (verb, wh, question) = (described("/^VB/")?, described("/^WH/")?, described("/^SQ/")?);
        let list = |words: &[String]| words.join("|");
        let punctuation_tag =
            tests.whole(&escaped(&rules.punctuation_tags)).map_err(RulesError::Expression)?;
        let verb_tag = tests.whole(&list(&rules.verb_tags)).map_err(RulesError::Expression)?;
        let auxiliary_tag = tests.whole(&list(&rules.auxiliary_tags)).map_err(RulesError::Expression)?;
        Ok(HeadTests {
            auxiliary: tests.lower_cased("auxiliaries", &rules.auxiliaries),
            copula: tests.lower_cased("copulas", &rules.copulas),
            passive: tests.lower_cased("passive auxiliaries", &rules.passive_auxiliaries),
            verb_tag,
            auxiliary_tag,
            punctuation_tag,
            temporal_function,
            participle,
            verb_phrase,
            noun_phrase,
            verb,
            wh,
            question,
            conjunction_phrases: with_heads("CONJP", &rules.conjunction_phrases, tests)?,
            copular_questions: with_heads("SBARQ", &rules.copular_questions, tests)?,
            temporal_verb_phrase: Pattern::compile(&rules.temporal_verb_phrase, tests)?,
        })
    }
}

fn escaped(words: &[String]) -> String {
    words.iter().map(|word| regex::escape(word)).collect::<Vec<_>>().join("|")
}

fn with_heads(
    place: &str,
    patterns: &[String],
    tests: &mut LabelTests,
) -> Result<Vec<(Pattern, Name)>, RulesError> {
    let compile = |text: &String| {
        let pattern = Pattern::compile(text, tests)?;
        let head = pattern.name("head").ok_or_else(|| {
            RulesError::Expression(format!("a head pattern for {place} has no node named \"head\": {text:?}"))
        })?;
        Ok((pattern, head))
    };
    patterns.iter().map(compile).collect()
}

/// Finds the heads of trees.
#[derive(Debug)]
pub struct HeadFinder {
    tests: HeadTests,
    table: FxHashMap<Label, Vec<Search>>,
    default_left: Search,
    default_right: Search,
    label: Named,
}

/// Labels used in special cases.
#[derive(Debug)]
struct Named {
    vp: Label,
    sq: Label,
    sinv: Label,
    sbarq: Label,
    conjp: Label,
    cc: Label,
    uh: Label,
    intj: Label,
    comma: Label,
    colon: Label,
    ex: Label,
    after_auxiliary: [Label; 2],
    after_copula: [Label; 7],
}

impl Named {
    fn new(labels: &mut Labels) -> Self {
        let mut label = |text| labels.intern(text);
        Named {
            vp: label("VP"),
            sq: label("SQ"),
            sinv: label("SINV"),
            sbarq: label("SBARQ"),
            conjp: label("CONJP"),
            cc: label("CC"),
            uh: label("UH"),
            intj: label("INTJ"),
            comma: label(","),
            colon: label(":"),
            ex: label("EX"),
            after_auxiliary: ["VP", "ADJP"].map(&mut label),
            after_copula: ["VP", "ADJP", "NP", "UCP", "PP", "WHADJP", "WHNP"].map(&mut label),
        }
    }
}

impl HeadFinder {
    pub(crate) fn new(rules: &HeadRules, tests: HeadTests, labels: &mut Labels) -> Result<Self, RulesError> {
        let mut table = FxHashMap::default();
        for (category, lists) in &rules.table {
            let searches: Result<_, _> = lists.iter().map(|list| search(category, list, labels)).collect();
            table.insert(labels.intern(category), searches?);
        }
        Ok(HeadFinder {
            tests,
            table,
            default_left: no_punctuation(Direction::LeftExcept, rules, labels),
            default_right: no_punctuation(Direction::RightExcept, rules, labels),
            label: Named::new(labels),
        })
    }

    /// Finds the heads of all nodes of a tree.
    pub fn find(&self, tree: &Tree, labels: &Labels, heads: &mut Heads) -> Result<(), ConversionError> {
        let nodes = tree.size();
        for list in [&mut heads.child, &mut heads.child_without_parent, &mut heads.word] {
            list.clear();
            list.resize(nodes, NodeId::NONE);
        }
        let mut finding =
            Finding { finder: self, tree, labels, kids: Vec::new(), scratch: Scratch::default() };
        let order: Vec<NodeId> = tree.preorder().collect();
        for &node in order.iter().rev() {
            if tree.is_leaf(node) {
                heads.word[node.index()] = node;
                continue;
            }
            let child = finding.head(node, tree.parent(node))?;
            heads.child[node.index()] = child;
            heads.child_without_parent[node.index()] =
                if finding.parent_matters(node) { finding.head(node, None)? } else { child };
            heads.word[node.index()] = heads.word[child.index()];
        }
        Ok(())
    }
}

fn search(category: &str, list: &[String], labels: &mut Labels) -> Result<Search, RulesError> {
    let first = list.first().map_or("", String::as_str);
    let direction = match first {
        "left" => Direction::Left,
        "leftdis" => Direction::LeftAny,
        "leftexcept" => Direction::LeftExcept,
        "right" => Direction::Right,
        "rightdis" => Direction::RightAny,
        "rightexcept" => Direction::RightExcept,
        _ => return Err(RulesError::Direction { category: category.to_owned(), found: first.to_owned() }),
    };
    Ok(Search { direction, categories: list[1..].iter().map(|text| labels.intern(text)).collect() })
}

fn no_punctuation(direction: Direction, rules: &HeadRules, labels: &mut Labels) -> Search {
    Search { direction, categories: rules.punctuation_tags.iter().map(|tag| labels.intern(tag)).collect() }
}

/// The end from which children are searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Left,
    Right,
}

struct Finding<'a> {
    finder: &'a HeadFinder,
    tree: &'a Tree,
    labels: &'a Labels,
    kids: Vec<NodeId>,
    scratch: Scratch,
}

impl Finding<'_> {
    fn head(&mut self, node: NodeId, parent: Option<NodeId>) -> Result<NodeId, ConversionError> {
        if let Some(only) = self.tree.only_child(node) {
            return Ok(only);
        }
        self.kids.clear();
        self.kids.extend(self.tree.children(node));
        if let Some(head) = self.by_pattern(node).or_else(|| self.complement_of_auxiliary(node, parent)) {
            return Ok(head);
        }
        self.by_table(node)
    }

    /// Returns whether the head may depend on the node's parent.
    fn parent_matters(&self, node: NodeId) -> bool {
        let category = self.category(node);
        category == self.finder.label.vp || category == self.finder.label.sq
    }

    fn category(&self, node: NodeId) -> Label {
        self.labels.category(self.tree.label(node))
    }

    fn passes(&self, node: NodeId, test: TestId) -> bool {
        self.labels.passes(self.tree.label(node), test)
    }

    fn by_pattern(&mut self, node: NodeId) -> Option<NodeId> {
        let named = &self.finder.label;
        let category = self.category(node);
        let patterns = if category == named.conjp {
            &self.finder.tests.conjunction_phrases
        } else if category == named.sbarq || category == named.sinv {
            &self.finder.tests.copular_questions
        } else {
            return None;
        };
        let matcher = Matcher::new(self.tree, self.labels, &[]).below(node);
        let mut head = None;
        for (pattern, name) in patterns {
            let found = matcher.each(pattern, node, &mut self.scratch, &mut |found| {
                head = found.node(*name);
                true
            });
            if found {
                return head;
            }
        }
        None
    }

    /// Returns the complement of an auxiliary or of a copula.
    fn complement_of_auxiliary(&mut self, node: NodeId, parent: Option<NodeId>) -> Option<NodeId> {
        let named = &self.finder.label;
        let tests = &self.finder.tests;
        let category = self.category(node);
        if category != named.vp && category != named.sq && category != named.sinv {
            return None;
        }
        if self.any_auxiliary(tests.auxiliary, true) || self.passive_or_progressive() {
            let wanted = if self.any_auxiliary(tests.copula, true) { 2 } else { 1 };
            let kids = self.kids_with_content();
            let found = self.by_category(&kids, &named.after_auxiliary[..wanted], End::Left);
            if let Some(at) = found {
                return Some(kids[self.first_member(&kids, at)]);
            }
        }
        let copular = self.any_auxiliary(tests.copula, false);
        if !copular || self.existential(node, parent) || self.wh_question(node, parent) {
            return None;
        }
        let kids = self.kids_with_content();
        let end = if category == named.sq { End::Right } else { End::Left };
        let at = self.by_category(&kids, &named.after_copula, end)?;
        let head = kids[self.first_member(&kids, at)];
        // In a question, a noun phrase is the predicate only if the subject, another noun phrase, precedes
        // it.
        let subject_before = || {
            self.kids.iter().take_while(|&&kid| kid != head).any(|&kid| self.passes(kid, tests.noun_phrase))
        };
        let refused = category == named.sq && self.passes(head, tests.noun_phrase) && !subject_before();
        (!refused).then_some(head)
    }

    /// Returns whether any child is one of the listed verbs. If `by_tag`, an auxiliary tag is sufficient.
    fn any_auxiliary(&self, verbs: TestId, by_tag: bool) -> bool {
        self.kids.iter().any(|&kid| self.is_auxiliary(kid, verbs, by_tag))
    }

    fn is_auxiliary(&self, node: NodeId, verbs: TestId, by_tag: bool) -> bool {
        let tests = &self.finder.tests;
        let Some(word) = self.tree.only_child(node).filter(|&child| self.tree.is_leaf(child)) else {
            return false;
        };
        by_tag && self.passes(node, tests.auxiliary_tag)
            || self.passes(node, tests.verb_tag) && self.passes(word, verbs)
    }

    /// Returns whether there are a form of "be" or "get" and a verb phrase with a participle.
    fn passive_or_progressive(&self) -> bool {
        let tests = &self.finder.tests;
        let (mut auxiliary, mut participle) = (false, false);
        for &kid in &self.kids {
            if self.is_auxiliary(kid, tests.passive, false) {
                auxiliary = true;
            } else if self.tree.is_phrase(kid) && self.passes(kid, tests.verb_phrase) {
                participle |= self.has_participle(kid);
            }
            if auxiliary && participle {
                return true;
            }
        }
        false
    }

    /// Returns whether a phrase has a participle child, or a conjunction after a child phrase with a
    /// participle.
    fn has_participle(&self, phrase: NodeId) -> bool {
        let tests = &self.finder.tests;
        let below_vp = self.tree.label(phrase) == self.finder.label.vp;
        let mut phrase_before = false;
        for child in self.tree.children(phrase) {
            if self.tree.is_preterminal(child) {
                let conjunction = phrase_before && self.tree.label(child) == self.finder.label.cc;
                if self.passes(child, tests.participle) || conjunction {
                    return true;
                }
            } else if below_vp && self.tree.is_phrase(child) {
                phrase_before = self
                    .tree
                    .children(child)
                    .any(|tag| self.tree.is_preterminal(tag) && self.passes(tag, tests.participle));
            }
        }
        false
    }

    /// Returns the children except adverbial and temporal phrases.
    fn kids_with_content(&mut self) -> Vec<NodeId> {
        let tests = &self.finder.tests;
        let matcher = Matcher::new(self.tree, self.labels, &[]);
        let temporal = |node, scratch: &mut Scratch| {
            self.labels.passes(self.tree.label(node), tests.temporal_function)
                || self.labels.passes(self.tree.label(node), tests.verb_phrase)
                    && matcher.below(node).matches(&tests.temporal_verb_phrase, node, scratch)
        };
        let scratch = &mut self.scratch;
        self.kids.iter().copied().filter(|&kid| !temporal(kid, scratch)).collect()
    }

    /// Returns whether there is an existential "there" before a verb phrase, or anywhere in a question.
    fn existential(&self, node: NodeId, parent: Option<NodeId>) -> bool {
        let Some(parent) = parent else { return false };
        let (tree, named) = (self.tree, &self.finder.label);
        let has_there = |kid: NodeId| {
            tree.subtree(kid).any(|below| tree.label(below) == named.ex && tree.is_preterminal(below))
        };
        if self.category(node) == named.vp {
            tree.children(parent).take_while(|&kid| tree.label(kid) != named.vp).any(has_there)
        } else if self.labels.passes(self.category(node), self.finder.tests.question) {
            tree.children(parent).filter(|&kid| !self.passes(kid, self.finder.tests.verb)).any(has_there)
        } else {
            false
        }
    }

    fn wh_question(&self, node: NodeId, parent: Option<NodeId>) -> bool {
        let tests = &self.finder.tests;
        self.passes(node, tests.question)
            && parent.is_some_and(|parent| {
                self.tree.label(parent) == self.finder.label.sbarq
                    && self.tree.children(parent).any(|kid| self.passes(kid, tests.wh))
            })
    }

    fn by_table(&self, node: NodeId) -> Result<NodeId, ConversionError> {
        let category = self.category(node);
        let Some(searches) = self.finder.table.get(&category).filter(|searches| !searches.is_empty()) else {
            return Err(ConversionError::NoHeadRule { category: self.labels.text(category).to_owned() });
        };
        let kids = &self.kids;
        let found = searches.iter().find_map(|search| self.search(kids, search));
        let from_left = searches[searches.len() - 1].direction.starts_left();
        let default = if from_left { &self.finder.default_left } else { &self.finder.default_right };
        Ok(match found.or_else(|| self.search(kids, default)) {
            Some(at) => kids[self.first_member(kids, at)],
            None if from_left => kids[0],
            None => kids[kids.len() - 1],
        })
    }

    fn search(&self, kids: &[NodeId], search: &Search) -> Option<usize> {
        let categories = &search.categories;
        let listed = |&at: &usize| categories.contains(&self.category(kids[at]));
        match search.direction {
            Direction::Left => self.by_category(kids, categories, End::Left),
            Direction::Right => self.by_category(kids, categories, End::Right),
            Direction::LeftAny => (0..kids.len()).find(listed),
            Direction::RightAny => (0..kids.len()).rev().find(listed),
            Direction::LeftExcept => (0..kids.len()).find(|at| !listed(at)),
            Direction::RightExcept => (0..kids.len()).rev().find(|at| !listed(at)),
        }
    }

    fn by_category(&self, kids: &[NodeId], categories: &[Label], end: End) -> Option<usize> {
        categories.iter().find_map(|&category| {
            let is = |&kid: &NodeId| self.category(kid) == category;
            if end == End::Left { kids.iter().position(is) } else { kids.iter().rposition(is) }
        })
    }

    /// Returns the first member of a coordination if the head directly follows a conjunction, and otherwise
    /// the head.
    fn first_member(&self, kids: &[NodeId], head: usize) -> usize {
        let named = &self.finder.label;
        if head < 2 || ![named.cc, named.conjp].contains(&self.category(kids[head - 1])) {
            return head;
        }
        let interjections = self.category(kids[head]) == named.uh;
        let left = (0..head - 1)
            .rev()
            .find(|&at| !self.is_filler(kids[at], self.tree.label(kids[at]), interjections));
        let Some(mut member) = left else { return head };
        while member >= 2 {
            let Some(previous) = self.member_before(kids, member, interjections) else { break };
            member = previous;
        }
        member
    }

    /// Returns the previous member of a list, if it is separated by punctuation that includes a comma or
    /// colon.
    fn member_before(&self, kids: &[NodeId], member: usize, interjections: bool) -> Option<usize> {
        let named = &self.finder.label;
        let mut separated = false;
        for at in (0..member).rev() {
            let category = self.category(kids[at]);
            if category == named.comma || category == named.colon {
                separated = true;
            } else if !self.is_filler(kids[at], category, interjections) {
                return separated.then_some(at);
            }
        }
        None
    }

    /// Returns whether a node is punctuation, or an interjection (unless interjections are coordinated).
    fn is_filler(&self, node: NodeId, label: Label, interjections: bool) -> bool {
        let named = &self.finder.label;
        let tag = self.labels.passes(label, self.finder.tests.punctuation_tag)
            || !interjections && label == named.uh;
        tag && self.tree.is_preterminal(node) || label == named.intj && !interjections
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn small_rules() -> HeadRules {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let table = [
            ("ROOT", "left S SBARQ"),
            ("S", "left VP NP"),
            ("SQ", "left VP SQ VBZ"),
            ("SBARQ", "left SQ"),
            ("SBAR", "left S"),
            ("NP", "rightdis NN NNS;left NP;right DT"),
            ("VP", "left VBD VBZ VBN VBG VP"),
            ("PP", "right IN"),
            ("ADJP", "leftdis JJ NN"),
            ("X", "leftexcept JJ"),
            ("CONJP", "left CC"),
        ];
        HeadRules {
            table: table
                .map(|(category, lists)| (category.to_owned(), lists.split(';').map(words).collect()))
                .to_vec(),
            punctuation_tags: words(", : . -LRB-"),
            auxiliaries: words("has will"),
            copulas: words("is was"),
            passive_auxiliaries: words("is was got"),
            verb_tags: words("VBZ VBD MD"),
            auxiliary_tags: words("MD"),
            conjunction_phrases: vec!["CONJP < (CC $+ RB=head)".to_owned()],
            copular_questions: vec!["SBARQ < (WHNP $++ ADJP=head)".to_owned()],
            temporal_verb_phrase: "/^VP/ < NP-TMP !< /^V/".to_owned(),
        }
    }

    /// Returns the head child of the topmost node of a category, and the same as seen by patterns.
    fn heads(tree: &str, category: &str) -> [String; 2] {
        let mut tests = LabelTests::default();
        let rules = small_rules();
        let head_tests = HeadTests::new(&rules, &mut tests).unwrap();
        let mut labels = Labels::new(std::sync::Arc::new(tests));
        let finder = HeadFinder::new(&rules, head_tests, &mut labels).unwrap();
        let tree = Tree::read(tree, &mut labels).unwrap();
        let mut heads = Heads::default();
        finder.find(&tree, &labels, &mut heads).unwrap();
        let category = labels.intern(category);
        let node = tree.preorder().find(|&node| tree.label(node) == category).unwrap();
        [&heads.child, &heads.child_without_parent]
            .map(|children| tree.child_text(children[node.index()], &labels))
    }

    impl Tree {
        fn child_text(&self, node: NodeId, labels: &Labels) -> String {
            let mut text = labels.text(self.label(node)).to_owned();
            for leaf in self.subtree(node).filter(|&node| self.is_leaf(node)) {
                text.push(' ');
                text.push_str(labels.text(self.label(leaf)));
            }
            text
        }
    }

    fn head(tree: &str, category: &str) -> String {
        let [head, _] = heads(tree, category);
        head
    }

    #[test]
    fn lists_are_searched_in_their_direction() {
        assert_eq!(head("(NP (NN a) (NNS b) (DT c))", "NP"), "NNS b");
        assert_eq!(head("(NP (DT a) (DT b))", "NP"), "DT b");
        assert_eq!(head("(NP (DT a) (NP (NN b)) (DT c))", "NP"), "NP b");
        assert_eq!(head("(ADJP (NN a) (JJ b))", "ADJP"), "NN a");
        assert_eq!(head("(X (JJ a) (NN b) (NN c))", "X"), "NN b");
        assert_eq!(head("(NP-TMP (JJ a) (NN b))", "NP-TMP"), "NN b");
    }

    #[test]
    fn punctuation_is_a_head_only_without_other_children() {
        assert_eq!(head("(PP (FW a) (JJ b) (. .))", "PP"), "JJ b");
        assert_eq!(head("(VP (, ,) (JJ b) (. .))", "VP"), "JJ b");
        assert_eq!(head("(PP (, ,) (. .))", "PP"), ". .");
    }

    #[test]
    fn the_first_member_of_a_coordination_is_the_head() {
        assert_eq!(head("(NP (NN a) (CC and) (NN b))", "NP"), "NN a");
        assert_eq!(head("(NP (NN a) (, ,) (NN b) (, ,) (CC and) (NN c))", "NP"), "NN a");
        assert_eq!(head("(NP (NN a) (NN b) (, ,) (CC and) (NN c))", "NP"), "NN b");
        assert_eq!(head("(NP (UH oh) (CC and) (NN b))", "NP"), "NN b");
        assert_eq!(head("(NP (CC and) (NN b))", "NP"), "NN b");
    }

    #[test]
    fn the_complement_of_an_auxiliary_is_the_head() {
        assert_eq!(head("(VP (VBZ has) (VP (VBN run)))", "VP"), "VP run");
        assert_eq!(head("(VP (VBD got) (VP (VBN hit)))", "VP"), "VP hit");
        assert_eq!(head("(VP (VBD got) (NP (NN wet)))", "VP"), "VBD got");
        assert_eq!(head("(VP (VBZ Is) (NP (NN wet)))", "VP"), "NP wet");
        assert_eq!(head("(VP (VBZ is) (NP-TMP (NN now)))", "VP"), "VBZ is");
        assert_eq!(head("(SQ (VBZ is) (NP (NN it)))", "SQ"), "VBZ is");
        assert_eq!(head("(SQ (NP (NN it)) (VBZ is) (NP (NN x)))", "SQ"), "NP x");
    }

    #[test]
    fn existential_there_keeps_a_copula_the_head_except_for_patterns() {
        let tree = "(S (NP (EX there)) (VP (VBZ is) (NP (NN x))))";
        assert_eq!(heads(tree, "VP"), ["VBZ is", "NP x"]);
    }

    #[test]
    fn patterns_decide_for_conjunctions_and_questions() {
        assert_eq!(head("(CONJP (CC but) (RB also))", "CONJP"), "RB also");
        assert_eq!(head("(CONJP (CC but) (FW also))", "CONJP"), "CC but");
        assert_eq!(head("(SBARQ (WHNP what) (VBZ is) (ADJP (JJ wrong)))", "SBARQ"), "ADJP wrong");
    }

    #[test]
    fn a_category_without_rule_is_an_error() {
        let mut tests = LabelTests::default();
        let head_tests = HeadTests::new(&small_rules(), &mut tests).unwrap();
        let mut labels = Labels::new(std::sync::Arc::new(tests));
        let finder = HeadFinder::new(&small_rules(), head_tests, &mut labels).unwrap();
        let tree = Tree::read("(S (ZZ (A a) (B b)))", &mut labels).unwrap();
        let error = finder.find(&tree, &labels, &mut Heads::default()).unwrap_err();
        assert!(error.to_string().contains("ZZ"));
    }
}
