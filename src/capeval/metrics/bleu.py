"""BLEU (Papineni et al. 2002; COCO Captions, equations 1 to 3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np

from capeval import _native
from capeval._internal.validation import checked_choice, checked_different, checked_order
from capeval.data.scores import FloatArray
from capeval.metrics.base import Kernel, Metric, means
from capeval.metrics.registry import register
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences

__all__ = ["Bleu"]

Brevity = Literal["closest", "shortest", "average", "none"]
Level = Literal["corpus", "sentence"]

# The reference adds these to each ratio to avoid a division by 0, and a product that is exactly 0.
_TINY, _SMALL = 1e-15, 1e-9


@register
@dataclass(frozen=True, kw_only=True)
class Bleu(Metric):
    """Clipped n-gram precision with a brevity penalty.

    Args:
        orders: Which BLEU-n to give, each n from 1 to 4.
        brevity: Which reference length the brevity penalty uses: `closest` to the candidate's,
            `shortest`, `average`, or `none` for no penalty.
        level: `corpus` sums counts over images before it takes precisions, as the COCO server does;
            `sentence` is the mean of the scores per image, as the CIDEr paper uses it.

    Raises:
        OptionError: An option has another value.
    """

    family: ClassVar[str] = "BLEU"
    featured: ClassVar = ("BLEU",)
    page: ClassVar[str] = "bleu"
    variants: ClassVar = {"BLEU": {}, **{f"BLEU-{n}": {"orders": (n,)} for n in range(1, 5)}}

    orders: tuple[int, ...] = (1, 2, 3, 4)
    brevity: Brevity = "closest"
    level: Level = "corpus"

    def __post_init__(self) -> None:
        checked_different("orders", self.orders, "integers", partial(checked_order, "orders"))
        checked_choice("brevity", self.brevity, get_args(Brevity))
        checked_choice("level", self.level, get_args(Level))

    @property
    def names(self) -> tuple[str, ...]:
        """`BLEU-n` for each order."""
        return tuple(f"BLEU-{order}" for order in self.orders)

    @property
    def statistics(self) -> tuple[str, ...]:
        """Counts at corpus level; the score of each order and 1 at sentence level."""
        if self.level == "sentence":
            return (*self.names, "images")
        orders = range(1, max(self.orders) + 1)
        counted = [f"{what} {n}-grams" for what in ("matched", "candidate") for n in orders]
        return ("candidate length", "reference length", *counted)

    def kernel(self, references: TokenizedReferences) -> Kernel:  # noqa: ARG002
        """Nothing is prepared, since the candidate decides which n-grams are counted."""
        length = "closest" if self.brevity == "none" else self.brevity
        order = max(self.orders)

        def statistics(candidates: TokenizedCandidates) -> FloatArray:
            counts = _native.bleu_statistics(candidates.native, order, length)
            if self.level == "corpus":
                return counts
            return np.column_stack([self._score(counts), np.ones(len(counts))])

        return statistics

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """BLEU of summed counts (corpus level), or the mean of scores per image (sentence level)."""
        if self.level == "corpus":
            return self._score(statistics)
        return means(statistics)

    def _score(self, counts: FloatArray) -> FloatArray:
        order = max(self.orders)
        length, reference_length = counts[..., 0], counts[..., 1]
        matched, possible = counts[..., 2 : 2 + order], counts[..., 2 + order :]
        precisions = np.cumprod((matched + _TINY) / (possible + _SMALL), axis=-1)
        scores: FloatArray = precisions ** (1.0 / np.arange(1, order + 1))
        if self.brevity != "none":
            ratio = (length + _TINY) / (reference_length + _SMALL)
            # An empty candidate has a ratio of almost 0, whose penalty underflows to the 0 it should be.
            with np.errstate(over="ignore", under="ignore"):
                penalty = np.where(ratio < 1, np.exp(1 - 1 / ratio), 1.0)
            scores = scores * penalty[..., None]
        return scores[..., [n - 1 for n in self.orders]]
