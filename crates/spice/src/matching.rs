//! Matching of a candidate's tuples with its references, and the resulting scores.

use crate::lists::Lists;
use crate::scene_graph::{SceneGraph, SceneTuple};

/// A category of tuples with a separate score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// All tuples.
    All,
    /// Objects.
    Object,
    /// Attributes of objects.
    Attribute,
    /// Relations between objects.
    Relation,
    /// Color attributes.
    Color,
    /// Size attributes.
    Size,
    /// Number attributes.
    Cardinality,
}

impl Category {
    /// All categories, in the order of [`Comparison::counts`].
    pub const LIST: [Self; 7] = [
        Self::All,
        Self::Object,
        Self::Attribute,
        Self::Relation,
        Self::Color,
        Self::Size,
        Self::Cardinality,
    ];

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A scene graph with its tuples and their categories.
///
/// The graph of an image's references is built once and compared with any number of candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphTuples {
    graph: SceneGraph,
    tuples: Vec<SceneTuple>,
    /// Categories of each tuple, as bits.
    categories: Vec<u8>,
}

impl GraphTuples {
    /// Lists the tuples of a graph. An attribute merged from several words is not a color, size or number.
    #[must_use]
    pub fn new(graph: SceneGraph, lists: &Lists) -> Self {
        let tuples: Vec<SceneTuple> = graph.tuples().collect();
        let categories = tuples.iter().map(|&tuple| categories(&graph, tuple, lists)).collect();
        Self { graph, tuples, categories }
    }

    /// Returns the graph.
    #[must_use]
    pub fn graph(&self) -> &SceneGraph {
        &self.graph
    }

    /// Returns the tuples of the graph, which [`Comparison`] refers to by index.
    #[must_use]
    pub fn tuples(&self) -> &[SceneTuple] {
        &self.tuples
    }

    /// Returns whether a tuple belongs to a category.
    #[must_use]
    pub fn is_in(&self, tuple: usize, category: Category) -> bool {
        self.categories[tuple] & category.bit() != 0
    }

    fn count(&self, category: Category) -> u32 {
        (0..self.tuples.len()).filter(|&tuple| self.is_in(tuple, category)).count() as u32
    }
}

fn categories(graph: &SceneGraph, tuple: SceneTuple, lists: &Lists) -> u8 {
    let own = match tuple {
        SceneTuple::Object(_) => Category::Object.bit(),
        SceneTuple::Relation(_) => Category::Relation.bit(),
        SceneTuple::Attribute(object, attribute) => {
            let word = graph.objects()[object].attributes[attribute].only_word();
            let listed = [
                (Category::Color, &lists.colors),
                (Category::Size, &lists.sizes),
                (Category::Cardinality, &lists.numbers),
            ];
            let fitting = listed.iter().filter(|(_, words)| word.is_some_and(|word| words.contains(word)));
            fitting.fold(Category::Attribute.bit(), |bits, (category, _)| bits | category.bit())
        }
    };
    own | Category::All.bit()
}

/// Numbers of tuples in one category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of tuples in the candidate.
    pub candidate: u32,
    /// Number of tuples in the references.
    pub references: u32,
    /// Number of candidate tuples that match the references.
    ///
    /// It can exceed `references`, because several candidate tuples can match the same one.
    pub matched: u32,
}

/// Precision, recall and their harmonic mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// Proportion of the candidate's tuples that match.
    pub precision: f64,
    /// Matched tuples divided by the references' tuples.
    pub recall: f64,
    /// Harmonic mean of precision and recall.
    pub f: f64,
}

impl Counts {
    /// Computes the scores.
    ///
    /// If the references have no tuples in the category, the scores are 0 for [`Category::All`] and NaN for
    /// other categories.
    #[must_use]
    pub fn scores(self, category: Category) -> Scores {
        if self.references == 0 {
            let none = if category == Category::All { 0.0 } else { f64::NAN };
            return Scores { precision: none, recall: none, f: none };
        }
        let matched = f64::from(self.matched);
        let recall = matched / f64::from(self.references);
        let precision = if self.candidate == 0 { 0.0 } else { matched / f64::from(self.candidate) };
        let f = if matched == 0.0 { 0.0 } else { 2.0 * (precision * recall) / (precision + recall) };
        Scores { precision, recall, f }
    }
}

/// Comparison of a candidate with its references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Counts by category, in the order of [`Category::LIST`].
    pub counts: [Counts; 7],
    /// The first matching reference tuple of each candidate tuple.
    pub candidate_matches: Vec<Option<usize>>,
    /// Whether each reference tuple matches a candidate tuple.
    pub reference_matched: Vec<bool>,
}

impl Comparison {
    /// Number of columns per category in a row.
    pub const COLUMNS: usize = 7;

    /// Returns a row of statistics that is additive over images.
    ///
    /// Columns per category: the tuples of the candidate, of the references, and matched; F, precision and
    /// recall; and 1. The last four are 0 if the scores are NaN. The mean score of a corpus is the sum of
    /// scores divided by the sum of the 1s.
    #[must_use]
    pub fn row(&self) -> [f64; Category::LIST.len() * Self::COLUMNS] {
        let mut row = [0.0; Category::LIST.len() * Self::COLUMNS];
        let categories = self.counts.iter().zip(Category::LIST);
        for (cells, (counts, category)) in row.chunks_exact_mut(Self::COLUMNS).zip(categories) {
            cells[..3].copy_from_slice(&[counts.candidate, counts.references, counts.matched].map(f64::from));
            let scores = counts.scores(category);
            if !scores.f.is_nan() {
                cells[3..].copy_from_slice(&[scores.f, scores.precision, scores.recall, 1.0]);
            }
        }
        row
    }
}

/// Compares the tuples of a candidate with those of the references.
///
/// Two tuples match if they are of the same kind and each part shares a word or a synset. For the counts of a
/// category, both tuples must belong to it.
#[must_use]
pub fn compare(candidate: &GraphTuples, references: &GraphTuples) -> Comparison {
    let mut comparison = Comparison {
        counts: Category::LIST.map(|category| Counts {
            candidate: candidate.count(category),
            references: references.count(category),
            matched: 0,
        }),
        candidate_matches: Vec::with_capacity(candidate.tuples.len()),
        reference_matched: vec![false; references.tuples.len()],
    };
    let reference_concepts: Vec<_> =
        references.tuples.iter().map(|&tuple| references.graph.concepts(tuple)).collect();
    for (&tuple, &categories) in candidate.tuples.iter().zip(&candidate.categories) {
        let concepts = candidate.graph.concepts(tuple);
        let (mut first, mut common_categories) = (None, 0);
        for (number, reference) in reference_concepts.iter().enumerate() {
            let similar = concepts.iter().zip(reference).all(|pair| match pair {
                (Some(one), Some(other)) => one.is_similar(other),
                (one, other) => one.is_none() && other.is_none(),
            });
            if similar {
                first = first.or(Some(number));
                common_categories |= categories & references.categories[number];
                comparison.reference_matched[number] = true;
            }
        }
        comparison.candidate_matches.push(first);
        for (counts, category) in comparison.counts.iter_mut().zip(Category::LIST) {
            counts.matched += u32::from(common_categories & category.bit() != 0);
        }
    }
    comparison
}
