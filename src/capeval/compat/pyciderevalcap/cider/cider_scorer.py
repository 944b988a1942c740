"""CIDEr of incrementally added pairs, under pyciderevalcap's name."""

from __future__ import annotations

from typing import ClassVar

from capeval.compat.frequency_pairs import FrequencyPairs
from capeval.metrics import cider
from capeval.metrics.base import Metric
from capeval.metrics.cider_base import Source

__all__ = ["CiderScorer"]


class CiderScorer(FrequencyPairs):
    """CIDEr of its paper, on words instead of stems and times 10, of candidates and their references."""

    scale: ClassVar = 10.0

    def create_metric(self, frequencies: Source) -> Metric:
        """Return the metric with these document frequencies."""
        return cider.Cider2015(n=self.n, stem=False, frequencies=frequencies)
