"""BLEU (Papineni et al. 2002; COCO Captions, equations 1 to 3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np

from capeval import _native
from capeval._internal.validation import checked_different, checked_order, validate_choice
from capeval.data.scores import FloatArray
from capeval.metrics.base import Kernel, Metric, compute_means
from capeval.metrics.registry import register
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences

__all__ = ["Bleu"]

Brevity = Literal["closest", "shortest", "average", "none"]
Level = Literal["corpus", "sentence"]

# The reference implementation adds these to each ratio to avoid divisions by 0 and products of exactly 0.
_TINY, _SMALL = 1e-15, 1e-9


@register
@dataclass(frozen=True, kw_only=True)
class Bleu(Metric):
    """Clipped n-gram precision with a brevity penalty.

    Args:
        orders: The BLEU-n scores to compute, each n from 1 to 4.
        brevity: The reference length for the brevity penalty: `closest` to the candidate's, `shortest`,
            `average`, or `none` for no penalty.
        level: `corpus` sums counts over images before it computes precisions, like the COCO server;
            `sentence` averages the scores of the images, as in the CIDEr paper.

    Raises:
        OptionError: An option has an invalid value.

    Example:
        All 5 words and 3 of 4 bigrams of the candidate are in the reference, which has 6 words. Without a
        brevity penalty, BLEU-2 is the square root of 3/4:

        >>> from capeval import Bleu, evaluate
        >>> references, candidates = {1: ["A dog runs on the grass."]}, {1: "A dog on the grass."}
        >>> for brevity in ("none", "closest"):
        ...     report = evaluate(references, candidates, [Bleu(orders=(1, 2), brevity=brevity)])
        ...     print(brevity, {name: round(score, 3) for name, score in report.corpus.items()})
        none {'BLEU-1': 1.0, 'BLEU-2': 0.866}
        closest {'BLEU-1': 0.819, 'BLEU-2': 0.709}
    """

    family: ClassVar[str] = "BLEU"
    featured: ClassVar = ("BLEU",)
    docs_page: ClassVar[str] = "bleu"
    citations: ClassVar = ("papineni2002bleu",)
    variants: ClassVar = {"BLEU": {}, **{f"BLEU-{n}": {"orders": (n,)} for n in range(1, 5)}}

    orders: tuple[int, ...] = (1, 2, 3, 4)
    brevity: Brevity = "closest"
    level: Level = "corpus"

    def __post_init__(self) -> None:
        checked_different("orders", self.orders, "integers", partial(checked_order, "orders"))
        validate_choice("brevity", self.brevity, get_args(Brevity))
        validate_choice("level", self.level, get_args(Level))

    @property
    def names(self) -> tuple[str, ...]:
        """`BLEU-n` for each n in `orders`."""
        return tuple(f"BLEU-{order}" for order in self.orders)

    @property
    def statistics(self) -> tuple[str, ...]:
        """Counts at corpus level; the score of each order and a 1 at sentence level."""
        if self.level == "sentence":
            return (*self.names, "images")
        orders = range(1, max(self.orders) + 1)
        counted = [f"{what} {n}-grams" for what in ("matched", "candidate") for n in orders]
        return ("candidate length", "reference length", *counted)

    def kernel(self, references: TokenizedReferences) -> Kernel:  # noqa: ARG002
        """Return the function that counts n-grams; nothing is prepared.

        The n-grams of a candidate determine which n-grams of the references are counted.
        """
        length = "closest" if self.brevity == "none" else self.brevity
        order = max(self.orders)

        def statistics(candidates: TokenizedCandidates) -> FloatArray:
            counts = _native.bleu_statistics(candidates.native, order, length)
            if self.level == "corpus":
                return counts
            return np.column_stack([self._score(counts), np.ones(len(counts))])

        return statistics

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Compute BLEU from summed counts, or the mean score at sentence level."""
        if self.level == "corpus":
            return self._score(statistics)
        return compute_means(statistics)

    def aggregate_for_tests(self, statistics: FloatArray) -> FloatArray:
        """Compute BLEU, which is 0 if no n-gram of one of its lengths matches.

        The score would otherwise be the constants of the reference, which depend on the length of captions.
        """
        scores = self.aggregate(statistics)
        if self.level == "sentence":
            return scores
        matched = statistics[..., 2 : 2 + max(self.orders)]
        is_matched = np.minimum.accumulate(matched, axis=-1) > 0
        return np.where(is_matched[..., [order - 1 for order in self.orders]], scores, 0.0)

    def _score(self, counts: FloatArray) -> FloatArray:
        order = max(self.orders)
        length, reference_length = counts[..., 0], counts[..., 1]
        matched, possible = counts[..., 2 : 2 + order], counts[..., 2 + order :]
        precisions = np.cumprod((matched + _TINY) / (possible + _SMALL), axis=-1, dtype=np.float64)
        means = [_native.power(precisions[..., n - 1], 1 / n) for n in self.orders]
        scores: FloatArray = np.stack(means, axis=-1)
        if self.brevity != "none":
            ratio = (length + _TINY) / (reference_length + _SMALL)
            # An empty candidate has a ratio of almost 0, and its penalty correctly underflows to 0.
            penalty = np.where(ratio < 1, _native.exp(np.asarray(1 - 1 / ratio)), 1.0)
            scores = scores * penalty[..., None]
        return scores
