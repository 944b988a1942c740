//! Basic dependencies, with one governor per word.

use crate::error::{ConversionError, RulesError};
use crate::heads::{HeadFinder, HeadTests, Heads};
use crate::label_tests::{LabelTests, TestId};
use crate::labels::Labels;
use crate::processed::HashOrder;
use crate::relations::{Relation, RelationScratch, Relations};
use crate::rewriting::{Rewriter, RewritingScratch};
use crate::rules::Rules;
use crate::tree::{NodeId, Tree};

/// An edge between two words, given by their token numbers. The governor of the root is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The relation.
    pub relation: Relation,
    /// Token of the governor.
    pub governor: u32,
    /// Token of the dependent.
    pub dependent: u32,
}

/// Compiled rules for rewriting, heads and relations, shared by all threads.
#[derive(Debug)]
pub struct Converter {
    rewriter: Rewriter,
    relations: Relations,
    heads: HeadFinder,
    labels: Labels,
    verbs_without_object: regex::Regex,
    wh_tag: TestId,
}

/// Working memory of one thread, reused from sentence to sentence.
#[derive(Debug, Default)]
pub struct ConverterScratch {
    rewriting: RewritingScratch,
    relations: RelationScratch,
    heads: Heads,
    words: Words,
    found: Vec<(Relation, u32, u32)>,
}

impl ConverterScratch {
    /// Resets the state that depends on labels. Must be called whenever [`Labels::forget`] is.
    pub fn forget(&mut self) {
        self.relations.forget();
    }

    /// Returns the heads of the last converted sentence.
    pub fn heads(&self) -> &Heads {
        &self.heads
    }
}

impl Converter {
    /// Compiles rules.
    ///
    /// # Errors
    /// Returns an error if a tree pattern, an operation or a regular expression is invalid, or if a relation
    /// is missing.
    pub fn new(rules: &Rules) -> Result<Self, RulesError> {
        let mut tests = LabelTests::default();
        let rewriter = Rewriter::new(&rules.rewriting, &mut tests)?;
        let mut relations = Relations::new(&rules.relations, &mut tests)?;
        let head_tests = HeadTests::new(&rules.heads, &mut tests)?;
        let wh_tag = tests.described("/^W/", false).map_err(RulesError::Expression)?;
        relations.index(&tests);
        let mut labels = Labels::new(std::sync::Arc::new(tests));
        let heads = HeadFinder::new(&rules.heads, head_tests, &mut labels)?;
        labels.keep();
        let expression = rules.verbs_without_object.replace("(?i:", "(?i-u:");
        let verbs_without_object = regex::Regex::new(&format!("^(?:{expression})$"))
            .map_err(|error| RulesError::Expression(error.to_string()))?;
        Ok(Converter { rewriter, relations, heads, labels, verbs_without_object, wh_tag })
    }

    /// Returns a set of labels for the trees to convert. Each thread needs its own.
    pub fn labels(&self) -> Labels {
        self.labels.clone()
    }

    /// Returns the relations, for their names.
    pub fn relations(&self) -> &Relations {
        &self.relations
    }

    /// Rewrites a tree and returns its basic dependencies: the root first, then by dependent.
    ///
    /// `lemma` returns the lemma of a word with a tag. It is called only for some questions. `sentence` is
    /// the index of the sentence in its text: if several words could be moved, the reference implementation
    /// uses the order of a hash table, and the index is part of the hash.
    ///
    /// # Errors
    /// Returns an error if a rewriting rule is not applicable to this tree, or if a category has no head
    /// rule.
    pub fn convert(
        &self,
        tree: &mut Tree,
        labels: &mut Labels,
        sentence: u32,
        lemma: &dyn Fn(&str, &str) -> String,
        scratch: &mut ConverterScratch,
    ) -> Result<Vec<Edge>, ConversionError> {
        self.rewriter.rewrite(tree, labels, &mut scratch.rewriting)?;
        let (tree, labels) = (&*tree, &*labels);
        self.heads.find(tree, labels, &mut scratch.heads)?;
        let mut edges = self.edges(tree, labels, scratch);
        let mut correction =
            Correction { converter: self, tree, labels, words: &scratch.words, sentence, edges: &mut edges };
        correction.move_wh_words(lemma);
        correction.resolve_relatives();
        correction.mark_passive_subjects();
        let special = &self.relations.special;
        edges.sort_by_key(|e| {
            (e.relation != special.root, e.dependent, e.governor, self.relations.place(e.relation))
        });
        edges.dedup();
        Ok(edges)
    }

