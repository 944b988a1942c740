"""Tests whether neighboring rows of a leaderboard differ significantly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from capeval.errors import MismatchError
from capeval.scoring.significance import Resampled, difference
from capeval_server.leaderboards.bounded_cache import BoundedCache
from capeval_server.submissions.models import Score
from capeval_server.submissions.scoring.score_arrays import samples_of

__all__ = ["LEVEL", "Key", "differences", "resampled"]

# Two submissions differ significantly if the p-value is below this.
LEVEL = 0.05
# A submission's id as the database writes it, and the key of its score.
Key = tuple[str, int]

# The p-values of pairs of scores, by their keys. The resamples of a score never change: what is scored again
# has another key.
_known: BoundedCache[tuple[Key, Key], float | None] = BoundedCache(most=100_000)


def differences(scores: Sequence[Key | None]) -> list[float | None]:
    """The p-value of the difference between each score and the one after it.

    It is the paired bootstrap over images, two-sided.

    Args:
        scores: Scores of one name and subset by the same references; None for a submission without one.

    Returns:
        A p-value for each; None where it or the next has no resamples to compare, and for the last.
    """
    pairs = list(pairwise(scores))
    tests = _tests([(first, second) for first, second in pairs if first and second])
    found = [tests[first, second] if first and second else None for first, second in pairs]
    return [*found, None] if scores else []


def _tests(pairs: Sequence[tuple[Key, Key]]) -> dict[tuple[Key, Key], float | None]:
    """The p-value of each pair."""
    known = _known.known("", pairs)
    missing = [pair for pair in pairs if pair not in known]
    if missing:
        wanted = {key for pair in missing for _, key in pair}
        kept = {score.pk: resampled(score) for score in Score.objects.filter(pk__in=wanted)}
        new = {(a, b): _p_value(kept.get(a[1]), kept.get(b[1])) for a, b in missing}
        _known.add("", new)
        known |= new
    return known


def resampled(score: Score) -> Resampled | None:
    """A score in each resample; none where they were not kept, or one is not finite."""
    values = samples_of(score)
    if score.value is None or values is None:
        return None
    if not (math.isfinite(score.value) and np.isfinite(values).all()):
        return None
    return Resampled(name=score.name, score=score.value, values=values)


def _p_value(first: Resampled | None, second: Resampled | None) -> float | None:
    if first is None or second is None:
        return None
    try:
        return difference(first, second).p_value
    except MismatchError:
        # The number of resamples is a setting: it was another one when one of the two was scored.
        return None
