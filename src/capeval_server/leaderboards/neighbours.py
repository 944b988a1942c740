"""Which neighbours on a leaderboard can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from uuid import UUID

import numpy as np

from capeval.errors import MismatchError
from capeval.significance import Resampled, difference
from capeval_server.leaderboards.questions import Question
from capeval_server.submissions.models import Score
from capeval_server.submissions.stored import samples_of

__all__ = ["LEVEL", "differences"]

# The p-value below which two submissions are said to differ.
LEVEL = 0.05


def differences(question: Question, submissions: Sequence[UUID]) -> list[float | None]:
    """The p-values of there being no difference between each submission and the one after it.

    It is the paired bootstrap over images, two-sided, on the score that is sorted by.

    Returns:
        A p-value for each submission; None where it or the next has no resamples to compare, and for
        the last.
    """
    scores = Score.objects.filter(
        result__submission__in=submissions,
        result__reference_version=question.version,
        subset=question.subset,
        name=question.sort_by,
    ).select_related("result")
    kept = {score.result.submission_id: _kept(score) for score in scores}
    tests = [_p_value(kept.get(first), kept.get(second)) for first, second in pairwise(submissions)]
    return [*tests, None] if submissions else []


def _kept(score: Score) -> Resampled | None:
    values = samples_of(score)
    if score.value is None or values is None or not np.isfinite([score.value, *values]).all():
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
