"""CIDEr and CIDEr-D (Vedantam, Zitnick and Parikh 2015)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self, get_args

import numpy as np

from capeval import _native
from capeval._internal.validation import checked_choice, checked_flag, checked_order, checked_positive
from capeval.data.scores import FloatArray
from capeval.errors import CapevalWarning, OptionError
from capeval.metrics.base import NOT_AN_OPTION, Counted, Kernel, MeanMetric, means
from capeval.metrics.registry import register
from capeval.resources import DocumentFrequencies
from capeval.tokenizers import TokenizedReferences

__all__ = ["Cider", "CiderD"]

Source = DocumentFrequencies | Literal["references", "uniform"]
Form = Literal["code", "paper"]
Pooling = Literal["mean", "max"]
Weights = Literal["uniform", "exponential"]


def _variants(family: str) -> dict[str, dict[str, int]]:
    """All orders, and each order alone."""
    return {family: {}, **{f"{family}-{n}": {"n": n, "order": n} for n in range(1, 5)}}


@dataclass(frozen=True, kw_only=True)
class _Cider(MeanMetric):
    """Shared by both metrics: the statistics are the similarity for each n-gram order, and a 1."""

    page: ClassVar[str] = "cider"

    n: int = 4
    order: int | None = None
    frequencies: Source = field(default="references", metadata=NOT_AN_OPTION)

    def __post_init__(self) -> None:
        checked_order("n", self.n)
        if self.order is not None and checked_order("order", self.order) > self.n:
            raise OptionError(f"'order' must be at most n, {self.n} (got {self.order})")
        if not isinstance(self.frequencies, DocumentFrequencies):
            checked_choice("frequencies", self.frequencies, ("references", "uniform"))

    @property
    def names(self) -> tuple[str, ...]:
        """The family's name, with the order where only one is asked for."""
        return (self.family if self.order is None else f"{self.family}-{self.order}",)

    @property
    def statistics(self) -> tuple[str, ...]:
        """The similarity for each order, and a 1 that adds up to the number of images."""
        return (*(f"{n}-gram similarity" for n in range(1, self.n + 1)), "images")

    @property
    def _stems(self) -> bool:
        """Whether it compares stems of words."""
        return False

    @property
    def counts(self) -> Counted | None:
        """Words or stems, where document frequencies come from the references."""
        if self.frequencies != "references":
            return None
        return "stems" if self._stems else "words"

    def counted_on(self, corpus: TokenizedReferences, name: str) -> Self:
        """The metric with document frequencies of a corpus; unchanged where it already has some."""
        if self.counts is None:
            return self
        return replace(self, frequencies=DocumentFrequencies.of(corpus, stem=self._stems, name=name))

    def weighed_by(self, frequencies: DocumentFrequencies) -> Self:
        """The metric with these document frequencies; unchanged where it already has some."""
        return self if self.counts is None else replace(self, frequencies=frequencies)

    @property
    def document_frequencies(self) -> str:
        """`references`, `uniform`, or the name of the corpus and the fingerprint of its frequencies."""
        source = self.frequencies
        return f"{source.name}:{source.digest}" if isinstance(source, DocumentFrequencies) else source

    def _warn_of_one_image(self, references: TokenizedReferences) -> None:
        if self.counts is not None and len(references) == 1:
            warnings.warn(
                f"{self.family} of one image is 0 by definition: it weighs n-grams by the number of images"
                " whose references have them; give document frequencies of a larger corpus",
                CapevalWarning,
                stacklevel=3,
            )

    def _source(self) -> _native.DocumentFrequencies | Literal["references", "uniform"]:
        if isinstance(self.frequencies, DocumentFrequencies):
            if self.frequencies.stem is not self._stems:
                kinds = {True: "stems", False: "words as they are"}
                raise OptionError(
                    f"'frequencies' of {self.family} must count {kinds[self._stems]}"
                    f" (got {kinds[self.frequencies.stem]})"
                )
            return self.frequencies.native
        return self.frequencies

    def _combined(self, statistics: FloatArray, weights: FloatArray, scale: float) -> FloatArray:
        similarities = means(statistics)
        if self.order is not None:
            return scale * similarities[..., self.order - 1 : self.order]
        # Not a matrix product: its last digit depends on the number of rows.
        combined: FloatArray = scale * (similarities * (weights / weights.sum())).sum(axis=-1, keepdims=True)
        return combined


