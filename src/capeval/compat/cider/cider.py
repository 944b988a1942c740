"""CIDEr-D under the name that pycocoevalcap gives it."""

from __future__ import annotations

import numpy as np

from capeval.compat.scoring import Captions, score
from capeval.metrics import CiderD
from capeval.types import FloatArray

__all__ = ["Cider"]


class Cider:
    """CIDEr-D, with document frequencies of the references given.

    Args:
        test: Taken and not used, as in pycocoevalcap.
        refs: Taken and not used, as in pycocoevalcap.
        n: The longest n-grams, 1 to 4.
        sigma: The width of the penalty on the difference in length.

    Raises:
        OptionError: `n` or `sigma` is something else.
    """

    def __init__(
        self,
        test: object = None,  # noqa: ARG002
        refs: object = None,  # noqa: ARG002
        n: int = 4,
        sigma: float = 6.0,
    ) -> None:
        self._metric = CiderD(n=n, sigma=sigma)

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
        return np.float64(report.corpus["CIDEr-D"]), report.per_image["CIDEr-D"]

    def method(self) -> str:
        """`CIDEr`."""
        return "CIDEr"
