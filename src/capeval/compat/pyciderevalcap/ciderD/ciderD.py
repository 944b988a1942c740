"""CIDEr-D under pyciderevalcap's name."""

from __future__ import annotations

from capeval.compat.frequencies import Df
from capeval.compat.pyciderevalcap.ciderD.ciderD_scorer import CiderScorer
from capeval.compat.samples import SampleScorer

__all__ = ["CiderD"]


class CiderD(SampleScorer):
    """CIDEr-D of a list of results, which may contain an image any number of times.

    Args:
        n: The maximum n-gram order, 1 to 4.
        sigma: The width of the length penalty.
        df: The document frequencies: `corpus` for the references of all results, the name or the path of a
            pickle, or `DocumentFrequencies`.

    Raises:
        FormatError: The pickle is invalid.
        OptionError: `n` or `sigma` is invalid, or the pickle lacks the number of images.
        ResourceError: There is no such pickle.
    """

    _name = "CIDEr-D"

    def __init__(self, n: int = 4, sigma: float = 6.0, df: Df = "corpus") -> None:
        super().__init__(CiderScorer(n=n, sigma=sigma, df_mode=df))
