"""Shared by the scorers: scores tokenised captions with one metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from capeval.errors import CaptionError, MismatchError
from capeval.evaluation import Report, evaluate
from capeval.metrics.base import Metric
from capeval.tokenization import Tokenizer
from capeval.types import Candidates, FloatArray, References, ReferencesLike

__all__ = ["Captions", "SingleScorer", "score"]

Captions = ReferencesLike


def score(metric: Metric, gts: Captions, res: Captions) -> Report:
    """Scores captions that are tokens joined by spaces.

    Args:
        metric: What to score with.
        gts: The references of each image.
        res: A list with the one candidate of each image of `gts`, in any order.

    Raises:
        CaptionError: An argument is not a mapping of image ids to lists of strings.
        MismatchError: The images differ, or an image has no candidate or several.
    """
    for name, captions in (("gts", gts), ("res", res)):
        if not isinstance(captions, Mapping):
            raise CaptionError(
                f"{name!r} must be a mapping of image ids to lists of strings (got {type(captions).__name__})"
            )
    for image, candidates in res.items():
        if not isinstance(candidates, list | tuple):
            raise CaptionError(
                f"'res' must hold a list of strings for image {image!r} (got {type(candidates).__name__})"
            )
        if len(candidates) != 1:
            raise MismatchError(f"'res' must hold one caption for image {image!r} (got {len(candidates)})")
    return evaluate(References(gts), Candidates(res), [metric], tokenizer=Tokenizer(kind="none"))


class SingleScorer:
    """A scorer that gives one score an image."""

    _name: ClassVar[str]

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def compute_score(self, gts: Captions, res: Captions) -> tuple[np.float64, FloatArray]:
        """Scores tokenised captions.

        Args:
            gts: The references of each image: lists of tokens joined by spaces.
            res: The candidate of each image: a list of one.

        Returns:
            The corpus score, and the scores of the images of `gts`.

        Raises:
            CaptionError: An argument is not a mapping of image ids to lists of strings.
            MismatchError: The images differ, or an image has no candidate or several.
        """
        report = score(self._metric, gts, res)
        (name,) = self._metric.names
        return np.float64(report.corpus[name]), report.per_image[name]

    def method(self) -> str:
        """The name of the scores."""
        return self._name
