"""What a metric is: prepare, count, sum, score."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self
from weakref import WeakKeyDictionary

import numpy as np

from capeval.data.captions import Candidates, CandidatesLike, ImageId, ReferencesLike
from capeval.data.scores import Digest, FloatArray, Scores, Signature
from capeval.errors import MismatchError, UnscoredWarning
from capeval.resources.compiled_files import CompiledResource
from capeval.resources.document_frequencies import DocumentFrequencies
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences, Tokenizer, tokenized

if TYPE_CHECKING:
    # Imported where graphs are made: classes take time to make too.
    from capeval.metrics.scene_graphs import ComparedGraphs

__all__ = [
    "NOT_AN_OPTION",
    "Kernel",
    "MeanMetric",
    "Metric",
    "Prepared",
    "Resource",
    "means",
    "shown_counts",
    "shown_option",
    "signature_from",
    "unscored_images",
]

Kernel = Callable[[TokenizedCandidates], FloatArray]
"""Turns candidates into statistics: one row for each candidate, in their order."""

NOT_AN_OPTION: Mapping[str, bool] = {"option": False}
"""The metadata of a field of a metric that is not an option."""

# Warnings already given about candidates: several metrics may parse the same captions.
_WARNED: WeakKeyDictionary[TokenizedCandidates, set[str]] = WeakKeyDictionary()

Reads = Literal["tokens", "captions"]
Counted = Literal["words", "stems"]
Progress = Callable[[int], object]


@dataclass(frozen=True, kw_only=True)
class Resource:
    """Data that a metric needs besides captions, such as word tables or a model.

    Attributes:
        name: What it is, such as `METEOR's word tables`.
        prepare: Makes the resource where it is missing, and now and then calls its argument with the number
            of finished steps. Where the source of the resource is missing, raises a `ResourceError` that
            says what to run.
        found: Says where it is; None where it was not made yet.
        steps: The number of steps to make it.
        memory: The address space in bytes that a process needs for it.
        seconds: How many seconds it takes at most, on a slow machine, to make or read it.
        install: The command that installs its source, or makes it, in one line.
        by_command: Whether that command alone makes it; otherwise scoring makes it where it can.
        command: The command that makes it before a metric needs it; empty where there is none.
    """

    name: str
    prepare: Callable[[Progress], object]
    found: Callable[[], CompiledResource | None]
    steps: int
    memory: int
    seconds: int
    install: str
    by_command: bool = False
    command: str = ""


class Metric(ABC):
    """A way to score captions; its options are the fields of a frozen dataclass.

    A field with `metadata=NOT_AN_OPTION` is not an option but data that the metric is given, such as
    document frequencies; the signature does not list it among the options.

    The command line, the server, signatures and tests read all that they need to know of a metric here.

    Attributes:
        family: The metric's name in signatures.
        page: Its page under `docs/metrics`, and its folder under `tests/conformance`.
        variants: Its names in the registry, each with the options that it stands for; by default the
            family's name with the default options.
        featured: The variants that forms offer first; the others are behind "More metrics".
        note: What readers of its scores ask, answered in one sentence; shown below tables.
        higher_is_better: Whether a higher score is better. Bold numbers, ranks and tests depend on it.
        first_reference_counts: Whether, of equally good references, the first one gives the statistics of
            the image. The score of the image is the same for each of them; that of the corpus may differ.
    """

    family: ClassVar[str]
    page: ClassVar[str]
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    featured: ClassVar[tuple[str, ...]] = ()
    note: ClassVar[str] = ""
    higher_is_better: ClassVar[bool] = True
    first_reference_counts: ClassVar[bool] = False

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of its scores."""

    @property
    @abstractmethod
    def statistics(self) -> tuple[str, ...]:
        """The names of the statistics, one for each column of a row."""

    @abstractmethod
    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Does the work that depends only on the references; the result turns candidates into statistics.

        References and candidates both have the interned tokens (`native`), the tokens as text (`texts`) and
        the captions as written.
        """

    @abstractmethod
    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Turns rows of statistics into scores.

        Args:
            statistics: Rows of shape `(..., statistics)`: of one image, or summed over images.

        Returns:
            Scores of shape `(..., len(names))`.
        """

    @property
    def reads(self) -> Reads:
        """Whether it reads the tokenizer's tokens, or captions as they were written."""
        return "tokens"

    @property
    def needs(self) -> tuple[Resource, ...]:
        """The resources that it needs."""
        return ()

    @property
    def document_frequencies(self) -> str | None:
        """Where document frequencies come from, for the signature."""
        return None

    @property
    def counts(self) -> Counted | None:
        """What it counts document frequencies of, in the references; None where it counts none."""
        return None

    def counted_on(self, corpus: TokenizedReferences, name: str) -> Metric:  # noqa: ARG002
        """The metric with document frequencies of a corpus instead of those of the references.

        Args:
            corpus: The captions whose n-grams are counted.
            name: What to call the corpus in signatures.

        Returns:
            The metric itself where `counts` is None.
        """
        return self

    def weighed_by(self, frequencies: DocumentFrequencies) -> Metric:  # noqa: ARG002
        """The metric with document frequencies that were counted before, instead of those of the references.

        Returns:
            The metric itself where `counts` is None.
        """
        return self

    def remembering(self, folder: Path) -> Self:  # noqa: ARG002
        """The metric, keeping in a folder what takes long to compute; scores stay the same.

        Returns:
            The metric itself where it has nothing to keep.
        """
        return self

    def parsing_up_to(self, longest: int) -> Self:  # noqa: ARG002
        """Return the metric with a limit of the sentences that it parses, in tokens.

        Returns:
            The metric itself if it parses nothing.
        """
        return self

    def requiring_all(self) -> Self:
        """Return the metric that raises an `UnscoredError` instead of leaving out images.

        Returns:
            The metric itself if it scores every image.
        """
        return self

    def unscored(self, statistics: FloatArray) -> FloatArray:
        """Return the number of images that the metric could not score.

        Such an image has no score (NaN) and is left out of corpus scores. Its row adds 0 to all sums except
        this number.

        Args:
            statistics: Rows of shape `(..., statistics)`: of one image, or summed over images.

        Returns:
            Numbers of shape `(...)`; 0 if the metric scores every image.
        """
        return np.zeros(statistics.shape[:-1])

    @property
    def unscored_reason(self) -> str:
        """The reason for which it could not score an image, as the end of a sentence."""
        return ""

    @property
    def unscored_fix(self) -> str:
        """The way to score such images."""
        return ""

    def explain(self, candidate: str, references: Sequence[str]) -> ComparedGraphs | None:  # noqa: ARG002
        """What the score of an image is made of, for people to look at.

        Args:
            candidate: The candidate as the metric reads it (`reads`): tokens joined by single spaces, or the
                caption as it was written.
            references: The references of its image, likewise.

        Returns:
            None where the metric has nothing to show beside the score.
        """
        return None

    def options(self) -> tuple[str, ...]:
        """The options as `name=value`, for the signature."""
        shown = (f for f in fields(self) if f.metadata.get("option", True))  # type: ignore[arg-type]
        return tuple(f"{f.name}={shown_option(getattr(self, f.name))}" for f in shown)

    def signature(
        self,
        references: TokenizedReferences,
        *,
        counts: tuple[int, int] | None = None,
        seed: int | None = None,
    ) -> Signature:
        """What scores against these references depend on.

        Args:
            references: The references.
            counts: The smallest and the largest number of references of an image, where fewer are used.
            seed: The seed, for scores that depend on chance.
        """
        if counts is None:
            numbers = references.references.counts
            counts = int(numbers.min()), int(numbers.max())
        return signature_from(self, references.tokenizer, references.digest, len(references), counts, seed)

    def prepare(
        self,
        references: ReferencesLike | TokenizedReferences,
        *,
        tokenizer: Tokenizer | None = None,
    ) -> Prepared:
        """Prepares references once, to score any number of candidates.

        Args:
            references: The references of each image; already tokenized ones are used as they are.
            tokenizer: How to tokenize references and candidates; the reference's way by default.

        Raises:
            CaptionError: The references are not captions by image.
            OptionError: `tokenizer` is not a `Tokenizer`, or not that of tokenized references.
        """
        return Prepared(self, tokenized(references, tokenizer))


