//! Compares the parser with a naive one, on random grammars and sentences.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use capeval_parser::{BinaryRule, Count, Model, ParseError, Parser, Source, UnaryRule, compile};
use proptest::prelude::*;

const STATES: [&str; 14] = ["ROOT", ".$$.", "A", "B", "C", "D", "P", "Q", "R", "@S", "@T", "@U", "V", "@W"];
const ROOT: usize = 0;
const BOUNDARY: usize = 1;
/// The tags A to D. D is also a parent of rules.
const TAGS: [usize; 5] = [BOUNDARY, 2, 3, 4, 5];
const WORDS: [&str; 5] = [".$.", "ab", "bc", "cd", "abcd"];
/// The tags of each word, as indices into [`TAGS`].
const WORD_TAGS: [&[usize]; 5] = [&[0], &[1, 2], &[2, 3], &[3, 4], &[1, 2, 3, 4]];
const IMPOSSIBLE: f32 = f32::NEG_INFINITY;

fn count(word: Option<usize>, tag: Option<usize>, count: f64) -> Count {
    Count { word: word.map(|word| word as u32), tag: tag.map(|tag| tag as u32), count }
}

/// Every word is frequent, and has each of its tags 200 times.
fn source(binary_rules: Vec<BinaryRule>, unary_rules: Vec<UnaryRule>) -> Source {
    let mut seen = vec![count(None, None, 2400.0)];
    seen.extend((0..TAGS.len()).map(|tag| count(None, Some(tag), 300.0 + tag as f64)));
    for (word, tags) in WORD_TAGS.iter().enumerate() {
        seen.push(count(Some(word), None, 200.0 * tags.len() as f64));
        seen.extend(tags.iter().map(|&tag| count(Some(word), Some(tag), 200.0)));
    }
    let mut unseen = vec![count(None, None, 400.0)];
    unseen.extend((1..TAGS.len()).map(|tag| count(None, Some(tag), 100.0)));
    Source {
        states: STATES.map(String::from).to_vec(),
        tags: TAGS.map(|tag| STATES[tag].to_owned()).to_vec(),
        words: WORDS.map(String::from).to_vec(),
        binary_rules,
        unary_rules,
        seen,
        unseen,
        spellings: Vec::new(),
        our_words: Vec::new(),
    }
}

fn tag_score(word: usize, tag: usize) -> f32 {
    let words = 200.0 * WORD_TAGS[word].len() as f64;
    let given_word = 200.0 / words;
    pxfm::f_log(given_word * (words / 2400.0) / ((300.0 + tag as f64) / 2400.0)) as f32
}

/// A chart of every state over every span, with the rules unchanged.
struct Naive<'a> {
    source: &'a Source,
    length: usize,
    scores: Vec<[f32; STATES.len()]>,
}

impl<'a> Naive<'a> {
    fn new(source: &'a Source, words: &[usize]) -> Self {
        let length = words.len();
        let scores = vec![[IMPOSSIBLE; STATES.len()]; (length + 1) * (length + 1)];
        let mut naive = Self { source, length, scores };
        let chains = naive.chains();
        for (start, &word) in words.iter().enumerate() {
            let cell = naive.cell(start, start + 1);
            WORD_TAGS[word].iter().for_each(|&tag| naive.scores[cell][TAGS[tag]] = tag_score(word, tag));
            naive.apply(cell, &chains);
        }
        for width in 2..=length {
            let starts = if width == length { 1 } else { length - width };
            for start in 0..starts {
                naive.combine(start, start + width);
                let cell = naive.cell(start, start + width);
                naive.apply(cell, &chains);
            }
        }
        naive
    }

    fn cell(&self, start: usize, end: usize) -> usize {
        start * (self.length + 1) + end
    }

    fn score(&self, start: usize, end: usize, state: u32) -> f32 {
        self.scores[self.cell(start, end)][state as usize]
    }

    /// Returns the best chain between any two states.
    ///
    /// All sums are exact, because scores are multiples of 1/4.
    fn chains(&self) -> [[f32; STATES.len()]; STATES.len()] {
        let mut chains = [[IMPOSSIBLE; STATES.len()]; STATES.len()];
        for rule in &self.source.unary_rules {
            let chain = &mut chains[rule.parent as usize][rule.child as usize];
            *chain = chain.max(rule.score);
        }
        for middle in 0..STATES.len() {
            let below = chains[middle];
            for above in &mut chains {
                let up = above[middle];
                above.iter_mut().zip(below).for_each(|(chain, down)| *chain = chain.max(up + down));
            }
        }
        chains
    }

