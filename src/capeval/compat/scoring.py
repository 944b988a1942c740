"""Base classes of the scorers for tokenized captions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from capeval.data.captions import Candidates, References
from capeval.data.scores import FloatArray
from capeval.errors import CaptionError, MismatchError
from capeval.metrics.base import Metric
from capeval.scoring.evaluator import evaluate
from capeval.scoring.matching import list_problems
from capeval.scoring.report import Report
from capeval.tokenizers import Tokenizer

__all__ = ["Captions", "Scorer", "SingleScorer", "make_references", "report_of", "score_all"]

Captions = Mapping[Any, list[str]]
"""A mapping of image ids, of any type, to captions of tokens joined by spaces."""


def report_of(metrics: list[Metric], gts: Captions, res: Captions) -> Report:
    """Score captions of tokens joined by spaces; rows are in the order of `gts`.

    Args:
        metrics: The metrics.
        gts: The references of each image.
        res: A list with the candidate of each image in `gts`, in any order.

    Raises:
        CaptionError: An argument is not a mapping of image ids to lists of strings.
        MismatchError: The images differ, or an image does not have exactly one candidate.
    """
    _check_mapping("gts", gts)
    _check_mapping("res", res)
    for image, candidates in res.items():
        if not isinstance(candidates, list | tuple):
            raise CaptionError(
                f"'res' must have a list of strings for image {image!r} (got {type(candidates).__name__})"
            )
        if len(candidates) != 1:
            raise MismatchError(f"'res' must have one caption for image {image!r} (got {len(candidates)})")
    if _needs_repr_ids(gts) or _needs_repr_ids(res):
        names = {image: repr(image) for image in (*gts, *res)}
        if len(set(names.values())) < len(names):
            raise CaptionError("each image id must have a unique 'repr' (got two equal ones)")
        gts, res = ({names[image]: texts for image, texts in part.items()} for part in (gts, res))
    references, results = References(gts), Candidates(res)
    if problems := list_problems(references, results, can_skip=False):
        raise MismatchError("; ".join(problems))
    return evaluate(references, results, metrics, tokenizer=Tokenizer(kind="none"))


def make_references(gts: Captions) -> References:
    """Return the references in captions of tokens joined by spaces.

    Raises:
        CaptionError: The argument is not a mapping of image ids to lists of strings.
    """
    _check_mapping("gts", gts)
    if _needs_repr_ids(gts):
        gts = {repr(image): texts for image, texts in gts.items()}
    return References(gts)


def _check_mapping(name: str, captions: object) -> None:
    if not isinstance(captions, Mapping):
        raise CaptionError(
            f"{name!r} must be a mapping of image ids to lists of strings (got {type(captions).__name__})"
        )


def _needs_repr_ids(captions: Captions) -> bool:
    """Return whether image ids are not all integers or all strings.

    Dense captioning, for example, has tuples as ids. Such ids are replaced by their `repr`, also in messages.
    """
    return {type(image) for image in captions} not in ({int}, {str}, set())


class Scorer:
    """A metric with pycocoevalcap's `compute_score`.

    Attributes:
        metric: The metric.
    """

    _name: ClassVar[str]

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def compute_score(self, gts: Captions, res: Captions) -> tuple[Any, Any]:
        """Score tokenized captions.

        Args:
            gts: The references of each image: a list of strings of tokens joined by spaces.
            res: The candidate of each image: a list of one such string.

        Returns:
            The corpus score, and the scores of the images in `gts`.

        Raises:
            CaptionError: An argument is not a mapping of image ids to lists of strings.
            MismatchError: The images differ, or an image does not have exactly one candidate.
        """
        return self.result(report_of([self.metric], gts, res), list(gts))

    def result(self, report: Report, images: list[Hashable]) -> tuple[Any, Any]:
        """Return the result of `compute_score`, extracted from a report.

        Args:
            report: The report, which must contain the scorer's metric.
            images: The image of each row.
        """
        raise NotImplementedError

    def method(self) -> str:
        """Return the name of the scores."""
        return self._name


class SingleScorer(Scorer):
    """A scorer with one score per image."""

    def result(self, report: Report, images: list[Hashable]) -> tuple[np.float64, FloatArray]:  # noqa: ARG002
        """Return the corpus score and the scores of the images, as numpy types."""
        (name,) = self.metric.names
        return np.float64(report.corpus[name]), report.per_image[name]


def score_all(
    scorers: Sequence[tuple[Any, Any]], gts: Captions, res: Captions
) -> Iterable[tuple[tuple[Any, Any], tuple[Any, Any]]]:
    """Yield each scorer with the result of its `compute_score`.

    Captions are read once for all scorers of this package. Scorers with which a script replaced them receive
    the captions themselves.
    """
    images: list[Hashable] = list(gts)
    ours = [scorer for scorer, _ in scorers if _is_own_scorer(scorer)]
    report = report_of([scorer.metric for scorer in ours], gts, res) if ours else None
    for each in scorers:
        scorer = each[0]
        if report is not None and _is_own_scorer(scorer):
            yield each, scorer.result(report, images)
        else:
            yield each, scorer.compute_score(gts, res)


def _is_own_scorer(scorer: object) -> bool:
    # A subclass in a script may override `compute_score`.
    return isinstance(scorer, Scorer) and type(scorer).__module__.startswith("capeval.compat.")
