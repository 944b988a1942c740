"""Resampling of images: image weights, and scores of weighted sums of statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import draw_resample_counts, make_generator
from capeval.data.scores import FloatArray
from capeval.metrics.base import Metric

__all__ = [
    "MOST_EXACT",
    "Draws",
    "chunk_sizes",
    "draw_resamples",
    "draw_swaps",
    "list_swaps",
    "score_corpus",
    "score_resamples",
    "score_swaps",
]

MOST_EXACT = 16
"""The largest number of images for which all swaps are listed, 65,536."""

# The weights of resamples are computed in chunks of this many numbers (16 MB).
_CHUNK = 2_000_000


def draw_resamples(images: int, samples: int, seed: int) -> Iterator[FloatArray]:
    """Yield chunks of bootstrap resamples: the number of draws of each image."""
    rng = make_generator(seed, 0)
    return _draw_weights(images, samples, lambda: draw_resample_counts(images, rng))


def draw_swaps(images: int, samples: int, seed: int) -> Iterator[FloatArray]:
    """Yield chunks of random swaps: 1 for images with swapped candidates, else 0."""
    rng = make_generator(seed, 1)
    return _draw_weights(images, samples, lambda: rng.integers(0, 2, images, dtype=bool))


def list_swaps(images: int) -> Iterator[FloatArray]:
    """Yield all swaps of at most `MOST_EXACT` images: 1 for images with swapped candidates, else 0."""
    places = np.arange(images)
    yield (np.arange(2**images)[:, None] >> places & 1).astype(np.float64)


class Draws:
    """Random draws for any number of systems.

    Args:
        samples: The number of resamples, and of swaps.
        seed: The seed.
        is_stored: Whether to store the draws for each number of images, with one byte per image and draw;
            otherwise, they are drawn again each time.
    """

    def __init__(self, samples: int, seed: int, *, is_stored: bool) -> None:
        self.samples = samples
        self.seed = seed
        self._is_stored = is_stored
        self._stored: dict[tuple[str, int], NDArray[np.uint8]] = {}

    def resamples(self, images: int) -> Iterator[FloatArray]:
        """Yield the chunks of `draw_resamples`."""
        return self._iter_chunks(draw_resamples, images)

    def swaps(self, images: int) -> Iterator[FloatArray]:
        """Yield the chunks of `list_swaps` for few images, and otherwise of `draw_swaps`."""
        return list_swaps(images) if images <= MOST_EXACT else self._iter_chunks(draw_swaps, images)

    def _iter_chunks(
        self, draw: Callable[[int, int, int], Iterator[FloatArray]], images: int
    ) -> Iterator[FloatArray]:
        if not self._is_stored:
            yield from draw(images, self.samples, self.seed)
            return
        key = (draw.__name__, images)
        if key not in self._stored:
            # A byte is enough: the probability of drawing an image 256 times is below 1e-500.
            stored = np.empty((self.samples, images), np.uint8)
            start = 0
            for rows in draw(images, self.samples, self.seed):
                stored[start : start + len(rows)] = rows
                start += len(rows)
            self._stored[key] = stored
        start = 0
        # The chunks are the same as without storage, so that sums are bit-identical.
        for size in chunk_sizes(images, self.samples):
            yield self._stored[key][start : start + size].astype(np.float64)
            start += size


def chunk_sizes(images: int, samples: int) -> Iterator[int]:
    """Yield the number of resamples of each chunk, so that its weights fit in memory."""
    size = max(1, _CHUNK // images)
    for done in range(0, samples, size):
        yield min(size, samples - done)


def score_corpus(metrics: Sequence[Metric], statistics: Sequence[FloatArray]) -> dict[str, float]:
    """Return the corpus scores by name."""
    return {
        name: score
        for metric, rows in zip(metrics, statistics, strict=True)
        for name, score in zip(metric.names, metric.aggregate(rows.sum(axis=0)).tolist(), strict=True)
    }


def score_resamples(
    metrics: Sequence[Metric], statistics: Sequence[FloatArray], weights: Iterator[FloatArray]
) -> list[FloatArray]:
    """Return the scores of each resample: one array (samples, scores) per metric."""
    summed = _sum_statistics(statistics, weights)
    return [metric.aggregate(sums) for metric, sums in zip(metrics, summed, strict=True)]


def score_swaps(
    metrics: Sequence[Metric],
    first: Sequence[FloatArray],
    second: Sequence[FloatArray],
    weights: Iterator[FloatArray],
) -> list[FloatArray]:
    """Return the difference of two systems after each swap.

    Returns:
        One array of shape (samples, scores) per metric.
    """
    moved = _sum_statistics([b - a for a, b in zip(first, second, strict=True)], weights)
    return [
        metric.aggregate(a.sum(axis=0) + change) - metric.aggregate(b.sum(axis=0) - change)
        for metric, a, b, change in zip(metrics, first, second, moved, strict=True)
    ]


def _sum_statistics(statistics: Sequence[FloatArray], weights: Iterator[FloatArray]) -> list[FloatArray]:
    """Sum the statistics of each resample: one array (samples, statistics) per metric."""
    # One product per metric: the rounding of its sums must not depend on the other metrics.
    sums = [[rows @ each for each in statistics] for rows in weights]
    return [np.concatenate(parts) for parts in zip(*sums, strict=True)]


def _draw_weights(
    images: int, samples: int, draw: Callable[[], NDArray[np.integer | np.bool_]]
) -> Iterator[FloatArray]:
    for size in chunk_sizes(images, samples):
        weights = np.empty((size, images))
        for row in weights:
            row[:] = draw()
        yield weights
