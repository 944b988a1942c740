//! Scene graphs of many images at once.

use capeval_meteor::Synonyms;
use capeval_tables::TableError;
use rayon::prelude::*;

use crate::concept::Concepts;
use crate::lists::Lists;
use crate::matching::GraphTuples;
use crate::scene_graph::SceneGraph;
use crate::tuples::Tuple;

/// One graph for each image, of all of its captions in their order.
///
/// `captions` has the tuples of each caption. The captions of image `i` are those from `starts[i]`
/// up to `starts[i + 1]`.
///
/// # Errors
/// A [`TableError`] if the table of synonyms is damaged.
///
/// # Panics
/// If `starts` descends or goes beyond the captions.
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