    fn apply(&mut self, cell: usize, chains: &[[f32; STATES.len()]; STATES.len()]) {
        (0..STATES.len()).for_each(|child| {
            for (parent, chain) in chains.iter().map(|chains| chains[child]).enumerate() {
                if parent != child {
                    let sum = self.scores[cell][child] + chain;
                    self.scores[cell][parent] = self.scores[cell][parent].max(sum);
                }
            }
        });
    }

    fn combine(&mut self, start: usize, end: usize) {
        for rule in &self.source.binary_rules {
            for split in start + 1..end {
                let left = self.score(start, split, rule.left);
                let sum = rule.score + left + self.score(split, end, rule.right);
                let cell = self.cell(start, end);
                let score = &mut self.scores[cell][rule.parent as usize];
                *score = score.max(sum);
            }
        }
    }

    /// Returns the best tree in brackets, without nodes from binarization.
    fn tree(&self, state: u32, start: usize, end: usize, words: &[&str]) -> (f64, String) {
        let name = STATES[state as usize];
        if TAGS.contains(&(state as usize)) && end == start + 1 {
            let text = if start < words.len() { format!("({name} {})", words[start]) } else { String::new() };
            return (0.0, text);
        }
        let mut best = (f64::NEG_INFINITY, Vec::new());
        for split in start + 1..end {
            for rule in self.source.binary_rules.iter().filter(|rule| rule.parent == state) {
                let left = self.score(start, split, rule.left);
                let right = self.score(split, end, rule.right);
                let score = f64::from(rule.score) + f64::from(left) + f64::from(right);
                if score > best.0 {
                    best = (score, vec![(rule.left, start, split), (rule.right, split, end)]);
                }
            }
        }
        for rule in self.source.unary_rules.iter().filter(|rule| rule.parent == state) {
            let score = f64::from(rule.score) + f64::from(self.score(start, end, rule.child));
            if score > best.0 {
                best = (score, vec![(rule.child, start, end)]);
            }
        }
        let parts = best.1.iter().map(|&(state, start, end)| self.tree(state, start, end, words).1);
        let inside = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        (best.0, if name.starts_with('@') { inside } else { format!("({name} {inside})") })
    }
}

fn quarters() -> impl Strategy<Value = f32> {
    (1..12_u8).prop_map(|quarters| -f32::from(quarters) / 4.0)
}

fn grammars() -> impl Strategy<Value = Source> {
    let binary = (5..14_u32, 2..14_u32, 2..14_u32, quarters());
    let binary = binary.prop_map(|(parent, left, right, score)| BinaryRule { parent, left, right, score });
    let top = (2..14_u32, quarters());
    let right = BOUNDARY as u32;
    let top = top.prop_map(move |(left, score)| BinaryRule { parent: ROOT as u32, left, right, score });
    // The parent of a rule has a higher number, so no chain is a cycle. Chains go both with and against the
    // order in which rules are applied, because some children are sorted after their parents.
    let unary = (2..14_u32, 2..14_u32, quarters()).prop_filter_map("no circle", |(one, two, score)| {
        let rank = |state: u32| (state * 5) % 14;
        (rank(one) > rank(two)).then_some(UnaryRule { parent: one, child: two, score })
    });
    let binary = prop::collection::vec(binary, 5..40);
    (binary, prop::collection::vec(top, 2..6), prop::collection::vec(unary, 0..8)).prop_map(
        |(mut binary, top, mut unary)| {
            binary.extend(top);
            binary.sort_by_key(|rule| (rule.parent, rule.left, rule.right));
            binary.dedup_by_key(|rule| (rule.parent, rule.left, rule.right));
            unary.sort_by_key(|rule| (rule.parent, rule.child));
            unary.dedup_by_key(|rule| (rule.parent, rule.child));
            unary.retain(|rule| !TAGS[..4].contains(&(rule.parent as usize)));
            source(binary, unary)
        },
    )
}

fn texts(sentence: &[usize]) -> Vec<&'static str> {
    sentence.iter().map(|&word| WORDS[word]).collect()
}

