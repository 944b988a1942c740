"""Accuracy of predictions against human choices, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.scoring.intervals import wilson_interval
from capeval.studies.shared.ties import TieRules

__all__ = [
    "Accuracy",
    "AccuracyOverDraws",
    "accuracy",
    "combine_draws",
    "compute_accuracy_by_class",
]


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """Share of pairs on which a prediction and the truth agree.

    Attributes:
        value: The share, from 0 to 1; NaN if all pairs are excluded.
        low: The lower end of Wilson's score interval over pairs, at 95 %.
        high: The upper end.
        pairs: The number of pairs, without excluded ones.
        tied: The number of these pairs for which the prediction is a tie.
        from_ties: The part of the share that is due to ties of the prediction: 0 if they count as incorrect.
        truth_tied: The number of pairs without a human winner, including excluded ones.
    """

    value: float
    low: float
    high: float
    pairs: int
    tied: int
    from_ties: float
    truth_tied: int


def accuracy(
    predicted: NDArray[np.generic],
    truth: NDArray[np.generic],
    rules: TieRules = TieRules(),  # noqa: B008 - it is immutable.
) -> Accuracy:
    """Return how often a prediction and the truth choose the same candidate.

    Args:
        predicted: A number for each pair, above 0 for the first candidate: a winner, or a difference of
            scores.
        truth: The human choices, in the same form.
        rules: The rules for ties.

    Raises:
        MismatchError: The arrays have different shapes, or there are no pairs.

    Example:
        >>> import numpy as np
        >>> from capeval.studies.shared.accuracy import accuracy
        >>> from capeval.studies.shared.ties import TieRules
        >>> metric, people = np.array([0.3, 0.0, 0.2, -0.1]), np.array([1, 1, 0, -1])
        >>> found = accuracy(metric, people)  # The metric's tie is incorrect; the third pair is excluded.
        >>> round(found.value, 3), found.pairs, found.tied, found.truth_tied
        (0.667, 3, 1, 1)
        >>> half = accuracy(metric, people, TieRules(ties="half"))
        >>> round(half.value, 3), round(half.from_ties, 3)
        (0.833, 0.167)
    """
    _check_pairs(predicted, truth)
    return _count(predicted, truth, rules.credits(predicted, truth))


def _check_pairs(predicted: NDArray[np.generic], truth: NDArray[np.generic]) -> None:
    if predicted.shape != truth.shape or predicted.ndim != 1 or not predicted.size:
        raise MismatchError(
            "predictions and truth must be one-dimensional, of equal length and not empty"
            f" (got shapes {predicted.shape} and {truth.shape})"
        )


def _count(predicted: NDArray[np.generic], truth: NDArray[np.generic], credit: FloatArray) -> Accuracy:
    counted = ~np.isnan(credit)
    tied, pairs = (predicted == 0) & counted, int(counted.sum())
    value, from_ties = (float(credit[each].sum()) / pairs if pairs else math.nan for each in (counted, tied))
    low, high = wilson_interval(value, pairs) if pairs else (math.nan, math.nan)
    return Accuracy(
        value=value,
        low=low,
        high=high,
        pairs=pairs,
        tied=int(tied.sum()),
        from_ties=from_ties,
        truth_tied=int((truth == 0).sum()),
    )


def compute_accuracy_by_class(
    predicted: NDArray[np.generic],
    truth: NDArray[np.generic],
    kinds: Sequence[str | None],
    rules: TieRules = TieRules(),  # noqa: B008 - it is immutable.
) -> dict[str, Accuracy]:
    """Return the accuracy on the pairs of each class, sorted by name, and on `all`.

    Raises:
        MismatchError: The number of classes differs from the number of pairs.
    """
    if len(kinds) != len(truth):
        raise MismatchError(f"expected a class for each of {len(truth)} pairs (got {len(kinds)})")
    _check_pairs(predicted, truth)
    # All classes share one array, so that a coin toss is the same in its class and in `all`.
    credit = rules.credits(predicted, truth)
    accuracies: dict[str, Accuracy] = {}
    for kind in sorted({kind for kind in kinds if kind is not None}):
        rows = np.array([other == kind for other in kinds])
        accuracies[kind] = _count(predicted[rows], truth[rows], credit[rows])
    return {**accuracies, "all": _count(predicted, truth, credit)}


@dataclass(frozen=True, kw_only=True)
class AccuracyOverDraws:
    """Accuracy over several random draws of the references.

    The interval shows the uncertainty from the choice of pairs. The lowest and the highest draw show the
    uncertainty from the choice of references.

    Attributes:
        mean: The mean over the draws.
        low: The lower end of Wilson's score interval at 95 %, for an accuracy of `mean` on `pairs` pairs.
        high: The upper end. More draws do not narrow the interval: it is the interval of one draw, not of the
            mean.
        lowest: The lowest accuracy of a draw.
        highest: The highest accuracy of a draw.
        pairs: The number of pairs without excluded ones, in the draw with the fewest.
        draws: The number of draws.
    """

    mean: float
    low: float
    high: float
    lowest: float
    highest: float
    pairs: int
    draws: int


def combine_draws(parts: Sequence[Accuracy]) -> AccuracyOverDraws:
    """Combine the accuracies of several draws.

    Draws in which all pairs are excluded do not count.

    Raises:
        MismatchError: There are no draws.
    """
    if not parts:
        raise MismatchError("at least one draw is required (got none)")
    counted = [part for part in parts if part.pairs]
    values = [part.value for part in counted] or [math.nan]
    mean, pairs = fmean(values), min((part.pairs for part in counted), default=0)
    low, high = wilson_interval(mean, pairs) if pairs else (math.nan, math.nan)
    return AccuracyOverDraws(
        mean=mean,
        low=low,
        high=high,
        lowest=min(values),
        highest=max(values),
        pairs=pairs,
        draws=len(parts),
    )
