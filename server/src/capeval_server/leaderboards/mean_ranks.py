"""Mean ranks: the mean of a row's ranks by several scores."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from capeval.data.scores import FloatArray

__all__ = ["MeanRanks", "RankedScore", "compute_ranks"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RankedScore:
    """Values of a score that is part of mean ranks.

    Attributes:
        name: Name of the score.
        higher_is_better: Whether higher values are better.
        values: Value of each ranked row, or None; human baselines are not ranked.
    """

    name: str
    higher_is_better: bool
    values: Sequence[float | None]

    @cached_property
    def ordered(self) -> list[float]:
        """Values in ascending order."""
        return sorted(value for value in self.values if value is not None)

    @cached_property
    def array(self) -> FloatArray:
        """Values as an array, with NaN for None."""
        return np.array(self.values, dtype=np.float64)

    def count_better(self, value: float) -> int:
        """Return the number of values that are better than a value."""
        if self.higher_is_better:
            return len(self.ordered) - bisect_right(self.ordered, value)
        return bisect_left(self.ordered, value)


def compute_ranks(scores: Sequence[float], *, higher_is_better: bool) -> dict[float, int]:
    """Return the rank of each score: one more than the number of better ones."""
    ranks: dict[float, int] = {}
    for rank, score in enumerate(sorted(scores, reverse=higher_is_better), start=1):
        ranks.setdefault(score, rank)
    return ranks


@dataclass(frozen=True, eq=False)
class MeanRanks:
    """Mean ranks of rows by several scores, which all have a value per row."""

    scores: Sequence[RankedScore]

    @cached_property
    def values(self) -> list[float | None]:
        """Mean rank of each row; None if one of its scores is missing."""
        ranks = [
            compute_ranks(score.ordered, higher_is_better=score.higher_is_better) for score in self.scores
        ]
        found: list[float | None] = []
        for values in zip(*(score.values for score in self.scores), strict=True):
            known = [rank[value] for rank, value in zip(ranks, values, strict=True) if value is not None]
            found.append(sum(known) / len(known) if len(known) == len(values) else None)
        return found

    @cached_property
    def _totals(self) -> FloatArray:
        """Sum of the ranks of each row; infinite if one of its scores is missing."""
        count = len(self.scores)
        return np.array([np.inf if mean is None else round(mean * count) for mean in self.values])

    def place_reported(self, reported: Mapping[str, float]) -> tuple[float, int] | None:
        """Return the mean rank of a reported row and its rank by it, as if it were one of the rows.

        Args:
            reported: The scores of the reported row by name.

        Returns:
            None if one of the scores is missing.
        """
        if any(score.name not in reported for score in self.scores):
            return None
        total = sum(1 + score.count_better(reported[score.name]) for score in self.scores)
        totals = self._totals.copy()
        # The reported row moves the rows behind it by one rank in each score.
        for score in self.scores:
            values, own = score.array, reported[score.name]
            totals += own > values if score.higher_is_better else own < values
        return total / len(self.scores), 1 + int((totals < total).sum())
