"""CIDEr-D of incrementally added pairs, under pycocoevalcap's name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from capeval.compat.pairs import Pairs
from capeval.data.scores import FloatArray
from capeval.metrics import cider

__all__ = ["CiderScorer"]


class CiderScorer(Pairs):
    """CIDEr-D of candidates and their references.

    Args:
        test: A candidate, as tokens joined by spaces.
        refs: Its references.
        n: The maximum n-gram order, 1 to 4.
        sigma: The width of the length penalty.

    Raises:
        OptionError: `n` or `sigma` is invalid.
    """

    def __init__(
        self,
        test: str | None = None,
        refs: Sequence[str] | None = None,
        n: int = 4,
        sigma: float = 6.0,
    ) -> None:
        self.n = n
        self.sigma = sigma
        self._metric = cider.CiderD(n=n, sigma=sigma)
        super().__init__(test, refs)

    def compute_score(
        self,
        option: object = None,  # noqa: ARG002
        verbose: int = 0,  # noqa: ARG002
    ) -> tuple[np.float64, FloatArray]:
        """Score the pairs; each counts as one image in document frequencies.

        Args:
            option: Accepted and ignored, as in pycocoevalcap.
            verbose: Accepted and ignored, as in pycocoevalcap.

        Returns:
            The mean score, and the score of each pair.

        Raises:
            CaptionError: There are no pairs, or a pair has no candidate.
        """
        report = self._score_pairs(self._metric)
        return np.float64(report.corpus["CIDEr-D"]), report.per_image["CIDEr-D"]
