"""ROUGE (Lin 2004; COCO Captions, equations 4 to 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from capeval import _native
from capeval._internal.validation import checked_order, validate_integer, validate_positive
from capeval.metrics.base import Kernel, MeanMetric
from capeval.metrics.registry import register
from capeval.tokenizers import TokenizedReferences

__all__ = ["RougeL", "RougeN", "RougeS"]

# The largest number that the kernel accepts; no caption is that long.
_MAX_DISTANCE = 2**31 - 1


@register
@dataclass(frozen=True, kw_only=True)
class RougeL(MeanMetric):
    """F-measure of the longest common subsequence.

    It combines the best precision and the best recall over the references.

    Args:
        beta: The weight of recall (1.2 in the reference implementation).

    Raises:
        OptionError: `beta` is not a number above 0.
    """

    family: ClassVar[str] = "ROUGE-L"
    featured: ClassVar = ("ROUGE-L",)
    page: ClassVar[str] = "rouge"

    beta: float = 1.2

    def __post_init__(self) -> None:
        validate_positive("beta", self.beta)

    def kernel(self, references: TokenizedReferences) -> Kernel:  # noqa: ARG002
        """Return the function that computes statistics; nothing is prepared."""
        return lambda candidates: _native.rouge_l_statistics(candidates.native, float(self.beta))


@register
@dataclass(frozen=True, kw_only=True)
class RougeN(MeanMetric):
    """N-gram recall over all references of an image.

    Args:
        n: The length of the n-grams, 1 to 4.

    Raises:
        OptionError: `n` is not an integer from 1 to 4.
    """

    family: ClassVar[str] = "ROUGE-N"
    page: ClassVar[str] = "rouge"
    variants: ClassVar = {f"ROUGE-{n}": {"n": n} for n in range(1, 5)}

    n: int = 1

    def __post_init__(self) -> None:
        checked_order("n", self.n)

    @property
    def names(self) -> tuple[str, ...]:
        """`ROUGE-n` for the given n."""
        return (f"ROUGE-{self.n}",)

    def kernel(self, references: TokenizedReferences) -> Kernel:  # noqa: ARG002
        """Return the function that computes statistics; nothing is prepared."""
        return lambda candidates: _native.rouge_n_statistics(candidates.native, self.n)


@register
@dataclass(frozen=True, kw_only=True)
class RougeS(MeanMetric):
    """F-measure of skip bigrams: ordered pairs of words within a maximum distance.

    Args:
        distance: The maximum distance between the two words (1 for adjacent words); `None` for no limit.
        beta: The weight of recall.

    Raises:
        OptionError: `distance` is not an integer from 1 to 2^31 - 1, or `beta` not a number above 0.
    """

    family: ClassVar[str] = "ROUGE-S"
    page: ClassVar[str] = "rouge"

    distance: int | None = 4
    beta: float = 1.2

    def __post_init__(self) -> None:
        if self.distance is not None:
            validate_integer("distance", self.distance, 1, _MAX_DISTANCE, or_none=True)
        validate_positive("beta", self.beta)

    def kernel(self, references: TokenizedReferences) -> Kernel:  # noqa: ARG002
        """Return the function that computes statistics; nothing is prepared."""
        return lambda candidates: _native.rouge_s_statistics(
            candidates.native, self.distance, float(self.beta)
        )
