//! The rows of numbers that metrics give.

use rayon::prelude::*;

/// Runs `row` for each candidate in parallel: it gets the index of the candidate, a scratch value of
/// its task and the candidate's row of `width` numbers to fill.
pub(crate) fn fill_rows<T: Send>(
    rows: usize,
    width: usize,
    scratch: impl Fn() -> T + Sync + Send,
    row: impl Fn(usize, &mut T, &mut [f64]) + Sync + Send,
) -> Vec<f64> {
    let mut values = vec![0.0; rows * width];
    // Few enough that the threads share a minibatch too, and enough to be worth starting a task.
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
