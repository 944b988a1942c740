use std::sync::Arc;

use super::*;

fn rewritten(rules: &[RewritingRule], text: &str) -> Result<String, RewritingError> {
    let mut tests = LabelTests::default();
    let rewriter = Rewriter::new(rules, &mut tests)?;
    let mut labels = Labels::new(Arc::new(tests));
    let mut tree = Tree::read(text, &mut labels).expect("a test's own tree");
    rewriter.rewrite(&mut tree, &mut labels, &mut RewritingScratch::default())?;
    Ok(tree.to_text(&labels))
}

fn operations(pattern: &str, operations: &str) -> [RewritingRule; 1] {
    let patterns = vec![pattern.to_owned()];
    [RewritingRule::Operations { patterns, operations: operations.to_owned() }]
}

#[test]
fn operations_change_what_matched() {
    for (pattern, change, before, after) in [
        ("A=a < B", "relabel a C", "(S (A (B b)))", "(S (C (B b)))"),
        ("/^A/=a < B", "relabel a /^A(.*)$/Q$1r/", "(S (Axy (B b)))", "(S (Qxyr (B b)))"),
        ("A=a", "excise a a", "(S (A (B b) (C c)))", "(S (B b) (C c))"),
        ("A=a", "excise a a", "(A (B (C c)))", "(B (C c))"),
        ("A=a", "delete a", "(S (A a) (B b))", "(S (B b))"),
        ("A=a", "prune a", "(S (X (A a)) (B b))", "(S (B b))"),
        ("B=b $+ (C=c !< B)", "move b >0 c", "(S (B b) (C (D d)))", "(S (C (B b) (D d)))"),
        ("B=b $+ (C=c !< B)", "move b >1 c", "(S (B b) (C (D d)))", "(S (C (B b) (D d)))"),
        ("B=b $+ (C=c !< B)", "move b >-1 c", "(S (B b) (C (D d)))", "(S (C (D d) (B b)))"),
        ("B=b $+ C=c", "move b $- c", "(S (B b) (C c) (D d))", "(S (C c) (B b) (D d))"),
        (
            "S < (B=b $+ C=c)",
            "createSubtree X b c",
            "(S (A a) (B b) (C c) (D d))",
            "(S (A a) (X (B b) (C c)) (D d))",
        ),
        ("S < (B=b $+ C=c)", "createSubtree X c b", "(S (B b) (C c))", "(S (X (B b) (C c)))"),
        ("S < B=b", "[createSubtree X b] [relabel b Y]", "(S (B b))", "(S (X (Y b)))"),
        ("S < B=b ?< C=c", "[relabel b Y] [if exists c relabel c Z]", "(S (B b) (C c))", "(S (Y b) (Z c))"),
        ("S < B=b", "[relabel b Y] [if exists c relabel c Z]", "(S (B b) (C c))", "(S (Y b) (C c))"),
        ("S < B=b", "[if not exists c relabel b Y]", "(S (B b))", "(S (Y b))"),
    ] {
        assert_eq!(rewritten(&operations(pattern, change), before).as_deref(), Ok(after), "{change}");
    }
}

