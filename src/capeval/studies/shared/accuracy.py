"""Accuracy of predictions against human choices, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from capeval._internal.validation import validate_choice
from capeval.errors import MismatchError
from capeval.scoring.intervals import wilson_interval
from capeval.studies.shared.ties import Ties

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
        value: The share, from 0 to 1.
        low: The lower end of Wilson's score interval, at 95 %.
        high: The upper end.
        pairs: The number of pairs.
        tied: The number of pairs for which the prediction is a tie.
        truth_tied: The number of pairs without a winner.
    """

    value: float
    low: float
    high: float
    pairs: int
    tied: int
    truth_tied: int


def accuracy(predicted: NDArray[np.generic], truth: NDArray[np.generic], *, ties: Ties) -> Accuracy:
    """Return how often the sign of a prediction equals the sign of the truth.

    Args:
        predicted: A number for each pair, above 0 for the first candidate: a winner, or a difference of
            scores.
        truth: The human choices, in the same form.
        ties: `first` counts every tie, in the prediction or the truth, as a win of the first candidate, which
            comes closest to the paper's table; `half` counts a pair with a tie in one of the two as half
            correct.

    Raises:
        OptionError: `ties` is neither of the two.
        MismatchError: The arrays have different shapes, or there are no pairs.
    """
    validate_choice("ties", ties, get_args(Ties))
    if predicted.shape != truth.shape or predicted.ndim != 1 or not predicted.size:
        raise MismatchError(
            "predictions and truth must be one-dimensional, of equal length and not empty"
            f" (got shapes {predicted.shape} and {truth.shape})"
        )
    signs, wanted = np.sign(predicted.astype(float)), np.sign(truth.astype(float))
    tied, truth_tied = int((signs == 0).sum()), int((wanted == 0).sum())
    if ties == "first":
        right = np.where(signs == 0, 1.0, signs) == np.where(wanted == 0, 1.0, wanted)
    else:
        right = 1 - np.abs(signs - wanted) / 2
    low, high = wilson_interval(float(right.mean()), right.size)
    return Accuracy(
        value=float(right.mean()), low=low, high=high, pairs=right.size, tied=tied, truth_tied=truth_tied
    )


def compute_accuracy_by_class(
    predicted: NDArray[np.generic],
    truth: NDArray[np.generic],
    kinds: Sequence[str | None],
    *,
    ties: Ties,
) -> dict[str, Accuracy]:
    """Return the accuracy on the pairs of each class, sorted by name, and on `all`.

    Raises:
        MismatchError: The number of classes differs from the number of pairs.
    """
    if len(kinds) != len(truth):
        raise MismatchError(f"expected a class for each of {len(truth)} pairs (got {len(kinds)})")
    accuracies: dict[str, Accuracy] = {}
    for kind in sorted({kind for kind in kinds if kind is not None}):
        rows = np.array([other == kind for other in kinds])
        accuracies[kind] = accuracy(predicted[rows], truth[rows], ties=ties)
    return {**accuracies, "all": accuracy(predicted, truth, ties=ties)}


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
        pairs: The number of pairs.
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

    Raises:
        MismatchError: There are no draws, or the draws have different numbers of pairs.
    """
    if len({part.pairs for part in parts}) != 1:
        raise MismatchError("draws must have the same number of pairs, and at least one draw is required")
    values = [part.value for part in parts]
    mean, pairs = fmean(values), parts[0].pairs
    low, high = wilson_interval(mean, pairs)
    return AccuracyOverDraws(
        mean=mean,
        low=low,
        high=high,
        lowest=min(values),
        highest=max(values),
        pairs=pairs,
        draws=len(values),
    )