fn compare_with_naive(source: &Source, sentences: &[Vec<usize>]) -> Result<(), TestCaseError> {
    let model = Model::open(aligned(&compile(source).unwrap())).unwrap();
    let words: Vec<Vec<&str>> = sentences.iter().map(|sentence| texts(sentence)).collect();
    let parses = Parser::new(&model).parse_all(&words, &|_| ControlFlow::Continue(())).unwrap();
    for ((sentence, words), parse) in sentences.iter().zip(&words).zip(&parses) {
        let mut ended = sentence.clone();
        ended.push(0);
        let naive = Naive::new(source, &ended);
        // This case has its own test.
        if naive.score(0, ended.len(), ROOT as u32) == IMPOSSIBLE {
            continue;
        }
        let (score, tree) = naive.tree(ROOT as u32, 0, ended.len(), words);
        prop_assert_eq!(parse.score, score);
        prop_assert_eq!(parse.to_brackets(model.labels(), words), tree);
        prop_assert_eq!(parse.tags.len(), words.len());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn scores_and_trees_match_the_naive_parser(
        source in grammars(),
        sentences in prop::collection::vec(prop::collection::vec(1..5_usize, 1..7), 1..40),
    ) {
        compare_with_naive(&source, &sentences)?;
    }

    /// Such sentences are parsed one by one, in several blocks of starts and tiles of lengths.
    #[test]
    fn scores_and_trees_of_long_sentences_match_the_naive_parser(
        source in grammars(),
        sentences in prop::collection::vec(prop::collection::vec(1..5_usize, 1..60), 1..4),
    ) {
        compare_with_naive(&source, &sentences)?;
    }

    #[test]
    fn a_damaged_table_is_an_error_or_gives_other_parses(
        source in grammars(), places in prop::collection::vec((any::<usize>(), any::<u8>()), 1..20),
    ) {
        let mut bytes = compile(&source).unwrap();
        // The header has its own checksum, so the damage is placed after it.
        for (place, byte) in places {
            let header = 56 + 40 * 30;
            let place = header + place % (bytes.len() - header);
            bytes[place] = byte;
        }
        if let Ok(model) = Model::open(aligned(&bytes)) {
            let words = [vec!["ab", "abcd", "unknown", "bc"], vec!["cd"]];
            let _ = Parser::new(&model).parse_all(&words, &|_| ControlFlow::Continue(()));
        }
    }
}

/// Bytes at an address divisible by 8, like those of a memory map.
struct Aligned(Vec<u64>, usize);

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.0)[..self.1]
    }
}

fn aligned(bytes: &[u8]) -> Aligned {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    });
    Aligned(words.collect(), bytes.len())
}

/// ROOT -> P, P -> A B, P -> A @S, @S -> B C, with the boundary after P.
fn small() -> Source {
    let rule = |parent, left, right, score| BinaryRule { parent, left, right, score };
    source(vec![rule(0, 6, 1, -0.5), rule(6, 2, 3, -1.0), rule(6, 2, 9, -2.0), rule(9, 3, 4, -0.25)], vec![])
}

#[test]
fn a_tree_by_hand() {
    let model = Model::open(aligned(&compile(&small()).unwrap())).unwrap();
    let words = vec!["ab", "bc", "cd"];
    let parse = Parser::new(&model).parse_all(&[&words], &|_| ControlFlow::Continue(())).unwrap().remove(0);
    assert_eq!(parse.to_brackets(model.labels(), &words), "(ROOT (P (A ab) (B bc) (C cd)))");
    let tags: Vec<&str> = parse.tags.iter().map(|&tag| model.labels()[usize::from(tag)].as_str()).collect();
    assert_eq!(tags, ["A", "B", "C"]);
    let words = tag_score(1, 1) + tag_score(0, 0);
    assert!((parse.score - f64::from(words + tag_score(2, 2) + tag_score(3, 3) - 2.75)).abs() < 1e-5);
}

#[test]
fn a_sentence_without_parse_is_tried_with_every_tag() {
    let model = Model::open(aligned(&compile(&small()).unwrap())).unwrap();
    let parser = Parser::new(&model);
    let parse = |words: &Vec<&'static str>| {
        let parse = parser.parse_all(&[words], &|_| ControlFlow::Continue(())).unwrap().remove(0);
        (parse.to_brackets(model.labels(), words), parse.score)
    };
    // "cd" cannot be an A, so its score is that of a rare word.
    let (tree, score) = parse(&vec!["cd", "ab"]);
    assert_eq!(tree, "(ROOT (P (A cd) (B ab)))");
    assert!(score.is_finite());
    // No tree of the grammar has one word.
    let (tree, score) = parse(&vec!["cd"]);
    assert_eq!(tree, "(X (XX cd))");
    assert!(score.is_nan());
}

