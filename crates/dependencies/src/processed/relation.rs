//! Interned names of relations.

/// A relation of a graph: the index of its name.
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

/// The names of a graph's relations: the basic ones, and the ones with a preposition or conjunction, such as
/// `nmod:in_front_of`.
#[derive(Clone, Debug, Default)]
pub struct RelationNames {
    extended: Vec<String>,
}

impl RelationNames {
    /// Returns the name of a relation.
    #[must_use]
    pub fn name(&self, relation: Relation) -> &str {
        let number = usize::from(relation.0);
        BASIC.get(number).copied().unwrap_or_else(|| &self.extended[number - BASIC.len()])
    }

    /// Returns the relation with a name, adding it if it is new.
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

    /// Returns `conj` with a conjunction.
    pub(crate) fn conjunction(&mut self, conjunction: &str) -> Relation {
        self.relation(&format!("conj:{conjunction}"))
    }

    /// Returns `nmod`, `acl` or `advcl` with a preposition, which replaces an earlier one.
    ///
    /// Other relations are returned unchanged.
    pub(crate) fn with_case(&mut self, relation: Relation, case: &str) -> Relation {
        let name = self.name(relation);
        let base = if is_basic(relation) { name } else { name.split(':').next().unwrap_or(name) };
        if !matches!(base, "nmod" | "acl" | "advcl") {
            return relation;
        }
        let extended = format!("{base}:{case}");
        self.relation(&extended)
    }

    /// Returns whether a relation is `conj` with a conjunction.
    pub(crate) fn is_named_conjunction(&self, relation: Relation) -> bool {
        !is_basic(relation) && self.name(relation).starts_with("conj:")
    }
}

fn is_basic(relation: Relation) -> bool {
    usize::from(relation.0) < BASIC.len()
}
