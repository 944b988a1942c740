"""Scoring in one call. What it needs is imported when it is called: a script reads its files before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from capeval.defaults import DEFAULT
from capeval.types import CandidatesLike, ImageId, ReferencesLike

if TYPE_CHECKING:
    from capeval.evaluation import Report
    from capeval.metrics.base import Metric
    from capeval.tokenization import Tokenizer

__all__ = ["Subsets", "evaluate"]

Subsets: TypeAlias = (
    Mapping[str, Iterable[int]] | Mapping[str, Iterable[str]] | Mapping[str, Iterable[ImageId]]
)
"""Names of subsets to the ids of their images."""


def evaluate(
    references: ReferencesLike,
    candidates: CandidatesLike,
    metrics: Iterable[str | Metric] = DEFAULT,
    *,
    subsets: Subsets | None = None,
    tokenizer: Tokenizer | None = None,
) -> Report:
    """Scores one candidate for each image with several metrics.

    Args:
        references: The references of each image, in any form that `References` takes.
        candidates: Image id to its candidate, or any other form that `Candidates` takes; the images are those
            of the references.
        metrics: Names or metric objects.
        subsets: Names of subsets to the ids of their images, to score each on its own too.
        tokenizer: How to tokenise; the reference's way by default.

    Returns:
        Corpus scores, scores per image in the order of the references, scores by subset, signatures.

    Raises:
        CaptionError: References or candidates are not captions by image, or a subset has something else
            than image ids.
        MismatchError: Their images differ, an image has several candidates, or a subset has an image
            without references.
        OptionError: A metric is not known, or given twice; `subsets` is not a mapping of names to image
            ids, or a subset has no image.
    """
    from capeval.evaluation import Evaluator

    return Evaluator(references, metrics, tokenizer=tokenizer).evaluate(candidates, subsets=subsets)
