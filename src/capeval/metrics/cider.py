"""CIDEr-D, and the CIDEr of 2015 (Vedantam, Zitnick and Parikh 2015)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np

from capeval import _native
from capeval._internal.validation import validate_choice, validate_flag, validate_positive
from capeval.data.scores import FloatArray
from capeval.metrics.base import OMITTED_BY_DEFAULT, Kernel
from capeval.metrics.cider_base import CiderMetric, list_variants
from capeval.metrics.registry import register
from capeval.tokenizers import TokenizedReferences

__all__ = ["Cider2015", "CiderD"]

Form = Literal["code", "paper"]
Pooling = Literal["mean", "max"]
Weights = Literal["uniform", "exponential"]


@register
@dataclass(frozen=True, kw_only=True)
class CiderD(CiderMetric):
    """TF-IDF similarity of n-grams, which papers report as CIDEr.

    These are equations 4 and 5 of the CIDEr paper.

    Args:
        n: The maximum length of n-grams, 1 to 4.
        order: Score only n-grams of this length, for CIDEr-D-n; by default all lengths up to `n`.
        frequencies: The source of document frequencies: `references`, `uniform` (all n-grams have the same
            weight), or `DocumentFrequencies` of a different corpus.
        sigma: The width of the Gaussian penalty on the difference in length.
        form: `code` follows the published code: term frequencies are counts, lengths are numbers of bigrams.
            `paper` follows equation 4: relative term frequencies, lengths in words.
        stem: Whether to compare words by their stems, as in the paper's Figure 6.

    Raises:
        OptionError: An option has an invalid value.

    Example:
        A candidate that equals its only reference scores 10, the maximum:

        >>> from capeval import CiderD, evaluate
        >>> references = {1: ["A dog runs on the grass."], 2: ["Two cats sleep on a bed."]}
        >>> candidates = {1: "A dog runs on the grass.", 2: "Two dogs on a bed."}
        >>> report = evaluate(references, candidates, [CiderD()])
        >>> report.per_image["CIDEr-D"].round(3).tolist(), round(report.corpus["CIDEr-D"], 3)
        ([10.0, 3.238], 6.619)
    """

    family: ClassVar[str] = "CIDEr-D"
    featured: ClassVar = ("CIDEr-D",)
    note: ClassVar[str] = "COCO papers report CIDEr-D as CIDEr."
    variants: ClassVar = list_variants("CIDEr-D")
    alias_note: ClassVar[str] = (
        "CIDEr is computed as CIDEr-D, as in papers; CIDEr-2015 is the original metric of the CIDEr paper"
    )
    aliases: ClassVar = {"CIDEr": "CIDEr-D", **{f"CIDEr-{n}": f"CIDEr-D-{n}" for n in range(1, 5)}}

    sigma: float = 6.0
    form: Form = "code"
    stem: bool = field(default=False, metadata=OMITTED_BY_DEFAULT)

    def __post_init__(self) -> None:
        super().__post_init__()
        validate_positive("sigma", self.sigma)
        validate_choice("form", self.form, get_args(Form))
        validate_flag("stem", self.stem)

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Count document frequencies and compute the references' vectors."""
        self._warn_about_frequencies(references)
        prepared = _native.CiderReferences(
            references.native,
            self._get_native_frequencies(),
            max_order=self.n,
            sigma=float(self.sigma),
            clip=True,
            pooling="mean",
            relative=self.form == "paper",
            stem=self.stem,
        )
        return lambda candidates: prepared.statistics(candidates.native)

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Return the mean over images and orders, times 10."""
        return self._combine_orders(statistics, np.ones(self.n), 10.0)


@register
@dataclass(frozen=True, kw_only=True)
class Cider2015(CiderMetric):
    """The CIDEr of its paper of 2015; later papers report CIDEr-D.

    These are equations 1 to 3 of the paper. It compares stems, without clipping and without a length penalty.

    Args:
        n: The maximum length of n-grams, 1 to 4.
        order: Score only n-grams of this length, for CIDEr-2015-n; by default all lengths up to `n`.
        frequencies: The source of document frequencies: `references`, `uniform` (all n-grams have the same
            weight: "CIDEr no idf"), or `DocumentFrequencies` of a different corpus.
        pooling: `mean` over references, or `max` ("CIDEr max", appendix VIII).
        weights: The weights of the orders: `uniform`, or `exponential` ("CIDEr exp", appendix VIII; the paper
            does not state its weights; these grow as e^n).
        stem: Whether to compare words by their stems.

    Raises:
        OptionError: An option has an invalid value.

    Example:
        A candidate that equals its only reference scores 1, the maximum. With stems, "cat" matches "cats":

        >>> from capeval import Cider2015, evaluate
        >>> references = {1: ["A dog runs on the grass."], 2: ["Two cats sleep on a bed."]}
        >>> candidates = {1: "A dog runs on the grass.", 2: "A cat sleeps on a bed."}
        >>> report = evaluate(references, candidates, [Cider2015()])
        >>> report.per_image["CIDEr-2015"].round(3).tolist()
        [1.0, 0.771]
        >>> report = evaluate(references, candidates, [Cider2015(stem=False)])
        >>> report.per_image["CIDEr-2015"].round(3).tolist()
        [1.0, 0.235]
    """

    family: ClassVar[str] = "CIDEr-2015"
    former_families: ClassVar = ("CIDEr",)
    featured: ClassVar = ("CIDEr-2015",)
    note: ClassVar[str] = (
        "CIDEr-2015 is the original metric of the CIDEr paper, which other papers rarely report."
    )
    variants: ClassVar = list_variants("CIDEr-2015")

    pooling: Pooling = "mean"
    weights: Weights = "uniform"
    stem: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        validate_choice("pooling", self.pooling, get_args(Pooling))
        validate_choice("weights", self.weights, get_args(Weights))
        validate_flag("stem", self.stem)

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Stem the references, count document frequencies and compute vectors."""
        self._warn_about_frequencies(references)
        prepared = _native.CiderReferences(
            references.native,
            self._get_native_frequencies(),
            max_order=self.n,
            sigma=None,
            clip=False,
            pooling=self.pooling,
            relative=False,
            stem=self.stem,
        )
        return lambda candidates: prepared.statistics(candidates.native)

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Return the mean over images of the weighted sum over orders."""
        weights = (
            _native.exp(np.arange(self.n, dtype=np.float64))
            if self.weights == "exponential"
            else np.ones(self.n)
        )
        return self._combine_orders(statistics, weights, 1.0)
