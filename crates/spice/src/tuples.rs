//! Objects, attributes and relations from the dependencies of a sentence.

use capeval_dependencies::processed::pattern::{Class, Clause, Match, Pattern, Relations, Search, neighbor};
use capeval_dependencies::processed::{BasicDependency, Graph, Relation, Sentence, WordId, process};

use crate::error::ReadError;
use crate::lists::Lists;
use crate::rewriting::rewrite;

/// A proposition of a caption, before merging.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Tuple {
    /// An object.
    Object(String),
    /// An attribute of an object.
    Attribute {
        /// The object.
        object: String,
        /// The attribute.
        attribute: String,
    },
    /// A relation between two objects.
    Relation {
        /// The first object of the relation.
        subject: String,
        /// The second object of the relation.
        object: String,
        /// The relation.
        relation: String,
    },
}

impl Tuple {
    /// Returns one to three strings in the order of the reference implementation: subject, object, relation.
    #[must_use]
    pub fn parts(&self) -> Vec<&str> {
        match self {
            Self::Object(object) => vec![object],
            Self::Attribute { object, attribute } => vec![object, attribute],
            Self::Relation { subject, object, relation } => vec![subject, object, relation],
        }
    }

    /// Creates a tuple from one to three strings. Returns `None` for any other number.
    #[must_use]
    pub fn from_parts(parts: &[&str]) -> Option<Self> {
        let owned = |part: &str| part.to_owned();
        match *parts {
            [object] => Some(Self::Object(owned(object))),
            [object, attribute] => {
                Some(Self::Attribute { object: owned(object), attribute: owned(attribute) })
            }
            [subject, object, relation] => Some(Self::Relation {
                subject: owned(subject),
                object: owned(object),
                relation: owned(relation),
            }),
            _ => None,
        }
    }
}

/// A sentence with its lemmas.
#[derive(Clone, Copy, Debug)]
pub struct ParsedSentence<'a> {
    /// Words and tags.
    pub sentence: Sentence<'a>,
    /// Lemma of each token.
    pub lemmas: &'a [&'a str],
}

const NOUN: Class = Class(1);
const PLURAL: Class = Class(1 << 1);
const ADJECTIVE: Class = Class(1 << 2);
const VERB: Class = Class(1 << 3);

fn class(tag: &str) -> Class {
    let noun = match tag {
        "NN" | "NNP" => NOUN.0,
        "NNS" | "NNPS" => NOUN.0 | PLURAL.0,
        _ => 0,
    };
    let adjective = if tag.starts_with('J') { ADJECTIVE.0 } else { 0 };
    let verb = if tag.starts_with('V') { VERB.0 } else { 0 };
    Class(noun | adjective | verb)
}

const SUBJECT: usize = 1;
const OBJECT: usize = 2;
const PREDICATE: usize = 3;

const NSUBJ: Relations = Relations::Is(Relation::NSUBJ);
const COP: Relations = Relations::Is(Relation::COP);
const CASE: Relations = Relations::Is(Relation::CASE);
const NAMED_NMOD: Relations = Relations::Named(|name| name.starts_with("nmod:"));
const OBJECT_OR_NMOD: Relations =
    Relations::Named(|name| matches!(name, "iobj" | "dobj") || name.starts_with("nmod:"));
const DIRECT_OR_INDIRECT: Relations = Relations::OneOf(&[Relation::DOBJ, Relation::IOBJ]);
const NMOD_WITHOUT_AGENT: Relations =
    Relations::Named(|name| name.strip_prefix("nmod:").is_some_and(|rest| !rest.contains("agent")));
const OBJECT_OR_ANY_NMOD: Relations =
    Relations::Named(|name| matches!(name, "iobj" | "dobj") || name.starts_with("nmod"));

const HAS_CASE: &[Clause] = &[Clause::Has(neighbor(CASE, Class::ANY))];
const HAS_NOUN_SUBJECT: Clause = Clause::Has(neighbor(NSUBJ, NOUN).slot(SUBJECT));
const HAS_NOUN_OBJECT: Clause = Clause::Has(neighbor(OBJECT_OR_NMOD, NOUN).slot(OBJECT));

