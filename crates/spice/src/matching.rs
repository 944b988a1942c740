//! Which tuples of a candidate the references have, and the scores of that.

use crate::lists::Lists;
use crate::scene_graph::{SceneGraph, SceneTuple};

/// A kind of tuples that gets a score of its own.
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
    /// Attributes that are colours.
    Color,
    /// Attributes that are sizes.
    Size,
    /// Attributes that are numbers.
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

/// A scene graph with its tuples and their categories. That of an image's references is made
/// once and compared with any number of candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphTuples {
    graph: SceneGraph,
    tuples: Vec<SceneTuple>,
    /// The categories of each tuple, as bits.
    categories: Vec<u8>,
}

impl GraphTuples {
    /// List the tuples of a graph. An attribute that was merged from several words is no colour,
    /// size or number.
    #[must_use]
    pub fn new(graph: SceneGraph, lists: &Lists) -> Self {
        let tuples: Vec<SceneTuple> = graph.tuples().collect();
        let categories = tuples.iter().map(|&tuple| categories(&graph, tuple, lists)).collect();
        Self { graph, tuples, categories }
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &SceneGraph {
        &self.graph
    }

    /// The tuples of the graph, which [`Comparison`] refers to by number.
    #[must_use]
    pub fn tuples(&self) -> &[SceneTuple] {
        &self.tuples
    }

    /// Whether a tuple belongs to a category.
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
    /// Tuples of the candidate.
    pub candidate: u32,
    /// Tuples of the references.
    pub references: u32,
    /// Tuples of the candidate that the references have. Several can be similar to one tuple of
    /// the references, so there can be more than those have.
    pub matched: u32,
}

/// Precision, recall and their harmonic mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// Share of the candidate's tuples that are matched.
    pub precision: f64,
    /// Matched tuples in relation to those of the references.
    pub recall: f64,
    /// Harmonic mean of the two.
    pub f: f64,
}

impl Counts {
    /// The scores. Where the references have no tuples, those of [`Category::All`] are 0 and those
    /// of the other categories are not a number.
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

/// What a candidate has in common with its references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Counts by category, in the order of [`Category::LIST`].
    pub counts: [Counts; 7],
    /// For each tuple of the candidate, the first similar tuple of the references.
    pub candidate_matches: Vec<Option<usize>>,
    /// For each tuple of the references, whether a tuple of the candidate is similar.
    pub reference_matched: Vec<bool>,
}

impl Comparison {
    /// How many numbers of a row belong to each category.
    pub const COLUMNS: usize = 7;

    /// The numbers of an image that add up to those of a corpus. For each category: the tuples of the
    /// candidate, of the references, and matched; F, precision and recall; and 1. The last four are 0 where
    /// the scores are not a number. The mean score of a corpus is the sum of scores over the sum of the 1s.
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

/// Compare the tuples of a candidate with those of the references.
///
/// Two tuples match if they are of the same kind and each part is similar: it shares a word or a
/// synset. For a category, both tuples must belong to it.
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
