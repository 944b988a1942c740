"""ROUGE-L under pycocoevalcap's name."""

from __future__ import annotations

import numpy as np

from capeval.compat.scoring import Captions, score
from capeval.metrics import RougeL
from capeval.types import FloatArray

__all__ = ["Rouge"]


class Rouge:
    """ROUGE-L with beta 1.2."""

    def __init__(self) -> None:
        self._metric = RougeL()

    def compute_score(self, gts: Captions, res: Captions) -> tuple[np.float64, FloatArray]:
        """Scores tokenised captions.

        Args:
            gts: The references of each image: lists of tokens joined by spaces.
            res: The candidate of each image: a list of one.

        Returns:
            The mean score, and the scores of the images of `gts`.

        Raises:
            CaptionError: An argument is not a mapping of image ids to lists of strings.
            MismatchError: The images differ, or an image has no candidate or several.
        """
        report = score(self._metric, gts, res)
        return np.float64(report.corpus["ROUGE-L"]), report.per_image["ROUGE-L"]

    def method(self) -> str:
        """`Rouge`."""
        return "Rouge"