/// "a man rides a horse". Slot 0 is the predicate.
const SUBJECT_AND_OBJECT: Pattern = Pattern {
    class: Class::ANY,
    clauses: &[HAS_NOUN_SUBJECT, HAS_NOUN_OBJECT, Clause::Lacks(neighbor(COP, Class::ANY))],
};

/// "a man riding a horse". Slot 0 is the subject.
const PARTICIPLE: Pattern = Pattern {
    class: Class::ANY,
    clauses: &[Clause::Has(
        neighbor(Relations::Is(Relation::ACL), VERB).slot(PREDICATE).with(&[HAS_NOUN_OBJECT]),
    )],
};

/// "a man smiles". Slot 0 is the predicate, here and in the next pattern.
const SUBJECT_ALONE: Pattern = Pattern {
    class: Class::ANY,
    clauses: &[
        HAS_NOUN_SUBJECT,
        Clause::Lacks(neighbor(OBJECT_OR_NMOD, NOUN)),
        Clause::Lacks(neighbor(COP, Class::ANY)),
    ],
};

/// "the man is a rider", "the man is in the house".
const COPULA: Pattern =
    Pattern { class: Class::ANY, clauses: &[HAS_NOUN_SUBJECT, Clause::Has(neighbor(COP, Class::ANY))] };

/// "a tall man". Slot 0 is the noun.
const ADJECTIVE_OF: Pattern = Pattern {
    class: Class::ANY,
    clauses: &[Clause::Has(neighbor(Relations::Is(Relation::AMOD), Class::ANY).slot(OBJECT))],
};

/// "the man is tall". Slot 0 is the adjective.
const ADJECTIVE_PREDICATE: Pattern =
    Pattern { class: ADJECTIVE, clauses: &[Clause::Has(neighbor(NSUBJ, Class::ANY).slot(SUBJECT))] };

/// "a man on a horse". Slot 0 is the first noun.
const PREPOSITIONAL: Pattern =
    Pattern { class: NOUN, clauses: &[Clause::Has(neighbor(NAMED_NMOD, Class::ANY).slot(OBJECT))] };

/// "the man's horse". Slot 0 is the possession.
const POSSESSIVE: Pattern = Pattern {
    class: NOUN,
    clauses: &[Clause::Has(neighbor(Relations::Is(Relation::NMOD_POSS), NOUN).slot(SUBJECT))],
};

/// "a horse is ridden by a man". Slot 0 is the predicate.
const AGENT: Pattern = Pattern {
    class: VERB,
    clauses: &[
        Clause::Has(neighbor(Relations::Named(|name| name == "nmod:agent"), NOUN).slot(SUBJECT)),
        Clause::Has(neighbor(Relations::Is(Relation::NSUBJPASS), NOUN).slot(OBJECT)),
    ],
};

/// "two men ride horses". Slot 0 is the predicate.
const PLURAL_SUBJECT_AND_OBJECT: Pattern = Pattern {
    class: Class::ANY,
    clauses: &[
        Clause::Has(neighbor(NSUBJ, PLURAL).slot(SUBJECT)),
        Clause::AnyOf(&[
            &[Clause::Has(neighbor(DIRECT_OR_INDIRECT, PLURAL).slot(OBJECT))],
            &[Clause::Has(neighbor(NMOD_WITHOUT_AGENT, PLURAL).slot(OBJECT).with(HAS_CASE))],
        ]),
    ],
};

/// "two men smile". Slot 0 is the noun, here and in the next pattern.
const PLURAL_SUBJECT: Pattern = Pattern {
    class: PLURAL,
    clauses: &[Clause::AnyOf(&[
        &[Clause::Root],
        &[Clause::Under(neighbor(NSUBJ, Class::ANY).with(&[
            Clause::Lacks(neighbor(DIRECT_OR_INDIRECT, PLURAL)),
            Clause::Lacks(neighbor(NMOD_WITHOUT_AGENT, PLURAL).with(HAS_CASE)),
        ]))],
    ])],
};

