"""Base class of `BleuScorer` and `CiderScorer`, which collect pairs incrementally."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from capeval.compat.scoring import report_of
from capeval.errors import CaptionError, MismatchError
from capeval.metrics.base import Metric
from capeval.scoring.report import Report

__all__ = ["Pairs"]


class Pairs:
    """Pairs of a candidate and its references, as tokens joined by spaces.

    Attributes:
        ctest: The candidates; None for a missing one.
        crefs: The references of each candidate.
    """

    def __init__(self, test: str | None = None, refs: Sequence[str] | None = None) -> None:
        self.ctest: list[str | None] = []
        self.crefs: list[list[str]] = []
        self.cook_append(test, refs)

    def cook_append(self, test: str | None, refs: Sequence[str] | None) -> None:
        """Add a candidate and its references, unless `refs` is None."""
        if refs is not None:
            self.crefs.append(list(refs))
            self.ctest.append(test)

    def __iadd__(self, other: tuple[str, Sequence[str]] | Pairs) -> Self:
        """Add a candidate with its references, or all pairs of a different scorer.

        Raises:
            MismatchError: The other scorer is not compatible.
        """
        if isinstance(other, tuple):
            self.cook_append(*other)
        elif self.compatible(other):
            self.ctest.extend(other.ctest)
            self.crefs.extend(other.crefs)
        else:
            raise MismatchError(f"only a {type(self).__name__} with the same n can be added (got {other!r})")
        return self

    def compatible(self, other: object) -> bool:
        """Return whether pairs of a different scorer can be added."""
        return isinstance(other, type(self))

    def copy(self) -> Self:
        """Return a scorer with the same pairs."""
        new = type(self)()
        new.__dict__.update(self.__dict__, ctest=list(self.ctest), crefs=list(self.crefs))
        return new

    def size(self) -> int:
        """Return the number of pairs."""
        return len(self.crefs)

    def _score_pairs(self, metric: Metric) -> Report:
        missing = [place for place, test in enumerate(self.ctest) if test is None]
        if missing:
            raise CaptionError(f"pair {missing[0] + 1} must have a candidate (got none)")
        gts = {f"pair {number}": refs for number, refs in enumerate(self.crefs, 1)}
        res = {f"pair {number}": [test] for number, test in enumerate(self.ctest, 1) if test is not None}
        return report_of([metric], gts, res)
