"""CIDEr-D under the name of the package `evaluation`."""

from __future__ import annotations

import math
from collections import defaultdict

from capeval.compat.frequencies import get_counts
from capeval.compat.frequency_pairs import TOKENS
from capeval.compat.scoring import Captions, SingleScorer, make_references
from capeval.metrics import cider
from capeval.resources import DocumentFrequencies

__all__ = ["Cider"]


class Cider(SingleScorer):
    """CIDEr-D with the document frequencies of given references; its `str` is the name of the score.

    Attributes:
        frequencies: The document frequencies of `gts`; None if they are counted in the references to score.

    Args:
        gts: The references to count n-grams in, such as those of the training set, in the form of
            `compute_score`; by default the references to score.
        n: The maximum n-gram order, 1 to 4.
        sigma: The width of the length penalty.

    Raises:
        CaptionError: `gts` is not a mapping of image ids to lists of strings.
        OptionError: `n` or `sigma` is invalid.
    """

    _name = "CIDEr"

    def __init__(self, gts: Captions | None = None, n: int = 4, sigma: float = 6.0) -> None:
        self.frequencies: DocumentFrequencies | None = None
        if gts is not None:
            self.frequencies = DocumentFrequencies.of(make_references(gts), tokenizer=TOKENS)
        super().__init__(cider.CiderD(n=n, sigma=sigma, frequencies=self.frequencies or "references"))

    @property
    def doc_frequency(self) -> defaultdict[tuple[str, ...], float] | None:
        """The number of images with each n-gram of two or more images; None without `gts`."""
        return None if self.frequencies is None else get_counts(self.frequencies)

    @property
    def ref_len(self) -> float | None:
        """The logarithm of the number of images in `gts`; None without `gts`."""
        return None if self.frequencies is None else math.log(self.frequencies.images)

    def __str__(self) -> str:
        return self._name
