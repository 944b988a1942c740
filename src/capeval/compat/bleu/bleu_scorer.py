"""BLEU of pairs that are added one by one, under pycocoevalcap's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self, get_args

from capeval._internal.validation import checked_choice, checked_order
from capeval.compat.pairs import Pairs
from capeval.errors import MismatchError
from capeval.metrics import bleu
from capeval.scoring.report import Report

__all__ = ["BleuScorer"]

Option = Literal["closest", "shortest", "average"]


class BleuScorer(Pairs):
    """BLEU-1 to BLEU-n of a candidate and its references, or of many.

    Args:
        test: A candidate, as tokens joined by spaces.
        refs: Its references.
        n: The longest n-grams, 1 to 4.

    Raises:
        OptionError: `n` is something else.
    """

    def __init__(self, test: str | None = None, refs: Sequence[str] | None = None, n: int = 4) -> None:
        self.n = checked_order("n", n)
        super().__init__(test, refs)

    def compatible(self, other: object) -> bool:
        """Whether pairs of another scorer can be added: it must be of the same n."""
        return isinstance(other, BleuScorer) and other.n == self.n

    def retest(self, new_test: str | Sequence[str]) -> Self:
        """Replaces the candidates.

        Raises:
            MismatchError: They are not as many as the references.
        """
        tests = [new_test] if isinstance(new_test, str) else list(new_test)
        if len(tests) != len(self.crefs):
            raise MismatchError(f"there must be {len(self.crefs)} candidates, one a pair (got {len(tests)})")
        self.ctest = list(tests)
        return self

    def rescore(self, new_test: str | Sequence[str]) -> tuple[list[float], list[list[float]]]:
        """Replaces the candidates, and scores them."""
        return self.retest(new_test).compute_score()

    def compute_score(
        self,
        option: Option | None = None,
        verbose: int = 0,  # noqa: ARG002
    ) -> tuple[list[float], list[list[float]]]:
        """Scores the pairs.

        Args:
            option: Which reference length the brevity penalty uses: `closest`, `shortest` or `average`; by
                default `average` for one pair, and `closest` for several.
            verbose: Accepted and ignored; nothing is printed.

        Returns:
            The corpus score for each order, and for each order the scores of the pairs.

        Raises:
            CaptionError: There is no pair, or one without a candidate.
            OptionError: `option` is something else.
        """
        report = self._scored(option)
        return list(report.corpus.values()), [values.tolist() for values in report.per_image.values()]

    recompute_score = compute_score

    def testlen(self, option: Option | None = None) -> int:
        """The number of words of all candidates."""
        return int(self._lengths(option)[0])

    def reflen(self, option: Option | None = None) -> float:
        """The sum of the reference lengths that the brevity penalty uses."""
        length = self._lengths(option)[1]
        # An average need not be a whole number.
        return int(length) if length.is_integer() else length

    def _lengths(self, option: Option | None) -> tuple[float, float]:
        ((_, scores),) = self._scored(option).scores
        test, reference = scores.statistics[:, :2].sum(axis=0).tolist()
        return test, reference

    def _scored(self, option: Option | None) -> Report:
        brevity = option or ("average" if len(self.crefs) == 1 else "closest")
        checked_choice("option", brevity, get_args(Option))
        return self._report(bleu.Bleu(orders=tuple(range(1, self.n + 1)), brevity=brevity))
