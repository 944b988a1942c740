"""Significance tests of stored scores: of two scores, and between neighboring rows of a leaderboard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from capeval.errors import MismatchError
from capeval.scoring.comparisons import Method
from capeval.scoring.significance import BootstrapScore, Comparison, SwapSums, difference
from capeval_server.leaderboards.bounded_cache import BoundedCache
from capeval_server.submissions.models import Score, SwappedStatistics
from capeval_server.submissions.scoring.score_arrays import samples_of, swaps_of

__all__ = ["Key", "NeighborTest", "StoredScore", "compare_stored", "differences", "load_stored"]

# A submission's id in the database's own format, and the primary key of its score.
Key = tuple[str, int]
# Pairs whose stored arrays are in memory at the same time.
_MOST_PAIRS = 100


class NeighborTest(NamedTuple):
    """P-value of the difference to the next row, and the method of its test."""

    p_value: float
    method: Method


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredScore:
    """Score with its bootstrap replicates and its sums over swapped images.

    Attributes:
        resampled: The replicates.
        sums: The stored sums; None for scores by earlier versions, which are tested by bootstrap.
        metric: The metric of the score.
    """

    resampled: BootstrapScore
    sums: SwappedStatistics | None
    metric: str

    @cached_property
    def swaps(self) -> SwapSums | None:
        """The sums as arrays, unpacked once; None if they are not stored."""
        return None if self.sums is None else swaps_of(self.sums, self.metric)


# Tests of pairs of scores by their keys. The arrays of a score never change: a new score has a new key.
_cache: BoundedCache[tuple[Key, Key], NeighborTest | None] = BoundedCache(most=100_000)


def differences(scores: Sequence[Key | None]) -> list[NeighborTest | None]:
    """Return the test of the difference between each score and the next, like `compare_stored`.

    Args:
        scores: Keys of scores with one name and subset by the same references; None for a submission without
            the score.

    Returns:
        One test per score. It is None if the score or the next has no replicates to compare, and for the
        last score.
    """
    pairs = list(pairwise(scores))
    tests = _test_pairs([(first, second) for first, second in pairs if first and second])
    found = [tests[first, second] if first and second else None for first, second in pairs]
    return [*found, None] if scores else []


def _test_pairs(pairs: Sequence[tuple[Key, Key]]) -> dict[tuple[Key, Key], NeighborTest | None]:
    known = _cache.known("", pairs)
    missing = [pair for pair in pairs if pair not in known]
    for start in range(0, len(missing), _MOST_PAIRS):
        some = missing[start : start + _MOST_PAIRS]
        keys = {score for pair in some for _, score in pair}
        stored = load_stored(list(Score.objects.filter(pk__in=keys).select_related("result")))
        new = {(a, b): _test(stored.get(a[1]), stored.get(b[1])) for a, b in some}
        _cache.add("", new)
        known |= new
    return known


def _test(first: StoredScore | None, second: StoredScore | None) -> NeighborTest | None:
    found = compare_stored(first, second)
    return None if found is None else NeighborTest(found.p_value, found.method)


def load_stored(scores: Sequence[Score]) -> dict[int, StoredScore]:
    """Return the stored arrays of scores by primary key, without scores that are not finite.

    Args:
        scores: Scores with their results.
    """
    results = {score.result_id for score in scores}
    sums = {
        (found.result_id, found.subset): found
        for found in SwappedStatistics.objects.filter(
            result__in=results, subset__in={score.subset for score in scores}
        )
    }
    stored = {}
    for score in scores:
        values = samples_of(score)
        if score.value is None or values is None:
            continue
        if not (math.isfinite(score.value) and np.isfinite(values).all()):
            continue
        stored[score.pk] = StoredScore(
            resampled=BootstrapScore(name=score.name, score=score.value, values=values, units=score.images),
            sums=sums.get((score.result_id, score.subset)),
            metric=score.result.metric,
        )
    return stored


def compare_stored(first: StoredScore | None, second: StoredScore | None) -> Comparison | None:
    """Compare two scores by the same references, as `capeval compare` does.

    The test is paired randomization. If one of the scores has no sums over swapped images, it is the paired
    bootstrap over images, corrected for the number of images if that is stored.

    Returns:
        The comparison, or None if a score or its replicates are missing, or if their numbers of samples
        differ.
    """
    if first is None or second is None:
        return None
    swaps = None
    if first.swaps is not None and second.swaps is not None:
        swaps = first.swaps, second.swaps
    try:
        return difference(first.resampled, second.resampled, swaps=swaps)
    except MismatchError:
        # The number of samples is a setting, which changed between the scoring of the two.
        return None
