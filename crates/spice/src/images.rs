//! Scene graphs of many images.

use capeval_meteor::Synonyms;
use capeval_tables::TableError;
use rayon::prelude::*;

use crate::concept::Concepts;
use crate::lists::Lists;
use crate::matching::GraphTuples;
use crate::scene_graph::SceneGraph;
use crate::tuples::Tuple;

/// Builds one graph per image from all its captions, in order.
///
/// `captions` has the tuples of each caption. The captions of image `i` are those from `starts[i]` up to
/// `starts[i + 1]`.
///
/// # Errors
/// Returns a [`TableError`] if the table of synonyms is damaged.
///
/// # Panics
/// Panics if `starts` is not sorted, or exceeds the number of captions.
pub fn image_graphs<C: AsRef<[Tuple]> + Sync, B: AsRef<[u8]> + Sync>(
    captions: &[C],
    starts: &[usize],
    synonyms: &Synonyms<B>,
    lists: &Lists,
) -> Result<Vec<GraphTuples>, TableError> {
    let image = |concepts: &mut Concepts<'_, B>, bounds: &[usize]| {
        let tuples = captions[bounds[0]..bounds[1]].iter().flat_map(AsRef::as_ref);
        Ok(GraphTuples::new(SceneGraph::new(tuples, concepts)?, lists))
    };
    starts.par_windows(2).map_init(|| Concepts::new(synonyms), image).collect()
}
