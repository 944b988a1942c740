"""Shared by the scorers: scores tokenized captions with one metric."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

import numpy as np

from capeval.data.captions import Candidates, References
from capeval.data.scores import FloatArray
from capeval.errors import CaptionError, MismatchError
from capeval.metrics.base import Metric
from capeval.scoring.evaluator import evaluate
from capeval.scoring.report import Report
from capeval.tokenizers import Tokenizer

__all__ = ["Captions", "Scorer", "SingleScorer", "report_of"]

Captions = Mapping[Any, list[str]]
"""Image id, of any type, to captions that are tokens joined by spaces."""


def report_of(metrics: list[Metric], gts: Captions, res: Captions) -> Report:
    """Scores captions that are tokens joined by spaces; rows are in the order of `gts`.

    Args:
        metrics: What to score with.
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
    if _has_other_ids(gts) or _has_other_ids(res):
        names = {image: repr(image) for image in (*gts, *res)}
        if len(set(names.values())) < len(names):
            raise CaptionError("image ids must have a different 'repr' each (got two with the same)")
        gts, res = ({names[image]: texts for image, texts in part.items()} for part in (gts, res))
    return evaluate(References(gts), Candidates(res), metrics, tokenizer=Tokenizer(kind="none"))


def _has_other_ids(captions: Captions) -> bool:
    """Whether image ids are not all integers or all strings, such as tuples of dense captioning.

    They are scored by their `repr`, which messages show too.
    """
    return {type(image) for image in captions} not in ({int}, {str}, set())


class Scorer:
    """A metric with pycocoevalcap's `compute_score`.

    Attributes:
        metric: What it scores with.
    """

    _name: ClassVar[str]

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def compute_score(self, gts: Captions, res: Captions) -> tuple[Any, Any]:
        """Scores tokenized captions.

        Args:
            gts: The references of each image: lists of tokens joined by spaces.
            res: The candidate of each image: a list of one.

        Returns:
            The corpus score, and the scores of the images of `gts`.

        Raises:
            CaptionError: An argument is not a mapping of image ids to lists of strings.
            MismatchError: The images differ, or an image has no candidate or several.
        """
        return self.result(report_of([self.metric], gts, res), list(gts))

    def result(self, report: Report, images: list[Hashable]) -> tuple[Any, Any]:
        """What `compute_score` returns, from a report that has the scorer's metric.

        Args:
            report: The report.
            images: The image of each row.
        """
        raise NotImplementedError

    def method(self) -> str:
        """The name of the scores."""
        return self._name


class SingleScorer(Scorer):
    """A scorer that gives one score an image."""

    def result(self, report: Report, images: list[Hashable]) -> tuple[np.float64, FloatArray]:  # noqa: ARG002
        """The corpus score and those of the images, as numpy gives them."""
        (name,) = self.metric.names
        return np.float64(report.corpus[name]), report.per_image[name]
