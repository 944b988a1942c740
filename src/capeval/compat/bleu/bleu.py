"""BLEU under pycocoevalcap's name."""

from __future__ import annotations

from capeval.checks import checked_order
from capeval.compat.scoring import Captions, score
from capeval.metrics import bleu

__all__ = ["Bleu"]


class Bleu:
    """BLEU-1 to BLEU-n with the closest reference length.

    Args:
        n: The longest n-grams, 1 to 4.

    Raises:
        OptionError: `n` is something else.
    """

    def __init__(self, n: int = 4) -> None:
        self._metric = bleu.Bleu(orders=tuple(range(1, checked_order("n", n) + 1)))

    def compute_score(
        self,
        gts: Captions,
        res: Captions,
        verbose: int = 1,  # noqa: ARG002
    ) -> tuple[list[float], list[list[float]]]:
        """Scores tokenised captions.

        Args:
            gts: The references of each image: lists of tokens joined by spaces.
            res: The candidate of each image: a list of one.
            verbose: Taken and not used; nothing is printed.

        Returns:
            The corpus score for each order, and for each order the scores of the images of `gts`.

        Raises:
            CaptionError: An argument is not a mapping of image ids to lists of strings.
            MismatchError: The images differ, or an image has no candidate or several.
        """
        report = score(self._metric, gts, res)
        return list(report.corpus.values()), [values.tolist() for values in report.per_image.values()]

    def method(self) -> str:
        """`Bleu`."""
        return "Bleu"
