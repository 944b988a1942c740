//! Compilation of SPICE's model from the files of the reference implementation.

use std::io::{Read, Seek};

use capeval_lemmas::{Sections, SectionsError};
use capeval_meteor::{CompileError, compile_synonyms};
use capeval_parser::{Compiled, ModelError, Source};
use capeval_spice::{KIND, Model, Rules, RulesError};
use capeval_tables::write;

use crate::{Error, Jars, Reference};

/// Error of compiling the model.
#[derive(Debug, thiserror::Error)]
pub enum ModelCompileError {
    /// The rules cannot be read from their jars.
    #[error(transparent)]
    Reference(#[from] Error),
    /// The grammar cannot be read from the models jar.
    #[error(transparent)]
    Grammar(#[from] ModelError),
    /// The rules cannot be serialized.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// The lemma tables are invalid.
    #[error(transparent)]
    Lemmas(#[from] SectionsError),
    /// The synonyms are invalid.
    #[error(transparent)]
    Synonyms(#[from] CompileError),
}

/// Returns the bytes of a table file with all of SPICE's data, for [`Model::open`].
///
/// `models` is CoreNLP's models jar. `synsets` and `exceptions` are METEOR's synonym lists.
///
/// # Errors
/// Returns a [`ModelCompileError`] if a file differs from the reference implementation's.
pub fn compile_model<R: Read + Seek>(
    jars: Jars,
    models: R,
    mut synsets: &[u8],
    mut exceptions: &[u8],
) -> Result<Vec<u8>, ModelCompileError> {
    let reference = Reference::read(jars)?;
    let mut source = Source::from_jar(models)?;
    source.spellings = reference.spellings;
    source.our_words = reference.our_words;
    let grammar = Compiled::new(&source)?;
    let rules = reference.rules.to_bytes()?;
    let lemmas = Sections::new(&reference.lemmas)?;
    let synonyms = compile_synonyms(&mut synsets, &mut exceptions)?;
    let mut contents = grammar.contents();
    contents.push(Rules::contents(&rules));
    contents.extend(lemmas.contents());
    contents.push(Model::<Vec<u8>>::synonyms_contents(&synonyms));
    Ok(write(KIND, &contents))
}
