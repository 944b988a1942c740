"""Significance tests between neighboring rows of a leaderboard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from capeval.errors import MismatchError
from capeval.scoring.significance import BootstrapScore, difference
from capeval_server.leaderboards.bounded_cache import BoundedCache
from capeval_server.submissions.models import Score
from capeval_server.submissions.scoring.score_arrays import samples_of

__all__ = ["Key", "differences", "resampled"]

# A submission's id in the database's own format, and the primary key of its score.
Key = tuple[str, int]

# P-values of pairs of scores by their keys. The replicates of a score never change: a new score has a new
# key.
_cache: BoundedCache[tuple[Key, Key], float | None] = BoundedCache(most=100_000)


def differences(scores: Sequence[Key | None]) -> list[float | None]:
    """Return the p-value of the difference between each score and the next.

    The test is a two-sided paired bootstrap over images, from stored replicates. It is corrected for the
    number of images, if that is stored, too.

    Args:
        scores: Keys of scores with one name and subset by the same references; None for a submission without
            the score.

    Returns:
        One p-value per score. It is None if the score or the next has no replicates to compare, and for the
        last score.
    """
    pairs = list(pairwise(scores))
    tests = _get_p_values([(first, second) for first, second in pairs if first and second])
    found = [tests[first, second] if first and second else None for first, second in pairs]
    return [*found, None] if scores else []


def _get_p_values(pairs: Sequence[tuple[Key, Key]]) -> dict[tuple[Key, Key], float | None]:
    known = _cache.known("", pairs)
    missing = [pair for pair in pairs if pair not in known]
    if missing:
        wanted = {key for pair in missing for _, key in pair}
        kept = {score.pk: resampled(score) for score in Score.objects.filter(pk__in=wanted)}
        new = {(a, b): _p_value(kept.get(a[1]), kept.get(b[1])) for a, b in missing}
        _cache.add("", new)
        known |= new
    return known


def resampled(score: Score) -> BootstrapScore | None:
    """Return a score with its bootstrap replicates, or None unless all are finite."""
    values = samples_of(score)
    if score.value is None or values is None:
        return None
    if not (math.isfinite(score.value) and np.isfinite(values).all()):
        return None
    return BootstrapScore(name=score.name, score=score.value, values=values, units=score.images)


def _p_value(first: BootstrapScore | None, second: BootstrapScore | None) -> float | None:
    if first is None or second is None:
        return None
    try:
        return difference(first, second).p_value
    except MismatchError:
        # The number of resamples is a setting, which changed between the scoring of the two.
        return None
