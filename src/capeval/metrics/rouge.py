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

    Example:
        The longest common subsequence is "a dog". Precision is 1, recall is 2/3, and their harmonic mean is
        0.8. By default, recall has a higher weight:

        >>> from capeval import RougeL, evaluate
        >>> references, candidates = {1: ["A dog runs."]}, {1: "A dog."}
        >>> round(evaluate(references, candidates, [RougeL(beta=1.0)]).corpus["ROUGE-L"], 3)
        0.8
        >>> round(evaluate(references, candidates, [RougeL()]).corpus["ROUGE-L"], 3)
        0.772
    """

    family: ClassVar[str] = "ROUGE-L"
    featured: ClassVar = ("ROUGE-L",)
    aliases: ClassVar = {"ROUGE": "ROUGE-L"}
    docs_page: ClassVar[str] = "rouge"
    citations: ClassVar = ("lin2004rouge",)

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

    Example:
        The candidate contains 5 of 6 words and 3 of 5 bigrams of the reference:

        >>> from capeval import RougeN, evaluate
        >>> metrics = [RougeN(n=1), RougeN(n=2)]
        >>> report = evaluate({1: ["A dog runs on the grass."]}, {1: "A dog on the grass."}, metrics)
        >>> {name: round(score, 3) for name, score in report.corpus.items()}
        {'ROUGE-1': 0.833, 'ROUGE-2': 0.6}
    """

    family: ClassVar[str] = "ROUGE-N"
    docs_page: ClassVar[str] = "rouge"
    citations: ClassVar = ("lin2004rouge",)
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
    """F-measure of ordered pairs of words (skip bigrams).

    Args:
        distance: The maximum distance between the two words (1 for adjacent words); `None` for no limit.
        beta: The weight of recall.

    Raises:
        OptionError: `distance` is not an integer from 1 to 2^31 - 1, or `beta` not a number above 0.

    Example:
        The candidate has one skip bigram, "a dog", and the reference three: "a dog", "a runs" and "dog runs".
        Precision is 1, recall is 1/3, and their harmonic mean is 0.5:

        >>> from capeval import RougeS, evaluate
        >>> report = evaluate({1: ["A dog runs."]}, {1: "A dog."}, [RougeS(beta=1.0)])
        >>> round(report.corpus["ROUGE-S"], 3)
        0.5
    """

    family: ClassVar[str] = "ROUGE-S"
    docs_page: ClassVar[str] = "rouge"
    citations: ClassVar = ("lin2004rouge",)

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
