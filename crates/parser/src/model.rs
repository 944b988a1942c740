//! Compiled models.

use capeval_tables::{Kind, TableError, TableFile};

use crate::compile::KIND;
use crate::layout::Layout;
use crate::lexicon::Lexicon;

/// Labels of the tree and of the words of a sentence without a parse.
const NO_PARSE: [&str; 2] = ["X", "XX"];

/// A grammar and lexicon compiled by [`crate::compile()`].
///
/// Opening a model loads the grammar in the layout of the chart. The words stay in the table file, so that
/// processes that map the same file share them.
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
    /// Opens a table file that contains only a model.
    ///
    /// # Errors
    /// Returns a [`TableError`] if the bytes are not a complete model of this version.
    pub fn open(bytes: B) -> Result<Self, TableError> {
        Self::open_in(bytes, KIND)
    }

    /// Opens a table file of another kind that contains the sections of a model.
    ///
    /// # Errors
    /// Returns the errors of [`Model::open`].
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

    /// Returns the labels of phrases and tags. A [`crate::Parse`] refers to them by index.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }
}
