"""Scores and ratings of captions or systems, with weights for resamples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import draw_resample_counts, make_generator
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.formats.judgments.ratings import Ratings
from capeval.metrics.base import Metric
from capeval.studies.correlation.options import Raters
from capeval.studies.shared.caption_scores import compute_caption_scores
from capeval.studies.shared.coefficients import COEFFICIENTS, OrderedScores, count_ratings

__all__ = [
    "CaptionObservations",
    "Observations",
    "RatedScores",
    "SystemObservations",
    "resample_coefficients",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class RatedScores:
    """Captions with metric scores and human ratings, with rows as in `ratings`.

    Attributes:
        ratings: The ratings.
        metrics: The metrics.
        statistics: The statistics of each metric, one row per caption.
    """

    ratings: Ratings
    metrics: tuple[Metric, ...]
    statistics: tuple[FloatArray, ...] = field(repr=False)

    @property
    def per_caption(self) -> dict[str, FloatArray]:
        """The score of each caption, by the score's name."""
        return compute_caption_scores(self.metrics, self.statistics)


class Observations:
    """Observations with fixed scores and ratings.

    Args:
        scores: The score of each observation, by name.
        ratings: The ratings of each observation: observations by ratings, with NaN for missing ones.
    """

    def __init__(self, scores: Mapping[str, FloatArray], ratings: FloatArray) -> None:
        self._values, self._counts = count_ratings(ratings)
        self._ordered = [OrderedScores(row) for row in scores.values()]
        self.names = tuple(scores)
        self.count = int(self._counts.sum())

    def __call__(self, weights: FloatArray) -> FloatArray:
        """Return the coefficients with a weight for each observation: scores by coefficients."""
        counts = self._counts * weights[:, None]
        return np.array([ordered(counts, self._values) for ordered in self._ordered])


class CaptionObservations(Observations):
    """Captions: their scores, and each rating or the mean rating."""

    def __init__(self, rated: RatedScores, raters: Raters) -> None:
        ratings = rated.ratings.values
        if raters == "mean":
            # Rounded, so that equal means tie despite different orders of summation.
            ratings = np.nanmean(ratings, axis=1, keepdims=True).round(9)
        super().__init__(rated.per_caption, ratings)


class SystemObservations:
    """Systems: their corpus scores and mean ratings, with a weight for each caption."""

    def __init__(self, rated: RatedScores) -> None:
        names, system = np.unique(np.array(rated.ratings.systems), return_inverse=True)
        if len(names) < 2:
            raise MismatchError(
                f"correlation at system level requires ratings of at least two systems (got {len(names)})"
            )
        self._members = (np.arange(len(names))[:, None] == system).astype(np.float64)
        self._sums = np.nansum(rated.ratings.values, axis=1)
        self._numbers = (~np.isnan(rated.ratings.values)).sum(axis=1)
        self._rated = rated
        self.names = tuple(name for metric in rated.metrics for name in metric.names)
        self.count = len(names)

    def __call__(self, weights: FloatArray) -> FloatArray:
        """Return the coefficients with a weight for each caption; NaN if a system has no captions."""
        if not (self._members * weights @ self._numbers).all():
            return np.full((len(self.names), len(COEFFICIENTS)), np.nan)
        return self._weigh(weights)(np.ones(self.count))

    def fix(self) -> Observations:
        """Return the systems with the scores and ratings of all captions."""
        return self._weigh(np.ones(self._members.shape[1]))

    def _weigh(self, weights: FloatArray) -> Observations:
        members = self._members * weights
        scores = {
            name: column
            for metric, rows in zip(self._rated.metrics, self._rated.statistics, strict=True)
            for name, column in zip(metric.names, metric.aggregate(members @ rows).T, strict=True)
        }
        return Observations(scores, (members @ self._sums / (members @ self._numbers)).round(9)[:, None])


def resample_coefficients(
    compute: Callable[[FloatArray], FloatArray], units: NDArray[np.int64], samples: int, seed: int
) -> FloatArray:
    """Return coefficients in resamples of units: samples by scores by coefficients.

    Args:
        compute: Function of the weights of all rows that returns scores by coefficients.
        units: The number of each row's unit, such as its image, from 0.
        samples: The number of resamples.
        seed: The seed of the resamples.
    """
    count = int(units.max()) + 1
    rng = make_generator(seed)
    return np.array(
        [compute(draw_resample_counts(count, rng)[units].astype(np.float64)) for _ in range(samples)]
    )
