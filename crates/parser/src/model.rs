//! A compiled model, ready to parse.

use capeval_tables::{Kind, TableError, TableFile};

use crate::compile::KIND;
use crate::layout::Layout;
use crate::lexicon::Lexicon;

/// The label of the tree, and of the words, of a sentence that has no parse.
const NO_PARSE: [&str; 2] = ["X", "XX"];

/// A grammar and lexicon that [`crate::compile()`] made.
///
/// The grammar is put in the order that parsing wants when the model is opened; the words stay in
/// the table file, so that processes that map the same file share them.
#[derive(Debug)]
pub struct Model<B> {
    pub(crate) file: TableFile<B>,
    pub(crate) layout: Layout,
    pub(crate) lexicon: Lexicon,
    labels: Vec<String>,
    /// The labels of [`NO_PARSE`].
    pub(crate) no_parse: [u16; 2],
}

impl<B: AsRef<[u8]>> Model<B> {
    /// Open a table file of its own.
    ///
    /// # Errors
    /// A [`TableError`] if the bytes are not a whole model of this version.
    pub fn open(bytes: B) -> Result<Self, TableError> {
        Self::open_in(bytes, KIND)
    }

    /// Open a table file of another kind that holds the sections of a model, too.
    ///
    /// # Errors
    /// As [`Model::open`].
    pub fn open_in(bytes: B, kind: Kind) -> Result<Self, TableError> {
        let file = TableFile::open(bytes, kind)?;
        let layout = Layout::open(&file)?;
        let lexicon = Lexicon::open(&file, &layout.new_state)?;
        let mut labels = layout.labels.clone();
        let no_parse = NO_PARSE.map(|name| {
            let known = labels.iter().position(|label| label == name);
            known.unwrap_or_else(|| {
                labels.push(name.to_owned());
                labels.len() - 1
            }) as u16
        });
        Ok(Self { file, layout, lexicon, labels, no_parse })
    }

    /// The names of phrases and tags, by the numbers that a [`crate::Parse`] has for them.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }
}