/// "a man rides two horses".
const PLURAL_ELSEWHERE: Pattern = Pattern {
    class: PLURAL,
    clauses: &[
        Clause::NotRoot,
        Clause::NotUnder(neighbor(NSUBJ, Class::ANY)),
        Clause::NotUnder(
            neighbor(OBJECT_OR_ANY_NMOD, Class::ANY).with(&[Clause::Has(neighbor(NSUBJ, PLURAL))]),
        ),
    ],
};

/// "a police dog". Slot 0 is the last word.
const COMPOUND: Pattern = Pattern {
    class: NOUN,
    clauses: &[Clause::Has(neighbor(Relations::Is(Relation::COMPOUND), NOUN).slot(OBJECT))],
};

/// Returns the tuples of a sentence with its basic dependencies, in the order of the reference
/// implementation.
///
/// # Errors
/// Returns a [`ReadError`] if the dependencies, tags or lemmas do not match the words.
pub fn read_tuples(
    parsed: &ParsedSentence<'_>,
    basic: &[BasicDependency<'_>],
    lists: &Lists,
) -> Result<Vec<Tuple>, ReadError> {
    let (words, lemmas) = (parsed.sentence.words.len(), parsed.lemmas.len());
    if words != lemmas {
        return Err(ReadError::Lemmas { words, lemmas });
    }
    let mut graph = process(&parsed.sentence, basic, &lists.prepositions)?;
    rewrite(&mut graph, &parsed.sentence, lists);
    Ok(tuples(&graph, parsed))
}

/// Returns the tuples of a sentence in the order of the reference implementation.
///
/// `graph` is the rewritten graph.
#[must_use]
pub fn tuples(graph: &Graph, parsed: &ParsedSentence<'_>) -> Vec<Tuple> {
    let classes: Vec<Class> = parsed.sentence.tags.iter().map(|tag| class(tag)).collect();
    let order = graph.search_order();
    let search = Search { graph, classes: &classes, order: &order };
    let mut reader = Reader { graph, parsed, search, tuples: Vec::new() };
    reader.read_predicates();
    reader.read_modifiers();
    reader.read_numbers();
    reader.read_objects();
    reader.tuples
}

struct Reader<'a> {
    graph: &'a Graph,
    parsed: &'a ParsedSentence<'a>,
    search: Search<'a>,
    tuples: Vec<Tuple>,
}

