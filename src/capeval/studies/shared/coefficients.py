"""Correlation coefficients between scores and ratings.

All coefficients are computed from one table with the number of times that captions with each score received
each rating. A bootstrap resample only changes these counts, so nothing is scored or sorted again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from capeval.data.scores import FloatArray
from capeval.errors import MismatchError

__all__ = [
    "COEFFICIENTS",
    "OrderedScores",
    "coefficients",
    "compute_pearson_of_table",
    "count_ratings",
    "none_if_undefined",
]

COEFFICIENTS = ("tau-b", "tau-c", "Spearman", "Pearson", "accuracy")
"""Kendall's tau-b and tau-c, Spearman's rho, Pearson's r, and pairwise accuracy."""


def coefficients(scores: FloatArray, ratings: FloatArray) -> dict[str, float]:
    """Return the correlation coefficients of scores with ratings.

    With P pairs of observations in the same order, Q in opposite orders, n observations, and m the smaller
    number of different scores and different ratings: tau-b is (P - Q) / sqrt((pairs with different scores)
    (pairs with different ratings)), tau-c is 2 m (P - Q) / (n^2 (m - 1)) (Kendall 1945, Stuart 1953).
    Spearman's rho is Pearson's r of the ranks, with ties at their mean rank. Accuracy is the share of the
    pairs with different ratings whose scores have the same order; equal scores count half.

    Args:
        scores: Scores of shape `(n,)`.
        ratings: Ratings of shape `(n,)`.

    Raises:
        MismatchError: The lengths differ, a value is not finite, or all scores or all ratings are equal.
    """
    if scores.shape != ratings.shape or scores.ndim != 1 or not len(scores):
        raise MismatchError(
            f"scores and ratings must have equal lengths (got shapes {scores.shape} and {ratings.shape})"
        )
    if not (np.isfinite(scores).all() and np.isfinite(ratings).all()):
        raise MismatchError("scores and ratings must be finite numbers")
    values, counts = count_ratings(ratings[:, None])
    row = OrderedScores(scores)(counts, values)
    if np.isnan(row).any():
        raise MismatchError(
            "at least two different scores and two different ratings are required (got only one value)"
        )
    return dict(zip(COEFFICIENTS, row.tolist(), strict=True))


class OrderedScores:
    """Sorted scores, for tables of counts by score and rating."""

    def __init__(self, scores: FloatArray) -> None:
        self._order = np.argsort(scores, kind="stable")
        self._levels, self._starts = np.unique(scores[self._order], return_index=True)

    def __call__(self, counts: FloatArray, values: FloatArray) -> FloatArray:
        """Return the coefficients.

        Args:
            counts: The number of times that each observation received each rating: observations by ratings.
            values: The ratings, in ascending order.
        """
        table = np.add.reduceat(counts[self._order], self._starts)
        by_score, by_rating = table.sum(axis=1), table.sum(axis=0)
        total = by_score.sum()
        below = np.cumsum(table, axis=0) - table
        worse = np.cumsum(below, axis=1) - below
        better = below.sum(axis=1, keepdims=True) - worse - below
        concordant, discordant = (table * worse).sum(), (table * better).sum()
        pairs = total * (total - 1) / 2
        different_scores = pairs - (by_score * (by_score - 1)).sum() / 2
        different_ratings = pairs - (by_rating * (by_rating - 1)).sum() / 2
        smaller = min(np.count_nonzero(by_score), np.count_nonzero(by_rating))
        if smaller < 2:
            return np.full(len(COEFFICIENTS), np.nan)
        difference = concordant - discordant
        ranks = [np.cumsum(sizes) - (sizes - 1) / 2 for sizes in (by_score, by_rating)]
        return np.array(
            [
                difference / np.sqrt(different_scores) / np.sqrt(different_ratings),
                2 * smaller * difference / (total**2 * (smaller - 1)),
                compute_pearson_of_table(table, ranks[0], ranks[1]),
                compute_pearson_of_table(table, self._levels, values),
                (concordant + (different_ratings - concordant - discordant) / 2) / different_ratings,
            ]
        )


def compute_pearson_of_table(table: FloatArray, scores: FloatArray, values: FloatArray) -> float:
    """Return Pearson's correlation of scores with values.

    Args:
        table: The number of observations with each score and value: scores by values.
        scores: The scores.
        values: The values.
    """
    by_score, by_rating = table.sum(axis=1), table.sum(axis=0)
    total = by_score.sum()
    x, y = scores - by_score @ scores / total, values - by_rating @ values / total
    return float(x @ table @ y / np.sqrt(by_score @ x**2) / np.sqrt(by_rating @ y**2))


def none_if_undefined(number: Callable[..., float], *arguments: object, **options: object) -> float | None:
    """Return a number, or None if it is undefined because all values are equal."""
    try:
        return number(*arguments, **options)
    except MismatchError:
        return None


def count_ratings(ratings: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the different ratings, and the count of each in each row."""
    values = np.unique(ratings[~np.isnan(ratings)])
    counts = (ratings[:, :, None] == values).sum(axis=1).astype(np.float64)
    return values, counts
