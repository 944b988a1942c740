//! Names of relations as small numbers.

/// A relation of a graph: a number that stands for its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Relation(u16);

macro_rules! relations {
    ($($constant:ident = $name:literal),* $(,)?) => {
        /// Relations of basic dependencies. A colon in these names is part of the name.
        const BASIC: &[&str] = &[$($name),*];
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Number { $($constant),* }
        impl Relation {
            $(#[doc = concat!("`", $name, "`")]
            pub const $constant: Self = Self(Number::$constant as u16);)*
        }
    };
}

relations! {
    ROOT = "root", DEP = "dep",
    NSUBJ = "nsubj", NSUBJPASS = "nsubjpass", CSUBJ = "csubj", CSUBJPASS = "csubjpass",
    DOBJ = "dobj", IOBJ = "iobj", XCOMP = "xcomp", CCOMP = "ccomp",
    AUX = "aux", AUXPASS = "auxpass", COP = "cop", MARK = "mark", EXPL = "expl",
    CASE = "case", MWE = "mwe", CC = "cc", CONJ = "conj", PRECONJ = "cc:preconj",
    NMOD = "nmod", NMOD_POSS = "nmod:poss", NMOD_NPMOD = "nmod:npmod", NMOD_TMOD = "nmod:tmod",
    ACL = "acl", RELCL = "acl:relcl", ADVCL = "advcl",
    AMOD = "amod", ADVMOD = "advmod", NUMMOD = "nummod", NEG = "neg",
    DET = "det", PREDET = "det:predet", QMOD = "det:qmod",
    COMPOUND = "compound", PARTICLE = "compound:prt",
    APPOS = "appos", PARATAXIS = "parataxis", LIST = "list", DISCOURSE = "discourse",
    GOES_WITH = "goeswith", PUNCT = "punct",
}

/// The names of a graph's relations: the basic ones, and those that were extended by a
/// preposition or a conjunction, such as `nmod:in_front_of`.
#[derive(Clone, Debug, Default)]
pub struct RelationNames {
    extended: Vec<String>,
}

impl RelationNames {
    /// The name of a relation of this graph.
    #[must_use]
    pub fn name(&self, relation: Relation) -> &str {
        let number = usize::from(relation.0);
        BASIC.get(number).copied().unwrap_or_else(|| &self.extended[number - BASIC.len()])
    }

    /// The relation with a name.
    pub fn relation(&mut self, name: &str) -> Relation {
        let known = BASIC.iter().copied().position(|basic| basic == name);
        let known = known.or_else(|| {
            let place = self.extended.iter().position(|extended| extended == name)?;
            Some(BASIC.len() + place)
        });
        let number = known.unwrap_or_else(|| {
            self.extended.push(name.to_owned());
            BASIC.len() + self.extended.len() - 1
        });
        Relation(number as u16)
    }

    /// `conj`, extended by a conjunction.
    pub(crate) fn conjunction(&mut self, conjunction: &str) -> Relation {
        self.relation(&format!("conj:{conjunction}"))
    }

    /// `nmod`, `acl` or `advcl` extended by a preposition, which replaces an earlier one. Other
    /// relations stay as they are.
    pub(crate) fn with_case(&mut self, relation: Relation, case: &str) -> Relation {
        let name = self.name(relation);
        let base = if is_basic(relation) { name } else { name.split(':').next().unwrap_or(name) };
        if !matches!(base, "nmod" | "acl" | "advcl") {
            return relation;
        }
        let extended = format!("{base}:{case}");
        self.relation(&extended)
    }

    /// Whether the relation is a `conj` that was extended by its conjunction.
    pub(crate) fn is_named_conjunction(&self, relation: Relation) -> bool {
        !is_basic(relation) && self.name(relation).starts_with("conj:")
    }
}

fn is_basic(relation: Relation) -> bool {
    usize::from(relation.0) < BASIC.len()
}