impl Reader<'_> {
    fn read_predicates(&mut self) {
        for found in self.search.all(&SUBJECT_AND_OBJECT) {
            self.add_predicate(found.word(SUBJECT), found.word(0), &found);
        }
        for found in self.search.all(&PARTICIPLE) {
            self.add_predicate(found.word(0), found.word(PREDICATE), &found);
        }
        for pattern in [SUBJECT_ALONE, COPULA] {
            for found in self.search.all(&pattern) {
                self.add_state(found.word(SUBJECT), found.word(0));
            }
        }
    }

    fn read_modifiers(&mut self) {
        for found in self.search.all(&ADJECTIVE_OF) {
            self.add_attribute(found.word(0), found.word(OBJECT));
        }
        for found in self.search.all(&ADJECTIVE_PREDICATE) {
            self.add_attribute(found.word(SUBJECT), found.word(0));
        }
        for found in self.search.all(&PREPOSITIONAL) {
            let preposition = preposition(self.graph.name(found.relation(OBJECT))).replace('_', " ");
            if !matches!(preposition.as_str(), "poss" | "agent") {
                self.add_relation(found.word(0), found.word(OBJECT), preposition);
            }
        }
        for found in self.search.all(&POSSESSIVE) {
            self.add_relation(found.word(SUBJECT), found.word(0), "have".to_owned());
        }
        for found in self.search.all(&AGENT) {
            let predicate = self.predicate(found.word(0));
            self.add_relation(found.word(SUBJECT), found.word(OBJECT), predicate);
        }
    }

    fn read_numbers(&mut self) {
        for found in self.search.first_of_each(&PLURAL_SUBJECT_AND_OBJECT) {
            self.add_number(found.word(SUBJECT));
            self.add_number(found.word(OBJECT));
        }
        for pattern in [PLURAL_SUBJECT, PLURAL_ELSEWHERE] {
            for found in self.search.first_of_each(&pattern) {
                self.add_number(found.word(0));
            }
        }
    }

    fn read_objects(&mut self) {
        let mut in_compounds = Vec::new();
        for found in self.search.all(&COMPOUND) {
            in_compounds.extend([found.word(0), found.word(OBJECT)]);
            self.add_attribute(found.word(0), found.word(OBJECT));
        }
        for found in self.search.all(&Pattern { class: NOUN, clauses: &[] }) {
            if !in_compounds.contains(&found.word(0)) {
                let object = self.name(found.word(0));
                self.tuples.push(Tuple::Object(object));
            }
        }
    }

    /// Returns the lemma as used in tuples: trimmed and in lower case.
    fn name(&self, word: WordId) -> String {
        capeval_ptb::lowercase(self.lemma(word).trim_matches(|character| character <= ' '))
    }

    fn lemma(&self, word: WordId) -> &str {
        self.parsed.lemmas[self.graph.index(word) - 1]
    }

    fn word(&self, word: WordId) -> &str {
        self.parsed.sentence.words[self.graph.index(word) - 1]
    }

    fn add_attribute(&mut self, object: WordId, attribute: WordId) {
        let (object, attribute) = (self.name(object), self.name(attribute));
        self.tuples.push(Tuple::Attribute { object, attribute });
    }

    fn add_relation(&mut self, subject: WordId, object: WordId, relation: String) {
        let (subject, object) = (self.name(subject), self.name(object));
        self.tuples.push(Tuple::Relation { subject, object, relation });
    }

    /// Returns the verb with its particle: "stand up".
    ///
    /// A particle of "be" is used without the verb, after a space.
    fn predicate(&self, verb: WordId) -> String {
        let lemma = self.lemma(verb);
        match self.graph.children_by(verb, Relation::PARTICLE).next() {
            Some(particle) => {
                let lemma = if lemma == "be" { "" } else { lemma };
                format!("{lemma} {}", self.word(particle))
            }
            None => lemma.to_owned(),
        }
    }

    /// Adds a predicate with the preposition of its object: "ride on".
    fn add_predicate(&mut self, subject: WordId, verb: WordId, found: &Match) {
        let mut predicate = self.predicate(verb);
        let name = self.graph.name(found.relation(OBJECT));
        if name.starts_with("nmod:") && !matches!(name, "nmod:poss" | "nmod:agent") {
            predicate.push(' ');
            predicate.push_str(&preposition(name).replace('_', " "));
        }
        self.add_relation(subject, found.word(OBJECT), predicate);
    }

    /// Adds a predicate without an object: a relation if it has a preposition ("is in the house"), otherwise
    /// an attribute.
    fn add_state(&mut self, subject: WordId, predicate: WordId) {
        if let Some(case) = self.graph.children_by(predicate, Relation::CASE).next() {
            let mut preposition = self.word(case).to_owned();
            for part in self.graph.child_set(case, Relation::MWE) {
                preposition.push(' ');
                preposition.push_str(self.word(part));
            }
            self.add_relation(subject, predicate, preposition);
        } else if self.lemma(predicate) != "be" {
            self.add_attribute(subject, predicate);
        }
    }

    /// Adds the number of a plural noun if it precedes the noun, and otherwise its quantity.
    fn add_number(&mut self, noun: WordId) {
        let number = self.graph.children_by(noun, Relation::NUMMOD).next();
        let quantity = self.graph.children_by(noun, Relation::QMOD).next();
        match (number, quantity) {
            (Some(number), _) if self.graph.index(number) < self.graph.index(noun) => {
                self.add_attribute(noun, number);
            }
            (None, Some(quantity)) => self.add_attribute(noun, quantity),
            _ => {}
        }
    }
}

/// Returns the preposition in the name of a relation.
fn preposition(name: &str) -> &str {
    name.strip_prefix("nmod:").unwrap_or(name)
}
