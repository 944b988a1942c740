"""BLEU under pycocoevalcap's name."""

from __future__ import annotations

from collections.abc import Hashable

from capeval._internal.validation import checked_order
from capeval.compat.bleu.bleu_scorer import BleuScorer
from capeval.compat.scoring import Captions, Scorer
from capeval.metrics import bleu
from capeval.scoring.report import Report

__all__ = ["Bleu", "BleuScorer"]


class Bleu(Scorer):
    """BLEU-1 to BLEU-n with the closest reference length.

    Args:
        n: The maximum n-gram order, 1 to 4.

    Raises:
        OptionError: `n` is not an integer from 1 to 4.
    """

    _name = "Bleu"

    def __init__(self, n: int = 4) -> None:
        super().__init__(bleu.Bleu(orders=tuple(range(1, checked_order("n", n) + 1))))

    def compute_score(
        self,
        gts: Captions,
        res: Captions,
        verbose: int = 1,  # noqa: ARG002
    ) -> tuple[list[float], list[list[float]]]:
        """Score tokenized captions.

        Args:
            gts: The references of each image: a list of strings of tokens joined by spaces.
            res: The candidate of each image: a list of one such string.
            verbose: Accepted and ignored; nothing is printed.

        Returns:
            The corpus score of each order; and, for each order, the scores of the images in `gts`.

        Raises:
            CaptionError: An argument is not a mapping of image ids to lists of strings.
            MismatchError: The images differ, or an image does not have exactly one candidate.
        """
        return super().compute_score(gts, res)

    def result(
        self,
        report: Report,
        images: list[Hashable],  # noqa: ARG002
    ) -> tuple[list[float], list[list[float]]]:
        """Return the scores of each order, as lists."""
        names = self.metric.names
        return [report.corpus[name] for name in names], [report.per_image[name].tolist() for name in names]
