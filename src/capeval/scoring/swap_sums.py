"""Sums of statistics over swapped images, from which the randomization test of any pair is computed.

With `T` the sum of a system's statistics over all images, and `S` the sum over the images of a swap, the sums
after the swap are `T_a - S_a + S_b` and `T_b - S_b + S_a`. All systems share the swaps, so each system is
summed once, for any number of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.metrics.base import Metric
from capeval.scoring.resampling import MOST_EXACT, Draws, list_swaps, sum_statistics

__all__ = ["SwapSums", "create_swap_sums", "score_swaps", "score_totals"]


@dataclass(frozen=True, kw_only=True, eq=False)
class SwapSums:
    """The statistics of a system, summed over the images of each swap (`sum_swaps`).

    With the same number of images, in the same order, and the same seed, the swaps are the same for every
    system. `difference` can therefore test two systems with them, also later.

    Attributes:
        metric: The metric that computes scores from the statistics.
        total: The statistics summed over all images.
        rows: The sums of each drawn swap, one row per swap. For an exact test, the statistics of each image,
            one row per image: all swaps are listed from them.
        images: The number of images.
        seed: The seed of drawn swaps.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import sum_swaps
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> report = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "People."}, ["ROUGE-1"])
        >>> sums = sum_swaps(report)["ROUGE-1"]
        >>> sums.total.tolist(), sums.rows.tolist(), sums.is_exact
        ([1.5, 3.0], [[1.0, 1.0], [0.5, 1.0], [0.0, 1.0]], True)
    """

    metric: Metric
    total: FloatArray
    rows: FloatArray
    images: int
    seed: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether the test uses all swaps, which it does for few images."""
        return self.images <= MOST_EXACT


def create_swap_sums(
    metrics: Sequence[Metric], statistics: Sequence[FloatArray], draws: Draws
) -> list[SwapSums]:
    """Sum the statistics of each metric, of shape (images, statistics), over the images of each swap."""
    images = len(statistics[0])
    is_exact = images <= MOST_EXACT
    rows = statistics if is_exact else sum_statistics(statistics, draws.swaps(images))
    return [
        SwapSums(metric=metric, total=own.sum(axis=0), rows=sums, images=images, seed=draws.seed)
        for metric, own, sums in zip(metrics, statistics, rows, strict=True)
    ]


def score_swaps(first: SwapSums, second: SwapSums) -> FloatArray:
    """Return the difference of two systems after each swap, of shape (swaps, scores).

    Raises:
        MismatchError: The two differ in scores, number of images, number of swaps or seed.
    """
    facts = [
        (each.metric.names, each.images, each.rows.shape, 0 if each.is_exact else each.seed)
        for each in (first, second)
    ]
    if facts[0] != facts[1]:
        both = " and ".join(
            f"{each.metric.names[0]}, {each.images:,} images, {len(each.rows):,} swaps, seed {each.seed}"
            for each in (first, second)
        )
        raise MismatchError(f"sums of swaps must have the same scores, images, swaps and seed (got {both})")
    moved = second.rows - first.rows
    if first.is_exact:
        moved = np.concatenate([swaps @ moved for swaps in list_swaps(first.images)])
    # Aggregated by the metric of the first: both metrics have the same names.
    metric = first.metric
    score = metric.aggregate_for_tests
    differences: FloatArray = score(first.total + moved) - score(second.total - moved)
    return differences


def score_totals(first: SwapSums, second: SwapSums) -> FloatArray:
    """Return the difference of two systems without a swap, for each score."""
    score = first.metric.aggregate_for_tests
    difference: FloatArray = score(first.total) - score(second.total)
    return difference
