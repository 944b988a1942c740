"""BLEU of incrementally added pairs, under pycocoevalcap's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self, get_args

from capeval._internal.validation import checked_order, validate_choice
from capeval.compat.pairs import Pairs
from capeval.errors import MismatchError
from capeval.metrics import bleu
from capeval.scoring.report import Report

__all__ = ["BleuScorer"]

Option = Literal["closest", "shortest", "average"]


class BleuScorer(Pairs):
    """BLEU-1 to BLEU-n of one or more candidates and their references.

    Args:
        test: A candidate, as tokens joined by spaces.
        refs: Its references.
        n: The maximum n-gram order, 1 to 4.

    Raises:
        OptionError: `n` is not an integer from 1 to 4.
    """

    def __init__(self, test: str | None = None, refs: Sequence[str] | None = None, n: int = 4) -> None:
        self.n = checked_order("n", n)
        super().__init__(test, refs)

    def compatible(self, other: object) -> bool:
        """Return whether pairs of a different scorer can be added: its n must be equal."""
        return isinstance(other, BleuScorer) and other.n == self.n

    def retest(self, new_test: str | Sequence[str]) -> Self:
        """Replace the candidates.

        Raises:
            MismatchError: The number of candidates differs from the number of pairs.
        """
        tests = [new_test] if isinstance(new_test, str) else list(new_test)
        if len(tests) != len(self.crefs):
            raise MismatchError(
                f"there must be {len(self.crefs)} candidates, one per pair (got {len(tests)})"
            )
        self.ctest = list(tests)
        return self

    def rescore(self, new_test: str | Sequence[str]) -> tuple[list[float], list[list[float]]]:
        """Replace the candidates, and score them."""
        return self.retest(new_test).compute_score()

    def compute_score(
        self,
        option: Option | None = None,
        verbose: int = 0,  # noqa: ARG002
    ) -> tuple[list[float], list[list[float]]]:
        """Score the pairs.

        Args:
            option: The reference length for the brevity penalty: `closest`, `shortest` or `average`; by
                default `average` for one pair, and `closest` for several.
            verbose: Accepted and ignored; nothing is printed.

        Returns:
            The corpus score of each order; and, for each order, the scores of the pairs.

        Raises:
            CaptionError: There are no pairs, or a pair has no candidate.
            OptionError: `option` is invalid.
        """
        report = self._compute_report(option)
        return list(report.corpus.values()), [values.tolist() for values in report.per_image.values()]

    recompute_score = compute_score

    def testlen(self, option: Option | None = None) -> int:
        """Return the number of words in all candidates."""
        return int(self._compute_lengths(option)[0])

    def reflen(self, option: Option | None = None) -> float:
        """Return the sum of the reference lengths for the brevity penalty."""
        length = self._compute_lengths(option)[1]
        # An average may not be an integer.
        return int(length) if length.is_integer() else length

    def _compute_lengths(self, option: Option | None) -> tuple[float, float]:
        ((_, scores),) = self._compute_report(option).scores
        test, reference = scores.statistics[:, :2].sum(axis=0).tolist()
        return test, reference

    def _compute_report(self, option: Option | None) -> Report:
        brevity = option or ("average" if len(self.crefs) == 1 else "closest")
        validate_choice("option", brevity, get_args(Option))
        return self._score_pairs(bleu.Bleu(orders=tuple(range(1, self.n + 1)), brevity=brevity))
