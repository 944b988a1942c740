"""Shared by `BleuScorer` and `CiderScorer`: pairs of a candidate and its references, added one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from capeval.compat.scoring import report_of
from capeval.errors import CaptionError, MismatchError
from capeval.metrics.base import Metric
from capeval.scoring.report import Report

__all__ = ["Pairs"]


class Pairs:
    """Candidates with their references, as tokens joined by spaces.

    Attributes:
        ctest: The candidates; None where one is missing.
        crefs: The references of each.
    """

    def __init__(self, test: str | None = None, refs: Sequence[str] | None = None) -> None:
        self.ctest: list[str | None] = []
        self.crefs: list[list[str]] = []
        self.cook_append(test, refs)

    def cook_append(self, test: str | None, refs: Sequence[str] | None) -> None:
        """Adds a candidate and its references; nothing where there are no references."""
        if refs is not None:
            self.crefs.append(list(refs))
            self.ctest.append(test)

    def __iadd__(self, other: tuple[str, Sequence[str]] | Pairs) -> Self:
        """Adds a candidate with its references, or all pairs of another scorer.

        Raises:
            MismatchError: The other scorer is not of the same kind.
        """
        if isinstance(other, tuple):
            self.cook_append(*other)
        elif self.compatible(other):
            self.ctest.extend(other.ctest)
            self.crefs.extend(other.crefs)
        else:
            raise MismatchError(
                f"a {type(self).__name__} can only be added one of the same n (got {other!r})"
            )
        return self

    def compatible(self, other: object) -> bool:
        """Whether pairs of another scorer can be added."""
        return isinstance(other, type(self))

    def copy(self) -> Self:
        """A scorer with the same pairs."""
        new = type(self)()
        new.__dict__.update(self.__dict__, ctest=list(self.ctest), crefs=list(self.crefs))
        return new

    def size(self) -> int:
        """The number of pairs."""
        return len(self.crefs)

    def _report(self, metric: Metric) -> Report:
        missing = [place for place, test in enumerate(self.ctest) if test is None]
        if missing:
            raise CaptionError(f"pair {missing[0] + 1} must have a candidate (got none)")
        gts = {f"pair {number}": refs for number, refs in enumerate(self.crefs, 1)}
        res = {f"pair {number}": [test] for number, test in enumerate(self.ctest, 1) if test is not None}
        return report_of([metric], gts, res)