@register
@dataclass(frozen=True, kw_only=True)
class CiderD(_Cider):
    """CIDEr-D (equations 4 and 5): what papers on COCO report as CIDEr.

    Args:
        n: The longest n-grams, 1 to 4.
        order: Only n-grams of this length, for CIDEr-D-n; all up to `n` by default.
        frequencies: Where document frequencies come from: the `references` given, `uniform` (every
            n-gram weighs the same), or `DocumentFrequencies` of another corpus.
        sigma: The width of the Gaussian penalty on the difference in length.
        form: `code` computes what the published code does: term frequencies are counts, lengths are
            numbers of bigrams. `paper` follows equation 4: relative term frequencies, lengths in words.

    Raises:
        OptionError: An option has another value.
    """

    family: ClassVar[str] = "CIDEr-D"
    featured: ClassVar = ("CIDEr-D",)
    note: ClassVar[str] = "CIDEr-D is what papers on COCO call CIDEr."
    variants: ClassVar = _variants("CIDEr-D")

    sigma: float = 6.0
    form: Form = "code"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_positive("sigma", self.sigma)
        checked_choice("form", self.form, get_args(Form))

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Counts document frequencies and measures the references' vectors."""
        self._warn_of_one_image(references)
        prepared = _native.CiderReferences(
            references.native,
            self._source(),
            max_order=self.n,
            sigma=float(self.sigma),
            clip=True,
            pooling="mean",
            relative=self.form == "paper",
            stem=False,
        )
        return lambda candidates: prepared.statistics(candidates.native)

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """The mean over images and orders, times 10."""
        return self._combined(statistics, np.ones(self.n), 10.0)


@register
@dataclass(frozen=True, kw_only=True)
class Cider(_Cider):
    """CIDEr as its paper defines it (equations 1 to 3): stems, no clipping, no length penalty.

    Args:
        n: The longest n-grams, 1 to 4.
        order: Only n-grams of this length, for CIDEr-n; all up to `n` by default.
        frequencies: Where document frequencies come from: the `references` given, `uniform` (every
            n-gram weighs the same: "CIDEr no idf"), or `DocumentFrequencies` of another corpus.
        pooling: `mean` over references, or `max` ("CIDEr max", appendix VIII).
        weights: How orders are combined: `uniform`, or `exponential` ("CIDEr exp", appendix VIII; the
            paper does not give its weights, here they grow as e^n).
        stem: Whether words are compared by their stems.

    Raises:
        OptionError: An option has another value.
    """

    family: ClassVar[str] = "CIDEr"
    featured: ClassVar = ("CIDEr",)
    note: ClassVar[str] = "CIDEr is that of its own paper; COCO's is CIDEr-D."
    variants: ClassVar = _variants("CIDEr")

    pooling: Pooling = "mean"
    weights: Weights = "uniform"
    stem: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_choice("pooling", self.pooling, get_args(Pooling))
        checked_choice("weights", self.weights, get_args(Weights))
        checked_flag("stem", self.stem)

    @property
    def _stems(self) -> bool:
        return self.stem

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Stems the references, counts document frequencies and measures the references' vectors."""
        self._warn_of_one_image(references)
        prepared = _native.CiderReferences(
            references.native,
            self._source(),
            max_order=self.n,
            sigma=None,
            clip=False,
            pooling=self.pooling,
            relative=False,
            stem=self.stem,
        )
        return lambda candidates: prepared.statistics(candidates.native)

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """The mean over images of the weighted sum over orders."""
        weights = np.exp(np.arange(self.n)) if self.weights == "exponential" else np.ones(self.n)
        return self._combined(statistics, weights, 1.0)
