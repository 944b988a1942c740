"""CIDEr-D under pycocoevalcap's name, `Cider`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from capeval.compat.cider.cider_scorer import CiderScorer
from capeval.compat.frequencies import Df, resolve_frequencies
from capeval.compat.scoring import SingleScorer
from capeval.errors import CapevalWarning
from capeval.metrics import cider

__all__ = ["Cider", "CiderScorer"]


class Cider(SingleScorer):
    """CIDEr-D, with the document frequencies of the references.

    Args:
        test: Accepted and ignored, as in pycocoevalcap; a mapping, such as references to count n-grams in,
            gives a warning.
        refs: Accepted and ignored, as in pycocoevalcap.
        n: The maximum n-gram order, 1 to 4.
        sigma: The width of the length penalty.
        df: The document frequencies: `corpus` for the references, the name or the path of a pickle, or
            `DocumentFrequencies`.

    Raises:
        FormatError: The pickle is invalid.
        OptionError: `n` or `sigma` is invalid, or the pickle lacks the number of images.
        ResourceError: There is no such pickle.
        OSError: The pickle can't be read.
    """

    _name = "CIDEr"

    def __init__(
        self,
        test: object = None,
        refs: object = None,  # noqa: ARG002
        n: int = 4,
        sigma: float = 6.0,
        *,
        df: Df = "corpus",
    ) -> None:
        if isinstance(test, Mapping):
            warnings.warn(
                "Cider ignores its first argument, as in pycocoevalcap; to count document frequencies in"
                " these references, use Cider of capeval.compat.evaluation",
                CapevalWarning,
                stacklevel=2,
            )
        super().__init__(cider.CiderD(n=n, sigma=sigma, frequencies=resolve_frequencies(df)))
