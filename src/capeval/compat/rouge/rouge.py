"""ROUGE-L under pycocoevalcap's name."""

from __future__ import annotations

from collections.abc import Sequence

from capeval.compat.scoring import SingleScorer
from capeval.errors import CaptionError
from capeval.metrics.rouge import RougeL

__all__ = ["Rouge"]


class Rouge(SingleScorer):
    """ROUGE-L with beta 1.2.

    Attributes:
        beta: The weight of recall.
    """

    _name = "Rouge"

    def __init__(self) -> None:
        super().__init__(RougeL())

    @property
    def beta(self) -> float:
        """The weight of recall; setting it changes the scores."""
        return self.metric.beta  # type: ignore[attr-defined, no-any-return]

    @beta.setter
    def beta(self, beta: float) -> None:
        self.metric = RougeL(beta=beta)

    def calc_score(self, candidate: Sequence[str], refs: Sequence[str]) -> float:
        """Return the score of one caption.

        Args:
            candidate: A list of one caption, as tokens joined by spaces.
            refs: Its references.

        Raises:
            CaptionError: The references are not a list of strings.
            MismatchError: There is not exactly one candidate.
        """
        if isinstance(candidate, str) or isinstance(refs, str):
            raise CaptionError(
                "'candidate' must be a list of one caption, and 'refs' a list of captions (got a string)"
            )
        _, scores = self.compute_score({0: list(refs)}, {0: list(candidate)})
        return float(scores[0])
