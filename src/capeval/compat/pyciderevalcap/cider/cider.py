"""CIDEr under pyciderevalcap's name, without clipping and without a length penalty."""

from __future__ import annotations

from capeval.compat.frequencies import Df
from capeval.compat.pyciderevalcap.cider.cider_scorer import CiderScorer
from capeval.compat.samples import SampleScorer

__all__ = ["Cider"]


class Cider(SampleScorer):
    """CIDEr of a list of results, on words instead of stems and times 10.

    Args:
        n: The maximum n-gram order, 1 to 4.
        df: The document frequencies: `corpus` for the references of all results, the name or the path of a
            pickle, or `DocumentFrequencies`.

    Raises:
        FormatError: The pickle is invalid.
        OptionError: `n` is invalid, or the pickle lacks the number of images.
        ResourceError: There is no such pickle.
    """

    _name = "CIDEr"

    def __init__(self, n: int = 4, df: Df = "corpus") -> None:
        super().__init__(CiderScorer(n=n, df_mode=df))
