//! Statistics of the metrics, one row per candidate.

use rayon::prelude::*;

/// Runs `row` for each candidate in parallel.
///
/// Its arguments are the candidate's index, a scratch value of the task, and the candidate's row of `width`
/// numbers to fill.
pub(crate) fn fill_rows<T: Send>(
    rows: usize,
    width: usize,
    scratch: impl Fn() -> T + Sync + Send,
    row: impl Fn(usize, &mut T, &mut [f64]) + Sync + Send,
) -> Vec<f64> {
    let mut values = vec![0.0; rows * width];
    // Small enough that threads share a minibatch, and large enough to be worth starting a task.
    let candidates = 128;
    values.par_chunks_mut(width * candidates).enumerate().for_each_init(
        scratch,
        |scratch, (chunk, values)| {
            for (i, values) in values.chunks_mut(width).enumerate() {
                row(chunk * candidates + i, scratch, values);
            }
        },
    );
    values
}
