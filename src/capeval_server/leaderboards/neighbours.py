"""Which neighbours on a leaderboard can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from uuid import UUID

import numpy as np

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
    samples = {score.result.submission_id: samples_of(score) for score in scores}
    return [_p_value(samples.get(first), samples.get(second)) for first, second in pairwise(submissions)] + (
        [None] if submissions else []
    )


def _p_value(first: np.ndarray | None, second: np.ndarray | None) -> float | None:
    if first is None or second is None or len(first) != len(second):
        return None
    difference = first - second
    if not np.isfinite(difference).all():
        return None
    beyond = min(int((difference <= 0).sum()), int((difference >= 0).sum()))
    return min(1.0, 2 * (beyond + 1) / (len(difference) + 1))
