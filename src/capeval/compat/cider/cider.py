"""CIDEr-D under the name that pycocoevalcap gives it."""

from __future__ import annotations

from capeval.compat.scoring import SingleScorer
from capeval.metrics.cider import CiderD

__all__ = ["Cider"]


class Cider(SingleScorer):
    """CIDEr-D, with document frequencies of the references given.

    Args:
        test: Taken and not used, as in pycocoevalcap.
        refs: Taken and not used, as in pycocoevalcap.
        n: The longest n-grams, 1 to 4.
        sigma: The width of the penalty on the difference in length.

    Raises:
        OptionError: `n` or `sigma` is something else.
    """

    _name = "CIDEr"

    def __init__(
        self,
        test: object = None,  # noqa: ARG002
        refs: object = None,  # noqa: ARG002
        n: int = 4,
        sigma: float = 6.0,
    ) -> None:
        super().__init__(CiderD(n=n, sigma=sigma))