#[test]
fn invalid_sentences_are_reported() {
    let model = Model::open(aligned(&compile(&small()).unwrap())).unwrap();
    let parser = Parser::new(&model).with_limit(3);
    let go_on = |_| ControlFlow::Continue(());
    let fine = || vec!["ab", "bc"];
    let error = parser.parse_all(&[fine(), vec![]], &go_on).unwrap_err();
    assert_eq!(error.to_string(), "sentence 1: expected at least one token, found none");
    let error = parser.parse_all(&[fine(), fine(), vec!["ab"; 4]], &go_on).unwrap_err();
    assert_eq!(error.to_string(), "sentence 2: expected at most 3 tokens, found 4");
    let error = parser.parse_all(&[fine()], &|_| ControlFlow::Break(())).unwrap_err();
    assert_eq!(error, ParseError::Stopped);
    // Stopping must also work within a sentence, because a long one takes many seconds.
    let calls = AtomicUsize::new(0);
    let stop_later = |parsed: f64| {
        assert!(parsed < 1.0);
        match calls.fetch_add(1, Ordering::Relaxed) {
            2 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    assert_eq!(parser.parse_all(&[vec!["ab"; 3]], &stop_later).unwrap_err(), ParseError::Stopped);
    assert_eq!(parser.parse_all::<Vec<&str>, _>(&[], &go_on).unwrap(), []);
}

#[test]
fn progress_grows_within_sentences() {
    let model = Model::open(aligned(&compile(&small()).unwrap())).unwrap();
    let reported = Mutex::new(Vec::new());
    let progress = |parsed: f64| {
        reported.lock().unwrap().push(parsed);
        ControlFlow::Continue(())
    };
    let parse = |sentences: &[Vec<&str>]| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap()
            .install(|| Parser::new(&model).parse_all(sentences, &progress).unwrap());
        std::mem::take(&mut *reported.lock().unwrap())
    };
    // Lengths of one sentence; the same lengths again with every tag for every word, because there is no parse.
    assert_eq!(parse(&[vec!["ab"; 4]]), [0.0, 0.0, 0.156, 0.5, 0.843, 0.843, 0.843, 0.843, 0.843, 1.0]);
    // A batch of eight sentences, then one sentence.
    let found = parse(&[vec![vec!["ab", "bc"]; 8], vec![vec!["ab"]]].concat());
    assert_eq!(found, [0.0, 0.0, 1.0, 8.0, 8.0, 8.0, 8.0, 9.0]);
}

#[test]
fn a_source_with_invalid_references_is_rejected() {
    let mut wrong = small();
    wrong.binary_rules[0].left = 99;
    let error = compile(&wrong).unwrap_err().to_string();
    assert_eq!(error, "the model, a rule: expected the number of a state, found 99");
    let mut wrong = small();
    wrong.tags[1] = "Z".to_owned();
    let error = compile(&wrong).unwrap_err().to_string();
    assert_eq!(error, "the model, a tag: expected the name of a state, found \"Z\"");
}

#[test]
fn several_threads_give_the_same_parse() {
    let mut source = small();
    // Any number of words: P -> P B, P -> P C.
    for right in [3, 4] {
        source.binary_rules.push(BinaryRule { parent: 6, left: 6, right, score: -0.75 });
    }
    let model = Model::open(aligned(&compile(&source).unwrap())).unwrap();
    let words: Vec<&str> =
        ["ab"].into_iter().chain(["bc", "cd", "abcd"].into_iter().cycle().take(149)).collect();
    let parse = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let parser = Parser::new(&model);
        pool.install(|| {
            parser.parse_all(&[&words, &words[..130].to_vec()], &|_| ControlFlow::Continue(())).unwrap()
        })
    };
    let parses = parse(1);
    assert!(parses[0].score.is_finite());
    assert_eq!(parses[0].tags.len(), 150);
    assert_eq!(parse(3), parses);
}
