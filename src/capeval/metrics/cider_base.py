"""Base class of the forms of CIDEr: n-grams weighted by document frequencies."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

from capeval import _native
from capeval._internal.validation import checked_order, validate_choice
from capeval.data.scores import FloatArray
from capeval.errors import CapevalWarning, OptionError
from capeval.metrics.base import NOT_AN_OPTION, Counted, MeanMetric, compute_means
from capeval.resources import DocumentFrequencies
from capeval.tokenizers import TokenizedReferences

__all__ = ["CiderMetric", "list_variants"]

Source = DocumentFrequencies | Literal["references", "uniform"]


def list_variants(family: str) -> dict[str, dict[str, int]]:
    """Return the variant with all orders, and one variant per order."""
    return {family: {}, **{f"{family}-{n}": {"n": n, "order": n} for n in range(1, 5)}}


@dataclass(frozen=True, kw_only=True)
class CiderMetric(MeanMetric):
    """Base class of CIDEr-D, CIDEr-2015 and CIDEr-R.

    The statistics are the similarity for each n-gram order, and a 1.
    """

    docs_page: ClassVar[str] = "cider"
    citations: ClassVar[tuple[str, ...]] = ("vedantam2015cider",)

    n: int = 4
    order: int | None = None
    frequencies: Source = field(default="references", metadata=NOT_AN_OPTION)

    def __post_init__(self) -> None:
        checked_order("n", self.n)
        if self.order is not None and checked_order("order", self.order) > self.n:
            raise OptionError(f"'order' must be at most n, {self.n} (got {self.order})")
        if not isinstance(self.frequencies, DocumentFrequencies):
            validate_choice("frequencies", self.frequencies, ("references", "uniform"))

    @property
    def names(self) -> tuple[str, ...]:
        """The family's name, with the order if `order` is set."""
        return (self.family if self.order is None else f"{self.family}-{self.order}",)

    @property
    def statistics(self) -> tuple[str, ...]:
        """The similarity for each order, and a 1 that sums to the number of images."""
        return (*(f"{n}-gram similarity" for n in range(1, self.n + 1)), "images")

    @property
    def _uses_stems(self) -> bool:
        """Whether words are compared by their stems."""
        return bool(self.stem)  # type: ignore[attr-defined]

    @property
    def frequency_unit(self) -> Counted | None:
        """`words` or `stems` if document frequencies come from the references, else None."""
        if self.frequencies != "references":
            return None
        return "stems" if self._uses_stems else "words"

    def with_corpus(self, corpus: TokenizedReferences, name: str) -> Self:
        """Return a copy with document frequencies of a corpus, unless it already has some."""
        if self.frequency_unit is None:
            return self
        return replace(self, frequencies=DocumentFrequencies.of(corpus, stem=self._uses_stems, name=name))

    def with_document_frequencies(self, frequencies: DocumentFrequencies) -> Self:
        """Return a copy with these document frequencies, unless it already has some."""
        return self if self.frequency_unit is None else replace(self, frequencies=frequencies)

    @property
    def document_frequencies(self) -> str:
        """`references`, `uniform`, or name and fingerprint of the frequencies' corpus."""
        source = self.frequencies
        return f"{source.name}:{source.digest}" if isinstance(source, DocumentFrequencies) else source

    def _warn_about_frequencies(self, references: TokenizedReferences) -> None:
        if isinstance(self.frequencies, DocumentFrequencies):
            self.frequencies.warn_about_other_tokens(references)
        if self.frequency_unit is not None and len(references) == 1:
            warnings.warn(
                f"{self.family} of one image is 0 by definition: n-grams are weighted by the number of images"
                " with that n-gram in their references; use document frequencies of a larger corpus",
                CapevalWarning,
                stacklevel=3,
            )

    def _get_native_frequencies(self) -> _native.DocumentFrequencies | Literal["references", "uniform"]:
        if isinstance(self.frequencies, DocumentFrequencies):
            if self.frequencies.stem is not self._uses_stems:
                kinds = {True: "stems", False: "unstemmed words"}
                raise OptionError(
                    f"'frequencies' of {self.family} must count {kinds[self._uses_stems]}"
                    f" (got {kinds[self.frequencies.stem]})"
                )
            return self.frequencies.native
        return self.frequencies

    def _combine_orders(self, statistics: FloatArray, weights: FloatArray, scale: float) -> FloatArray:
        similarities = compute_means(statistics)
        if self.order is not None:
            return scale * similarities[..., self.order - 1 : self.order]
        # Not a matrix product, since its rounding depends on the number of rows.
        combined: FloatArray = scale * (similarities * (weights / weights.sum())).sum(axis=-1, keepdims=True)
        return combined