    fn edges(&self, tree: &Tree, labels: &Labels, scratch: &mut ConverterScratch) -> Vec<Edge> {
        let ConverterScratch { relations, heads, words, found, .. } = scratch;
        words.read(tree);
        found.clear();
        self.relations.each(tree, labels, heads.for_patterns(), relations, |node, relation, target| {
            let (governor, dependent) = (words.of(heads.word(node)), words.of(heads.word(target)));
            if governor != dependent && words.accepts(governor, dependent) {
                words.governor[dependent as usize] = Some(governor);
                found.push((relation, governor, dependent));
            }
        });
        let mut edges = self.merged(words, found);
        self.attach_stranded(tree, heads, words, &mut edges);
        let root = words.token(words.of(heads.word(tree.root())));
        edges.push(Edge { relation: self.relations.special.root, governor: 0, dependent: root });
        edges
    }

    /// Merges the relations of each pair of words into one edge.
    fn merged(&self, words: &Words, found: &mut [(Relation, u32, u32)]) -> Vec<Edge> {
        found.sort_by_key(|&(_, governor, dependent)| (dependent, governor));
        let same = |a: &(Relation, u32, u32), b: &(Relation, u32, u32)| (a.1, a.2) == (b.1, b.2);
        let mut edges = Vec::with_capacity(words.count() + 1);
        for group in found.chunk_by(same) {
            let mut relations: Vec<Relation> = group.iter().map(|found| found.0).collect();
            let relation = self.relations.most_specific(&mut relations);
            let (governor, dependent) = (words.token(group[0].1), words.token(group[0].2));
            edges.push(Edge { relation, governor, dependent });
        }
        edges
    }

    /// Attaches words without a path to the root to the head of the phrase above, with the relation `dep`.
    fn attach_stranded(&self, tree: &Tree, heads: &Heads, words: &mut Words, edges: &mut Vec<Edge>) {
        words.join_edges();
        let root = words.of(heads.word(tree.root()));
        for node in tree.preorder().filter(|&node| !tree.is_leaf(node)) {
            let Some(parent) = tree.parent(node) else { continue };
            let (governor, dependent) = (words.of(heads.word(parent)), words.of(heads.word(node)));
            let stranded = governor != dependent
                && words.governor[dependent as usize] != Some(governor)
                && words.group(dependent) != words.group(root);
            if stranded {
                words.join(governor, dependent);
                let (governor, dependent) = (words.token(governor), words.token(dependent));
                edges.push(Edge { relation: self.relations.special.dep, governor, dependent });
            }
        }
    }
}

/// The words of a tree, numbered from 0 in the order of its leaves.
#[derive(Debug, Default)]
struct Words {
    leaves: Vec<NodeId>,
    tokens: Vec<u32>,
    number: Vec<u32>,
    governor: Vec<Option<u32>>,
    group: Vec<u32>,
}

impl Words {
    fn read(&mut self, tree: &Tree) {
        self.number.clear();
        self.number.resize(tree.size(), u32::MAX);
        self.leaves.clear();
        self.leaves.extend(tree.preorder().filter(|&node| tree.is_leaf(node)));
        for (number, leaf) in self.leaves.iter().enumerate() {
            self.number[leaf.index()] = number as u32;
        }
        self.tokens.clear();
        self.tokens.extend(self.leaves.iter().map(|&leaf| tree.token(leaf)));
        self.governor.clear();
        self.governor.resize(self.leaves.len(), None);
    }

    fn count(&self) -> usize {
        self.leaves.len()
    }

    fn of(&self, leaf: NodeId) -> u32 {
        self.number[leaf.index()]
    }

    fn token(&self, word: u32) -> u32 {
        self.tokens[word as usize]
    }

    fn leaf(&self, token: u32) -> NodeId {
        let at = self.tokens.iter().position(|&t| t == token).expect("edges are between words of the tree");
        self.leaves[at]
    }

    /// Returns whether an edge is allowed: a word has one governor, and there are no cycles.
    fn accepts(&self, governor: u32, dependent: u32) -> bool {
        let free = self.governor[dependent as usize].is_none_or(|known| known == governor);
        free && std::iter::successors(Some(governor), |&word| self.governor[word as usize])
            .all(|word| word != dependent)
    }

    fn join_edges(&mut self) {
        self.group.clear();
        self.group.extend(0..self.leaves.len() as u32);
        for dependent in 0..self.leaves.len() as u32 {
            if let Some(governor) = self.governor[dependent as usize] {
                self.join(governor, dependent);
            }
        }
    }

