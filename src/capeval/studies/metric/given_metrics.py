"""Metrics from functions of the user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import OptionError
from capeval.metrics.base import NOT_AN_OPTION, Kernel, MeanMetric, Metric, Reads
from capeval.metrics.given_scores import load_given_scores
from capeval.metrics.registry import get_metric
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences

__all__ = ["CaptionItem", "ScoreFunction", "resolve_metric"]


@dataclass(frozen=True, kw_only=True)
class CaptionItem:
    """A caption to score.

    Attributes:
        image_id: The image, such as the name of its file.
        caption: The caption.
        references: The references of the image.

    Example:
        >>> from capeval.studies.metric import CaptionItem
        >>> CaptionItem(image_id="1.jpg", caption="A dog.", references=("A dog runs.",)).caption
        'A dog.'
    """

    image_id: ImageId
    caption: str
    references: tuple[str, ...]


ScoreFunction = Callable[[list[CaptionItem]], Sequence[float]]
"""Function from captions to their scores, in the same order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _FunctionMetric(MeanMetric):
    """Scores of a function of the user."""

    family: ClassVar[str] = "Function"
    name: str = field(metadata=NOT_AN_OPTION)
    score: ScoreFunction = field(metadata=NOT_AN_OPTION, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def input_kind(self) -> Reads:
        return "captions"

    def kernel(self, references: TokenizedReferences) -> Kernel:
        captions_of = {image: tuple(texts) for image, texts in references.references.items()}

        def compute(candidates: TokenizedCandidates) -> FloatArray:
            items = [
                CaptionItem(image_id=image, caption=text, references=captions_of[image])
                for image, text in zip(candidates.image_ids, candidates.captions(), strict=True)
            ]
            scores = np.asarray(self.score(items), dtype=np.float64)
            if scores.shape != (len(items),):
                raise OptionError(
                    f"{self.name} must return one score for each of {len(items):,} captions"
                    f" (got shape {scores.shape})"
                )
            return np.stack([scores, np.ones(len(items))], axis=1)

        return compute


def resolve_metric(metric: str | Metric | ScoreFunction) -> Metric:
    """Return the metric for a registered name, a file of scores, a metric object or a function.

    Raises:
        OptionError: The metric is unknown, or is none of these.
        FormatError: The file of scores is invalid.
        OSError: The file of scores can't be read.

    Example:
        >>> from capeval.studies.metric import resolve_metric
        >>> def length(items):
        ...     return [len(item.caption) for item in items]
        >>> resolve_metric(length).names, resolve_metric("METEOR").names
        (('length',), ('METEOR',))
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        return load_given_scores(metric) if metric.endswith((".csv", ".csv.gz")) else get_metric(metric)
    if isinstance(metric, type) or not callable(metric):
        raise OptionError(
            f"'metric' must be a name, a file of scores, a metric object or a function (got {metric!r})"
        )
    return _FunctionMetric(name=getattr(metric, "__name__", type(metric).__name__), score=metric)
