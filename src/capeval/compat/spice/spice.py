"""SPICE under pycocoevalcap's name, without Java."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from capeval.compat.scoring import Captions, score
from capeval.evaluation import Report
from capeval.metrics import spice
from capeval.resources.parses import ParseStore
from capeval.types import ImageId

__all__ = ["Spice", "category_scores", "mean_f"]

_Scores = dict[str, dict[str, float]]
"""The scores of an image: by category, then by `pr`, `re`, `f`, `fn`, `numImages`, `fp` and `tp`."""

# pycocoevalcap's names of the categories, in the order of its results.
_CATEGORIES = {
    "All": "All",
    "Relation": "Relation",
    "Cardinality": "Count",
    "Attribute": "Attribute",
    "Size": "Size",
    "Color": "Color",
    "Object": "Object",
}


class Spice:
    """SPICE 1.0 on tokens, with all categories of tuples.

    Attributes:
        metric: What it scores with.

    Args:
        store: Where parses are kept between runs; nowhere by default.
    """

    def __init__(self, store: ParseStore | None = None) -> None:
        self.metric = spice.Spice(
            categories=tuple(_CATEGORIES.values()), measures=("precision", "recall", "F"), store=store
        )

    def compute_score(self, gts: Captions, res: Captions) -> tuple[np.float64, list[_Scores]]:
        """Scores tokenised captions.

        Args:
            gts: The references of each image: lists of tokens joined by spaces.
            res: The candidate of each image: a list of one.

        Returns:
            The mean F of all images and, in the order of the sorted image ids, the scores of each image by
            category. Precision, recall and F are NaN in categories that the references have no tuple of.

        Raises:
            CaptionError: An argument is not a mapping of image ids to lists of strings.
            LongSentenceError: A sentence has more than 120 tokens.
            MismatchError: The images differ, or an image has no candidate or several.
            ResourceError: The model was not made yet, or the store is damaged.
        """
        report = score(self.metric, gts, res)
        by_image = category_scores(report)
        ordered = [by_image[image] for image in sorted(by_image)]
        return mean_f(ordered), ordered

    def method(self) -> str:
        """`SPICE`."""
        return "SPICE"


def mean_f(by_image: Iterable[_Scores]) -> np.float64:
    """The corpus score: the mean F of all tuples."""
    return np.float64(np.mean([scores["All"]["f"] for scores in by_image]))


def category_scores(report: Report) -> dict[ImageId, _Scores]:
    """The scores of each image as pycocoevalcap gives them, from a report with the metric of a `Spice`."""
    ((statistics, columns),) = (
        (scores.statistics, metric.statistics)
        for metric, scores in report.scores
        if isinstance(metric, spice.Spice)
    )
    column = {name: statistics[:, place].tolist() for place, name in enumerate(columns)}
    return {
        image: {theirs: _scores(column, ours, row) for theirs, ours in _CATEGORIES.items()}
        for row, image in enumerate(report.image_ids)
    }


def _scores(column: dict[str, list[float]], category: str, row: int) -> dict[str, float]:
    candidate, references, matched, f, precision, recall, images = (
        column[f"{category} {name}"][row]
        for name in (
            "candidate tuples",
            "reference tuples",
            "matched",
            "F",
            "precision",
            "recall",
            "images",
        )
    )
    defined = bool(images)
    return {
        "pr": precision if defined else np.nan,
        "re": recall if defined else np.nan,
        "f": f if defined else np.nan,
        "fn": references - matched,
        "numImages": 1.0,
        "fp": candidate - matched,
        "tp": matched,
    }