    fn group(&self, word: u32) -> u32 {
        let mut word = word;
        while self.group[word as usize] != word {
            word = self.group[word as usize];
        }
        word
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.group(a), self.group(b));
        self.group[a as usize] = b;
    }
}

/// Corrections that need all edges.
struct Correction<'a> {
    converter: &'a Converter,
    tree: &'a Tree,
    labels: &'a Labels,
    words: &'a Words,
    sentence: u32,
    edges: &'a mut Vec<Edge>,
}

impl Correction<'_> {
    fn has(&self, edge: &Edge, relations: &[Relation]) -> bool {
        relations.contains(&edge.relation)
    }

    /// Sorts words in the order of the reference implementation.
    fn in_hash_order(&self, mut words: Vec<u32>) -> Vec<u32> {
        words.sort_unstable();
        let mut order = HashOrder::default();
        for word in words {
            order.insert(word, self.sentence.wrapping_mul(29).wrapping_add(word) as i32, ());
        }
        order.keys().collect()
    }

    fn governors(&self) -> Vec<u32> {
        let real = self.edges.iter().filter(|edge| edge.governor > 0);
        let words = real.flat_map(|edge| [edge.governor, edge.dependent]).collect();
        self.in_hash_order(words)
    }

    fn dependents(&self, governor: u32) -> Vec<usize> {
        let words = self.edges.iter().filter(|e| e.governor == governor).map(|e| e.dependent).collect();
        let edge =
            |dependent| self.edges.iter().position(|e| e.governor == governor && e.dependent == dependent);
        self.in_hash_order(words).into_iter().filter_map(edge).collect()
    }

    fn text(&self, token: u32) -> (&str, NodeId) {
        let leaf = self.words.leaf(token);
        let tag = self.tree.parent(leaf).unwrap_or(leaf);
        (self.labels.text(self.tree.label(leaf)), tag)
    }

    /// In "what does she seem to have", moves the question word to "have".
    fn move_wh_words(&mut self, lemma: &dyn Fn(&str, &str) -> String) {
        let special = self.converter.relations.special;
        if !self.edges.iter().any(|edge| edge.relation == special.xcomp) {
            return;
        }
        let before = self.edges.clone();
        for verb in self.governors() {
            let find = |relations: &[Relation]| {
                self.dependents(verb)
                    .into_iter()
                    .find(|&at| before[at].governor == verb && relations.contains(&before[at].relation))
            };
            let (Some(embedded), Some(wh)) = (find(&[special.xcomp]), find(&[special.dep, special.dobj]))
            else {
                continue;
            };
            let object = find(&[special.dobj, special.iobj]).is_some();
            let tag = self.tree.label(self.text(before[wh].dependent).1);
            if !self.labels.passes(tag, self.converter.wh_tag)
                || !(object || self.takes_no_object(verb, lemma))
            {
                continue;
            }
            self.edges[wh] =
                Edge { relation: special.dobj, governor: before[embedded].dependent, ..before[wh] };
        }
    }

    fn takes_no_object(&self, verb: u32, lemma: &dyn Fn(&str, &str) -> String) -> bool {
        let (word, tag) = self.text(verb);
        self.converter.verbs_without_object.is_match(&lemma(word, self.labels.text(self.tree.label(tag))))
    }

    /// Replaces the temporary relations `prep` and `rel`: "that he fought for", "who you love".
    fn resolve_relatives(&mut self) {
        let special = self.converter.relations.special;
        if !self.edges.iter().any(|edge| self.has(edge, &[special.prep, special.rel])) {
            return;
        }
        for governor in self.governors() {
            let dependents = self.dependents(governor);
            let is_prep = |&at: &usize| self.edges[at].relation == special.prep;
            let preps: Vec<usize> = dependents.iter().copied().filter(is_prep).collect();
            for prep in preps {
                let object = dependents.iter().copied().find(|&at| {
                    self.edges[at].governor == governor
                        && self.has(&self.edges[at], &[special.nmod, special.rel])
                        && self.edges[at].dependent <= self.edges[prep].dependent
                });
                let Some(object) = object else {
                    self.edges[prep].relation = special.nmod;
                    continue;
                };
                self.edges[prep].relation = special.case;
                self.edges[prep].governor = self.edges[object].dependent;
                self.edges[object].relation = special.nmod;
            }
        }
        self.edges.iter_mut().filter(|e| e.relation == special.rel).for_each(|e| e.relation = special.dobj);
    }

    fn mark_passive_subjects(&mut self) {
        let special = self.converter.relations.special;
        let passive: Vec<u32> =
            self.edges.iter().filter(|e| e.relation == special.auxpass).map(|e| e.governor).collect();
        for edge in self.edges.iter_mut().filter(|edge| passive.contains(&edge.governor)) {
            if edge.relation == special.nsubj {
                edge.relation = special.nsubjpass;
            } else if edge.relation == special.csubj {
                edge.relation = special.csubjpass;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewriting::RewritingRule;

    fn rules() -> Rules {
        Rules {
            rewriting: vec![RewritingRule::Operations {
                patterns: vec!["NP=outer <: NP=inner".to_owned()],
                operations: "excise inner inner".to_owned(),
            }],
            relations: crate::relations::tests::small_rules(),
            heads: crate::heads::tests::small_rules(),
            verbs_without_object: "(?i:seem|try)".to_owned(),
        }
    }

    fn converted(text: &str) -> String {
        let converter = Converter::new(&rules()).unwrap();
        let mut labels = converter.labels();
        let mut tree = Tree::read(text, &mut labels).unwrap();
        let lemma = |word: &str, _: &str| word.trim_end_matches('s').to_owned();
        let edges =
            converter.convert(&mut tree, &mut labels, 0, &lemma, &mut ConverterScratch::default()).unwrap();
        let edge =
            |e: &Edge| format!("{} {} {}", converter.relations().name(e.relation), e.governor, e.dependent);
        edges.iter().map(edge).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn the_root_comes_first_and_then_the_words_in_order() {
        let tree = "(ROOT (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (NN cats))) (. .)))";
        assert_eq!(converted(tree), "root 0 3; det 2 1; nsubj 3 2; dobj 3 4; punct 3 5");
    }

    #[test]
    fn words_that_no_rule_reaches_depend_on_the_phrase_above() {
        let tree = "(ROOT (S (NP (NP (NN dogs)) (VP (VBG running) (NP (NN home)))) (VP (VBZ are))))";
        assert_eq!(converted(tree), "root 0 4; nsubj 4 1; dep 1 2; dobj 2 3");
    }

    #[test]
    fn the_most_specific_relation_is_kept() {
        let tree = "(ROOT (S (VP (VBZ runs) (PP (IN at) (NP (NN night))))))";
        assert_eq!(converted(tree), "root 0 1; nmod:tmod 1 2; dep 2 3");
    }

    #[test]
    fn subjects_of_passives_are_passive() {
        let tree = "(ROOT (S (NP (NN dog)) (VP (VBD was) (VP (VBN seen)))))";
        assert_eq!(converted(tree), "root 0 3; nsubjpass 3 1; auxpass 3 2");
    }

    #[test]
    fn a_question_word_moves_to_the_verb_of_which_it_is_the_object() {
        let question = |verb: &str| {
            let clause = format!("(VP (VBZ {verb}) (S (VP (VB have))))");
            converted(&format!("(ROOT (SBARQ (WHNP (WP what)) (SQ {clause})))"))
        };
        assert_eq!(question("thinks"), "root 0 2; dep 2 1; xcomp 2 3");
        assert_eq!(question("seems"), "root 0 2; dobj 3 1; xcomp 2 3");
    }

    #[test]
    fn a_stranded_preposition_marks_its_object() {
        let tree = "(ROOT (S (VP (VBZ sees) (NP (NP (NN man)) (SBAR (WHNP (WP whom)) (S (VP (VBZ cares) (PP (IN for)))))))))";
        assert_eq!(converted(tree), "root 0 1; dobj 1 2; nmod 4 3; acl 2 4; case 3 5");
        let tree = "(ROOT (S (VP (VBZ cares) (PP (IN for)))))";
        assert_eq!(converted(tree), "root 0 1; nmod 1 2");
        let tree = "(ROOT (S (NP (NP (NN man)) (SBAR (WHNP (WP whom)) (S (VP (VBZ sees)))))))";
        assert_eq!(converted(tree), "root 0 1; dobj 3 2; acl 1 3");
    }

    #[test]
    fn trees_are_rewritten_first() {
        let tree = "(ROOT (S (VP (VBZ sees) (NP (NP (DT the) (NN dog))))))";
        assert_eq!(converted(tree), "root 0 1; det 3 2; dobj 1 3");
    }

    #[test]
    fn one_word_is_a_sentence() {
        assert_eq!(converted("(ROOT (NP (NN dog)))"), "root 0 1");
    }
}