class MeanMetric(Metric):
    """A metric whose corpus score is the mean over images. A row of statistics has the scores, then a 1."""

    @property
    def names(self) -> tuple[str, ...]:
        """The family's name."""
        return (self.family,)

    @property
    def statistics(self) -> tuple[str, ...]:
        """The score of an image, and a 1 that adds up to the number of images."""
        return (*self.names, "images")

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """The mean of scores: their sum divided by their number."""
        return means(statistics)


class Prepared:
    """References prepared for one metric.

    It never changes, so any number of threads can score candidates with it. A pickle of it has the metric
    and the references, which are prepared again when it is loaded.
    """

    def __init__(self, metric: Metric, references: TokenizedReferences) -> None:
        self.metric = metric
        self.references = references
        self._kernel = metric.kernel(references)

    def __reduce__(self) -> tuple[type[Prepared], tuple[Metric, TokenizedReferences]]:
        return type(self), (self.metric, self.references)

    def statistics(self, candidates: TokenizedCandidates) -> FloatArray:
        """The statistics of each candidate: one row each, in the order of the candidates.

        An `UnscoredWarning` names the images that the metric could not score.

        Raises:
            MismatchError: The candidates were tokenized for other references.
        """
        # Words are stored as numbers, which stand for other words with other references.
        if candidates.references is not self.references:
            raise MismatchError(
                "candidates must be tokenized with these references, by the `candidates` of the"
                " `references` of what scores them (got candidates of other references)"
            )
        statistics = self._kernel(candidates)
        unscored = unscored_images(self.metric, statistics, candidates.image_ids)
        if unscored is not None:
            warned = _WARNED.setdefault(candidates, set())
            if str(unscored) not in warned:
                warned.add(str(unscored))
                warnings.warn(unscored, stacklevel=2)
        return statistics

    def signature(self) -> Signature:
        """What scores against these references depend on."""
        return self.metric.signature(self.references)

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
            MismatchError: A candidate's image has no references, or the candidates were tokenized for
                other references.
        """
        if not isinstance(candidates, TokenizedCandidates):
            candidates = self.references.candidates(Candidates(candidates))
        statistics = self.statistics(candidates)
        return make_scores(self, statistics, candidates.image_ids)


def unscored_images(
    metric: Metric, statistics: FloatArray, image_ids: Sequence[ImageId]
) -> UnscoredWarning | None:
    """Return the warning about the images that a metric could not score; None if it scored all.

    Args:
        metric: The metric.
        statistics: A row for each image.
        image_ids: The image of each row.
    """
    rows = np.flatnonzero(metric.unscored(statistics))
    if not rows.size:
        return None
    images = tuple(dict.fromkeys(image_ids[row] for row in rows.tolist()))
    return UnscoredWarning(images, metric.unscored_reason, metric.unscored_fix)


def means(statistics: FloatArray) -> FloatArray:
    """The means of scores, from rows that have the sums of scores and, last, their number; NaN of none."""
    with np.errstate(invalid="ignore"):
        scores: FloatArray = statistics[..., :-1] / statistics[..., -1:]
    return scores


def make_scores(prepared: Prepared, statistics: FloatArray, image_ids: tuple[ImageId, ...]) -> Scores:
    """Scores from statistics."""
    return scores_from(prepared.metric, statistics, image_ids, prepared.signature())


def scores_from(
    metric: Metric, statistics: FloatArray, image_ids: tuple[ImageId, ...], signature: Signature
) -> Scores:
    """Scores from statistics, of which the signature is known."""
    per_image = metric.aggregate(statistics)
    corpus = metric.aggregate(statistics.sum(axis=0))
    return Scores(
        names=metric.names,
        image_ids=image_ids,
        corpus=dict(zip(metric.names, corpus.tolist(), strict=True)),
        per_image={name: np.ascontiguousarray(per_image[:, i]) for i, name in enumerate(metric.names)},
        statistics=statistics,
        signature=signature,
    )


def signature_from(
    metric: Metric,
    tokenizer: Tokenizer,
    digest: Digest,
    images: int,
    counts: tuple[int, int],
    seed: int | None = None,
) -> Signature:
    """The signature of a metric's scores against references of which only so much is known.

    Args:
        metric: The metric.
        tokenizer: The tokenizer.
        digest: The digest of the references.
        images: The number of images.
        counts: The smallest and the largest number of references of an image.
        seed: The seed, for scores that depend on chance.
    """
    return Signature(
        metric=metric.family,
        options=metric.options(),
        tokenizer=str(tokenizer) if metric.reads == "tokens" else "none",
        images=images,
        references=shown_counts(*counts),
        digest=digest,
        document_frequencies=metric.document_frequencies,
        seed=seed,
    )


def shown_counts(least: int, most: int) -> str:
    """The numbers of references of images, as signatures write them: `5`, or `5-7`."""
    return str(least) if least == most else f"{least}-{most}"


def shown_option(value: object) -> str:
    """Return the value of an option, as signatures write it."""
    if isinstance(value, tuple):
        return ",".join(map(shown_option, value))
    # All digits, since the scores depend on all of them; 6.0 is written like 6, which is the same option.
    return repr(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)
