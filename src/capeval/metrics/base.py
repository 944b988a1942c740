"""What a metric is: prepare, count, sum, score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import ClassVar

import numpy as np

from capeval import _native
from capeval.errors import MismatchError, OptionError
from capeval.tokenization import TokenizedCandidates, TokenizedReferences, Tokenizer, tokenized
from capeval.types import (
    Candidates,
    CandidatesLike,
    FloatArray,
    ImageId,
    ReferencesLike,
    Scores,
    Signature,
)

__all__ = [
    "Kernel",
    "MeanMetric",
    "Metric",
    "Prepared",
    "checked_choice",
    "checked_flag",
    "checked_number",
    "checked_order",
    "checked_positive",
    "means",
]

Kernel = Callable[[_native.TokenizedCandidates], FloatArray]


class Metric(ABC):
    """A way to score captions; its options are the fields of a frozen dataclass.

    Attributes:
        family: The metric's name in signatures and in the registry.
    """

    family: ClassVar[str]

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the scores that it gives."""

    @abstractmethod
    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Does all that depends on the references alone; the result turns candidates into statistics."""

    @abstractmethod
    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """The scores that rows of statistics stand for.

        Args:
            statistics: Rows of shape `(..., statistics)`: of one image, or summed over images.

        Returns:
            Scores of shape `(..., len(names))`.
        """

    @property
    def document_frequencies(self) -> str | None:
        """Where document frequencies come from, for the signature."""
        return None

    def options(self) -> tuple[str, ...]:
        """The options as `name=value`, for the signature."""
        shown = (f for f in fields(self) if f.name != "frequencies")  # type: ignore[arg-type]
        return tuple(f"{f.name}={_shown(getattr(self, f.name))}" for f in shown)

    def prepare(
        self,
        references: ReferencesLike | TokenizedReferences,
        *,
        tokenizer: Tokenizer | None = None,
    ) -> Prepared:
        """Prepares references once, to score any number of candidates.

        Args:
            references: The references of each image; already tokenised ones are used as they are.
            tokenizer: How to tokenise references and candidates; the reference's way by default.

        Raises:
            CaptionError: The references are not captions by image.
            OptionError: `tokenizer` is no `Tokenizer`, or not the one of tokenised references.
        """
        return Prepared(self, tokenized(references, tokenizer))


class MeanMetric(Metric):
    """A metric whose corpus score is the mean of its scores per image: rows of scores, then a 1."""

    @property
    def names(self) -> tuple[str, ...]:
        """The family's name."""
        return (self.family,)

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """The mean of scores: their sum over their number."""
        return means(statistics)


class Prepared:
    """References prepared for one metric.

    It never changes: candidates of any of its images can be scored again and again, in any number of
    threads, and leave nothing behind. A pickle of it holds the metric and the references, which are
    prepared again where it is read.
    """

    def __init__(self, metric: Metric, references: TokenizedReferences) -> None:
        self.metric = metric
        self.references = references
        self._kernel = metric.kernel(references)

    def __reduce__(self) -> tuple[type[Prepared], tuple[Metric, TokenizedReferences]]:
        return type(self), (self.metric, self.references)

    def statistics(self, candidates: TokenizedCandidates) -> FloatArray:
        """The statistics of each candidate: one row each, in the order of the candidates.

        Raises:
            MismatchError: The candidates were tokenised for other references.
        """
        # Their words are numbers, and mean other words elsewhere.
        if candidates.references is not self.references:
            raise MismatchError(
                "candidates must be tokenised with these references, by the `candidates` of the"
                " `references` of what scores them (got candidates of other references)"
            )
        return self._kernel(candidates.native)

    def signature(self) -> Signature:
        """What scores against these references depend on."""
        counts = self.references.references.counts
        few, many = int(counts.min()), int(counts.max())
        return Signature(
            metric=self.metric.family,
            options=self.metric.options(),
            tokenizer=str(self.references.tokenizer),
            images=len(self.references),
            references=str(few) if few == many else f"{few}-{many}",
            digest=self.references.digest,
            document_frequencies=self.metric.document_frequencies,
        )

    def score(
        self,
        candidates: CandidatesLike | TokenizedCandidates,
    ) -> Scores:
        """Scores candidates of some or all of the images.

        Args:
            candidates: Image id to its candidate, or to a list of candidates (several samples).

        Returns:
            Scores with a row for each candidate, in the order given.

        Raises:
            CaptionError: The candidates are not captions by image.
            MismatchError: A candidate's image has no references, or the candidates were tokenised for
                other references.
        """
        if not isinstance(candidates, TokenizedCandidates):
            if not isinstance(candidates, Candidates):
                candidates = Candidates(candidates)
            candidates = self.references.candidates(candidates)
        statistics = self.statistics(candidates)
        return make_scores(self, statistics, candidates.image_ids)


def means(statistics: FloatArray) -> FloatArray:
    """The means of scores, from rows of their sums and, last, their number."""
    scores: FloatArray = statistics[..., :-1] / statistics[..., -1:]
    return scores


def make_scores(prepared: Prepared, statistics: FloatArray, image_ids: tuple[ImageId, ...]) -> Scores:
    """Scores from statistics."""
    metric = prepared.metric
    per_image = metric.aggregate(statistics)
    corpus = metric.aggregate(statistics.sum(axis=0))
    return Scores(
        names=metric.names,
        image_ids=image_ids,
        corpus=dict(zip(metric.names, corpus.tolist(), strict=True)),
        per_image={name: np.ascontiguousarray(per_image[:, i]) for i, name in enumerate(metric.names)},
        statistics=statistics,
        signature=prepared.signature(),
    )


def checked_order(name: str, value: object) -> int:
    """An n-gram order.

    Raises:
        OptionError: It is not an integer from 1 to 4.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 4:
        raise OptionError(f"{name!r} must be an integer from 1 to 4 (got {value!r})")
    return value


def checked_positive(name: str, value: object) -> float:
    """A number above 0, whose square is one too.

    Raises:
        OptionError: It is not, or it is below 1e-100 or above 1e100.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-100 <= value <= 1e100:
        raise OptionError(f"{name!r} must be a number above 0, from 1e-100 to 1e100 (got {value!r})")
    return float(value)


def checked_number(name: str, value: object, low: float, high: float) -> float:
    """A number between two others, or one of them.

    Raises:
        OptionError: It is not.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise OptionError(f"{name!r} must be a number from {low:g} to {high:g} (got {value!r})")
    return float(value)


def checked_flag(name: str, value: object) -> None:
    """Makes sure that an option is True or False.

    Raises:
        OptionError: It is not.
    """
    if not isinstance(value, bool):
        raise OptionError(f"{name!r} must be True or False (got {value!r})")


def checked_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Makes sure that an option is one of some words.

    Raises:
        OptionError: It is not.
    """
    if value not in choices:
        raise OptionError(f"{name!r} must be one of {', '.join(choices)} (got {value!r})")


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(_shown(part) for part in value)
    # All digits, since the scores depend on all; and 6.0 is the option that 6 is.
    return repr(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)
