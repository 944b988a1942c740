"""Caption length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from capeval.data.scores import FloatArray
from capeval.metrics.base import Kernel, MeanMetric
from capeval.metrics.registry import register
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences

__all__ = ["Length"]


@register
@dataclass(frozen=True, kw_only=True)
class Length(MeanMetric):
    """Mean number of words per caption; no length is better.

    It shows whether a difference of other scores can come from the length of captions.

    Example:
        >>> from capeval import Length, evaluate
        >>> references = {1: ["A dog runs."], 2: ["Two cats sleep on a bed."]}
        >>> report = evaluate(references, {1: "A dog.", 2: "Two cats sleep."}, [Length()])
        >>> report.corpus, report.per_image["Length"].tolist()
        ({'Length': 2.5}, [2.0, 3.0])
    """

    family: ClassVar[str] = "Length"
    docs_page: ClassVar[str] = "length"
    note: ClassVar[str] = "Length is the mean number of words per caption; no length is better."
    has_direction: ClassVar[bool] = False

    def kernel(self, references: TokenizedReferences) -> Kernel:  # noqa: ARG002
        """Return the function that counts words; nothing is prepared."""

        def count(candidates: TokenizedCandidates) -> FloatArray:
            return np.array([(len(text.split()), 1.0) for text in candidates.texts()], dtype=np.float64)

        return count
