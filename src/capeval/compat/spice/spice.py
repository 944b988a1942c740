"""SPICE under pycocoevalcap's name, without Java."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from capeval.compat.scoring import Scorer
from capeval.metrics import spice
from capeval.resources.parse_store import ParseStore
from capeval.scoring.report import Report

__all__ = ["Spice"]

_Scores = dict[str, dict[str, float]]
"""The scores of an image by category, and by `pr`, `re`, `f`, `fn`, `numImages`, `fp` and `tp`."""

# capeval's category by pycocoevalcap's name, in the order of pycocoevalcap's results.
_CATEGORIES = {
    "All": "All",
    "Relation": "Relation",
    "Cardinality": "Count",
    "Attribute": "Attribute",
    "Size": "Size",
    "Color": "Color",
    "Object": "Object",
}


class Spice(Scorer):
    """SPICE 1.0 on tokens, with all categories of tuples.

    Args:
        store: The store that caches parses between runs; none by default.
        longest: The maximum length of a parsed sentence in tokens, at most 800.
    """

    _name = "SPICE"

    def __init__(self, store: ParseStore | None = None, *, longest: int = 400) -> None:
        super().__init__(
            spice.Spice(
                categories=tuple(_CATEGORIES.values()),
                measures=("precision", "recall", "F"),
                longest=longest,
                store=store,
            )
        )

    def result(self, report: Report, images: list[Hashable]) -> tuple[np.float64, list[_Scores]]:
        """Return the mean F of all images, and the scores by category.

        The scores are in the order of the sorted image ids. Precision, recall and F are NaN in a category if
        the references have no tuple of it. All scores of an image with a sentence that is too long are NaN,
        and the mean excludes the image.
        """
        by_image = dict(zip(images, _extract_category_scores(report), strict=True))
        ordered = [by_image[image] for image in sorted(by_image)]  # type: ignore[type-var]
        return _compute_mean_f(ordered), ordered


def _compute_mean_f(by_image: Iterable[_Scores]) -> np.float64:
    scores = np.array([scores["All"]["f"] for scores in by_image])
    parsed = scores[~np.isnan(scores)]
    return np.float64(np.mean(parsed)) if parsed.size else np.float64(np.nan)


def _extract_category_scores(report: Report) -> list[_Scores]:
    """Extract the scores of each image by category from a report with SPICE."""
    ((statistics, columns),) = (
        (scores.statistics, metric.statistics)
        for metric, scores in report.scores
        if isinstance(metric, spice.Spice)
    )
    column = {name: statistics[:, place].tolist() for place, name in enumerate(columns)}
    return [
        {theirs: _extract_scores(column, ours, row) for theirs, ours in _CATEGORIES.items()}
        for row in range(len(report.image_ids))
    ]


def _extract_scores(column: dict[str, list[float]], category: str, row: int) -> dict[str, float]:
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