#[test]
fn invalid_operations_are_errors() {
    for (change, problem) in [
        ("relabel b C", "the pattern has no node named \"b\""),
        ("[excise a a", "missing a word"),
        ("paint a red", "unknown operation \"paint\""),
        ("move a >x a", "\">x\" is not a position"),
        ("delete a a", "unexpected \"a\""),
    ] {
        let error = rewritten(&operations("A=a", change), "(S (A a))").unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
}

#[test]
fn inapplicable_operations_are_errors() {
    for (pattern, change, tree) in [
        ("S=a", "delete a", "(S (A a))"),
        ("S=a", "prune a", "(S (A a))"),
        ("S=a", "excise a a", "(S (A a) (B b))"),
        ("S=s < A=a", "move s >0 a", "(S (A a))"),
        ("S < (A=a < B=b)", "createSubtree X a b", "(S (A (B b)))"),
    ] {
        let error = rewritten(&operations(pattern, change), tree).unwrap_err();
        assert!(matches!(error, RewritingError::Tree { .. }), "{change}: {error}");
    }
    let error = rewritten(&operations("A=a", "relabel a A"), "(S (A a))").unwrap_err();
    assert!(matches!(error, RewritingError::Endless { .. }), "{error}");
}

#[test]
fn labels_lose_their_annotations() {
    let before =
        "(TOP (S-1 (NP-SBJ-TMP (NN x-y)) (NP-ADV-1 (NN a)) (UCP-LOC-TMP (-LRB- b)) (PP-TMP (IN c))))";
    let after = "(ROOT (S (NP-TMP (NN x-y)) (NP-ADV (NN a)) (UCP-TMP (-LRB- b)) (PP (IN c))))";
    assert_eq!(rewritten(&[], before).as_deref(), Ok(after));
}

#[test]
fn dates_lose_inner_phrases() {
    let pattern = "NP=root <1 (NP <: NNP=month) <2 (NP <: CD=year) !< CD".to_owned();
    let before = "(S (NP (NP (NNP May)) (NP (CD 1999))))";
    let after = "(S (NP (NNP May) (CD 1999)))";
    assert_eq!(rewritten(&[RewritingRule::Date { pattern }], before).as_deref(), Ok(after));
}

#[test]
fn flat_coordinations_get_phrases() {
    for (before, after) in [
        // The first two words form a group.
        ("(NP (JJ red) (CC and) (JJ blue) (NN hat))", "(NP (ADJP (JJ red) (CC and) (JJ blue)) (NN hat))"),
        (
            "(NP (NN a) (CC or) (NN b) (NN c) (, ,) (CC and) (NN d))",
            "(NP (NP (NP (NN a) (CC or) (NN b)) (NN c)) (, ,) (CC and) (NP (NN d)))",
        ),
        // The same after an article.
        (
            "(NP (DT a) (NN cat) (CC and) (NN dog) (NN toy))",
            "(NP (DT a) (NP (NN cat) (CC and) (NN dog)) (NN toy))",
        ),
        // A list with commas.
        (
            "(NP (JJ x) (NN a) (, ,) (NN b) (, ,) (NN c) (CC and) (NN d) (NN e))",
            "(NP (JJ x) (NP (NN a) (, ,) (NN b) (, ,) (NN c) (CC and) (NN d)) (NN e))",
        ),
        // Two halves, with optional children before and after them.
        (
            "(NP (DT a) (JJ big) (NN cat) (CC and) (JJ old) (NN dog))",
            "(NP (NP (DT a) (JJ big) (NN cat)) (CC and) (NP (JJ old) (NN dog)))",
        ),
        (
            "(NP (DT both) (JJ big) (NNS cats) (CC and) (JJ old) (NNS dogs))",
            "(NP (CC both) (NP (JJ big) (NNS cats)) (CC and) (NP (JJ old) (NNS dogs)))",
        ),
        (
            "(NP (JJ a) (NNS b) (CC and) (NN c) (NNS d) (CC or) (NNS e))",
            "(NP (NP (NP (JJ a) (NNS b)) (CC and) (NP (NN c) (NNS d))) (CC or) (NNS e))",
        ),
        // No flat coordination.
        ("(NP (NNS cats) (CC and) (NNS dogs))", "(NP (NNS cats) (CC and) (NNS dogs))"),
        ("(VP (VB a) (CC and) (VB b) (VB c))", "(VP (VB a) (CC and) (VB b) (VB c))"),
    ] {
        let tree = format!("(S {before})");
        let expected = format!("(S {after})");
        assert_eq!(rewritten(&[RewritingRule::Coordination], &tree).as_deref(), Ok(expected.as_str()));
    }
}
