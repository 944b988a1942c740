"""METEOR under pycocoevalcap's name, without Java."""

from __future__ import annotations

from capeval.compat.scoring import Captions, score
from capeval.metrics import meteor

__all__ = ["Meteor"]


class Meteor:
    """METEOR 1.5 with normalisation, for English."""

    def __init__(self) -> None:
        self._metric = meteor.Meteor()

    def compute_score(self, gts: Captions, res: Captions) -> tuple[float, list[float]]:
        """Scores tokenised captions.

        Args:
            gts: The references of each image: lists of tokens joined by spaces.
            res: The candidate of each image: a list of one.

        Returns:
            The corpus score, and the scores of the images of `gts`.

        Raises:
            CaptionError: An argument is not a mapping of image ids to lists of strings.
            MismatchError: The images differ, or an image has no candidate or several.
            ResourceError: The word tables are missing or damaged.
        """
        report = score(self._metric, gts, res)
        return report.corpus["METEOR"], report.per_image["METEOR"].tolist()

    def method(self) -> str:
        """`METEOR`."""
        return "METEOR"
