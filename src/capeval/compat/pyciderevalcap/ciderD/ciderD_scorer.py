"""CIDEr-D of incrementally added pairs, under pyciderevalcap's name."""

from __future__ import annotations

from typing import ClassVar

from capeval.compat.frequency_pairs import FrequencyPairs
from capeval.metrics import cider
from capeval.metrics.base import Metric
from capeval.metrics.cider_base import Source

__all__ = ["CiderScorer"]


class CiderScorer(FrequencyPairs):
    """CIDEr-D, of candidates and their references."""

    scale: ClassVar = 1.0

    def create_metric(self, frequencies: Source) -> Metric:
        """Return the metric with these document frequencies."""
        return cider.CiderD(n=self.n, sigma=self.sigma, frequencies=frequencies)
