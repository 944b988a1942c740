//! Scene graphs: tuples of one or several captions, merged by meaning.
//!
//! The result of merging depends on the order of the tuples, because concepts grow. If several concepts are
//! equally similar, the reference implementation chooses one by its memory address, that is, at random. Here
//! the first one is chosen.

use crate::concept::{Concept, Concepts};
use crate::tuples::Tuple;
use capeval_tables::TableError;

/// An object and its attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Concept of the object.
    pub concept: Concept,
    /// Concepts of its attributes.
    pub attributes: Vec<Concept>,
}

/// A relation between two objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Index of the first object.
    pub subject: usize,
    /// Index of the second object.
    pub object: usize,
    /// Concept of the relation.
    pub concept: Concept,
}

/// Objects with attributes, and relations between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SceneGraph {
    objects: Vec<Object>,
    relations: Vec<Relation>,
}

/// An object, an attribute or a relation of a graph, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SceneTuple {
    /// An object.
    Object(usize),
    /// An object and one of its attributes.
    Attribute(usize, usize),
    /// A relation.
    Relation(usize),
}

impl SceneGraph {
    /// Builds the graph of tuples, in their order.
    ///
    /// # Errors
    /// Returns a [`TableError`] if the table of synonyms is damaged.
    pub fn new<'t, B: AsRef<[u8]>>(
        tuples: impl IntoIterator<Item = &'t Tuple>,
        concepts: &mut Concepts<'_, B>,
    ) -> Result<Self, TableError> {
        let mut graph = Self::default();
        for tuple in tuples {
            match tuple {
                Tuple::Object(object) => drop(graph.object_of(concepts.concept(object)?)),
                Tuple::Attribute { object, attribute } => {
                    let object = graph.object_of(concepts.concept(object)?);
                    graph.objects[object].add_attribute(concepts.concept(attribute)?);
                }
                Tuple::Relation { subject, object, relation } => {
                    let subject = graph.object_of(concepts.concept(subject)?);
                    let object = graph.object_of(concepts.concept(object)?);
                    let relation = relation.strip_prefix("be ").unwrap_or(relation);
                    let concept = concepts.concept(relation)?;
                    graph.add_relation(Relation { subject, object, concept });
                }
            }
        }
        Ok(graph)
    }

    /// Returns the objects.
    #[must_use]
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Returns the relations.
    #[must_use]
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// Returns the index of the object for a concept: the same one, the most similar one, or a new one.
    fn object_of(&mut self, concept: Concept) -> usize {
        let (mut best, mut best_similarity) = (None, 0.0);
        for (number, object) in self.objects.iter().enumerate() {
            if object.concept.is_same(&concept) {
                return number;
            }
            let similarity = object.concept.similarity(&concept);
            if similarity > best_similarity {
                (best, best_similarity) = (Some(number), similarity);
            }
        }
        if let Some(number) = best {
            self.objects[number].concept.merge(concept);
            return number;
        }
        self.objects.push(Object { concept, attributes: Vec::new() });
        self.objects.len() - 1
    }

    fn add_relation(&mut self, added: Relation) {
        let between_same = |graph: &Self, relation: &Relation| {
            graph.is_same_object(relation.subject, added.subject)
                && graph.is_same_object(relation.object, added.object)
        };
        let mut similar = None;
        for (number, relation) in self.relations.iter().enumerate() {
            if !between_same(self, relation) {
                continue;
            }
            if relation.concept.is_same(&added.concept) {
                return;
            }
            if similar.is_none() && relation.concept.is_similar(&added.concept) {
                similar = Some(number);
            }
        }
        match similar {
            Some(number) => self.relations[number].concept.merge(added.concept),
            None => self.relations.push(added),
        }
    }

    /// Returns whether two objects are the same in relations.
    ///
    /// In the reference implementation, attributes of two objects compare equal only if neither object has
    /// any.
    fn is_same_object(&self, one: usize, other: usize) -> bool {
        let (first, second) = (&self.objects[one], &self.objects[other]);
        let bare = first.attributes.is_empty() && second.attributes.is_empty();
        one == other || (bare && first.concept.is_same(&second.concept))
    }

    /// Iterates over all objects, each followed by its attributes, and then over the relations.
    pub fn tuples(&self) -> impl Iterator<Item = SceneTuple> + '_ {
        let objects = self.objects.iter().enumerate().flat_map(|(number, object)| {
            let attributes = 0..object.attributes.len();
            let attributes = attributes.map(move |attribute| SceneTuple::Attribute(number, attribute));
            std::iter::once(SceneTuple::Object(number)).chain(attributes)
        });
        objects.chain((0..self.relations.len()).map(SceneTuple::Relation))
    }

    /// Returns the concepts of a tuple: object; object, attribute; or subject, relation, object.
    #[must_use]
    pub fn concepts(&self, tuple: SceneTuple) -> [Option<&Concept>; 3] {
        let concept = |object: usize| Some(&self.objects[object].concept);
        match tuple {
            SceneTuple::Object(object) => [concept(object), None, None],
            SceneTuple::Attribute(object, attribute) => {
                [concept(object), Some(&self.objects[object].attributes[attribute]), None]
            }
            SceneTuple::Relation(relation) => {
                let Relation { subject, object, concept: relation } = &self.relations[relation];
                [concept(*subject), Some(relation), concept(*object)]
            }
        }
    }
}

impl Object {
    fn add_attribute(&mut self, added: Concept) {
        if self.attributes.iter().any(|attribute| attribute.is_same(&added)) {
            return;
        }
        match self.attributes.iter_mut().find(|attribute| attribute.is_similar(&added)) {
            Some(similar) => similar.merge(added),
            None => self.attributes.push(added),
        }
    }
}
