"""Base classes of metrics: prepare references, count, sum and score."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from capeval._internal.file_fingerprints import fingerprint_file
from capeval._internal.plugin_versions import get_plugin
from capeval.data.captions import Candidates, CandidatesLike, ImageId, ReferencesLike
from capeval.data.scores import Digest, FloatArray, Scores, Signature
from capeval.errors import CapevalError, MismatchError, OptionError, UnscoredWarning
from capeval.errors.messages import format_names
from capeval.resources.compiled_files import CompiledResource
from capeval.resources.document_frequencies import DocumentFrequencies
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences, Tokenizer, as_tokenized

if TYPE_CHECKING:
    # Imported lazily: creating its dataclasses slows down the start.
    from capeval.metrics.scene_graphs import ComparedGraphs

__all__ = [
    "NOT_AN_OPTION",
    "OMITTED_BY_DEFAULT",
    "Kernel",
    "MeanMetric",
    "Metric",
    "Prepared",
    "Resource",
    "compute_means",
    "create_signature",
    "find_fingerprints",
    "format_counts",
    "format_option",
    "get_unscored_warning",
    "make_missing_options_error",
    "require_family",
]

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")

Kernel = Callable[[TokenizedCandidates], FloatArray]
"""Function from candidates to statistics: one row per candidate, in their order."""

NOT_AN_OPTION: Mapping[str, bool] = {"option": False}
"""Metadata of a dataclass field of a metric that is not an option."""

OMITTED_BY_DEFAULT: Mapping[str, bool] = {"shown_by_default": False}
"""Metadata of an option that signatures list only if it differs from its default."""

# Warnings already issued for candidates, since several metrics may parse the same captions.
_WARNED: WeakKeyDictionary[TokenizedCandidates, set[str]] = WeakKeyDictionary()

Reads = Literal["tokens", "sentences", "captions"]
Counted = Literal["words", "stems"]
Progress = Callable[[int], object]


@dataclass(frozen=True, kw_only=True)
class Resource:
    """Data that a metric needs in addition to captions: word tables or a model.

    Attributes:
        name: Display name, such as `METEOR's word tables`.
        prepare: Function that builds the resource if it is missing and periodically calls its argument with
            the number of finished steps. If the source of the resource is missing, it raises a
            `ResourceError` with the command to run.
        found: Function that returns the location of the resource, or None if it was not built yet.
        steps: The number of steps to build it.
        memory: The address space in bytes that a process needs for it.
        seconds: The maximum time in seconds to build or read it on a slow machine.
        install: The command that installs it, in one line.
        can_build: Function that returns whether scoring can build it, because its source is installed.

    Example:
        >>> from capeval.metrics.meteor import Meteor
        >>> (resource,) = Meteor().resources
        >>> resource.name, resource.install
        ("METEOR's word tables", 'pip install "capeval[meteor]"')
    """

    name: str
    prepare: Callable[[Progress], object]
    found: Callable[[], CompiledResource | None]
    steps: int
    memory: int
    seconds: int
    install: str
    can_build: Callable[[], bool] = lambda: True

    @property
    def is_available(self) -> bool:
        """Whether metrics can use the resource without further installation."""
        return self.can_build() or self.found() is not None


class Metric(ABC):
    """Base class of metrics; a metric's options are the fields of a frozen dataclass.

    A field with `metadata=NOT_AN_OPTION` is not an option but input data, such as document frequencies; the
    signature does not list it among the options.

    The command line, the server, signatures and tests read the properties of a metric from this class.

    Attributes:
        family: The metric's name in signatures.
        docs_page: Its page under `docs/metrics`, and its folder under `tests/conformance`.
        variants: Its names in the registry, each with the options that it stands for; by default the
            family's name with the default options.
        former_families: Names of the family in the signatures of earlier versions.
        aliases: Other names of variants on input.
        alias_note: What commands print if one of the other names is used; nothing by default.
        featured: The variants that forms list first; the others are listed under "More metrics".
        note: Footnote for tables of its scores, in one sentence.
        higher_is_better: Whether a higher score is better. Bold numbers, ranks and tests depend on it.
        has_direction: Whether one of two different scores is better. Scores without a direction, such as
            lengths, are never bold and have no winner; they are sorted as `higher_is_better` says.
        citations: The papers to cite: BibTeX entries, or keys of those in `capeval/data/citations.bib`.
        first_reference_counts: Whether the first of several equally good references determines the image's
            statistics. The score of the image is the same for each of them; the corpus score may differ.

    Example:
        A metric that computes the mean number of words needs two statistics per candidate:

        >>> import numpy as np
        >>> from dataclasses import dataclass
        >>> from capeval import evaluate
        >>> from capeval.metrics import Metric
        >>> @dataclass(frozen=True, kw_only=True)
        ... class MeanLength(Metric):
        ...     family = "Length"
        ...     names = ("Length",)
        ...     statistics = ("words", "images")
        ...
        ...     def kernel(self, references):
        ...         return lambda captions: np.array([[len(text.split()), 1.0] for text in captions.texts()])
        ...
        ...     def aggregate(self, statistics):
        ...         return statistics[..., :1] / statistics[..., 1:]
        >>> references = {1: ["A dog runs."], 2: ["Two cats sleep."]}
        >>> evaluate(references, {1: "A dog.", 2: "Two cats on a bed."}, [MeanLength()]).corpus
        {'Length': 3.5}
    """

    family: ClassVar[str]
    docs_page: ClassVar[str]
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    former_families: ClassVar[tuple[str, ...]] = ()
    aliases: ClassVar[Mapping[str, str]] = {}
    alias_note: ClassVar[str] = ""
    featured: ClassVar[tuple[str, ...]] = ()
    note: ClassVar[str] = ""
    higher_is_better: ClassVar[bool] = True
    has_direction: ClassVar[bool] = True
    citations: ClassVar[tuple[str, ...]] = ()
    first_reference_counts: ClassVar[bool] = False

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of its scores."""

    @property
    @abstractmethod
    def statistics(self) -> tuple[str, ...]:
        """The names of the statistics, one per column."""

    @abstractmethod
    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Prepare the references and return a function that computes statistics.

        References and candidates both provide the interned tokens (`native`), the tokens as text (`texts`)
        and the original captions.
        """

    @abstractmethod
    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Compute scores from rows of statistics.

        Args:
            statistics: Rows of shape `(..., statistics)`, each of one image or summed over images.

        Returns:
            Scores of shape `(..., len(names))`.
        """

    def aggregate_for_tests(self, statistics: FloatArray) -> FloatArray:
        """Compute the scores that randomization tests compare; by default those of `aggregate`.

        A metric that adds small constants to its counts returns 0 where these are the whole score, so that
        tests don't find differences of the constants.
        """
        return self.aggregate(statistics)

    @property
    def input_kind(self) -> Reads:
        """The input of the metric.

        It is the tokenizer's `tokens`, its tokens split into `sentences`, or the original `captions`.
        """
        return "tokens"

    @property
    def missing_options(self) -> tuple[str, ...]:
        """The options without a value that the metric needs, such as a file of the user.

        Such a metric can't be part of a challenge, and its `kernel` raises `make_missing_options_error`.
        """
        return ()

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resources that the metric needs."""
        return ()

    @property
    def document_frequencies(self) -> str | None:
        """The source of document frequencies, for the signature."""
        return None

    @property
    def frequency_unit(self) -> Counted | None:
        """Unit of its document frequencies of the references; None if it has none."""
        return None

    def with_corpus(self, corpus: TokenizedReferences, name: str) -> Metric:  # noqa: ARG002
        """Return a copy that uses document frequencies of a corpus, not of the references.

        Args:
            corpus: The captions in which n-grams are counted.
            name: The name of the corpus in signatures.

        Returns:
            The copy, or the metric itself if `frequency_unit` is None.
        """
        return self

    def with_document_frequencies(self, frequencies: DocumentFrequencies) -> Metric:  # noqa: ARG002
        """Return a copy that uses precomputed document frequencies, not the references'.

        Returns:
            The copy, or the metric itself if `frequency_unit` is None.
        """
        return self

    def with_cache(self, folder: Path) -> Self:  # noqa: ARG002
        """Return a copy that caches slow intermediate results in a folder.

        The scores stay the same.

        Returns:
            The copy, or the metric itself if it has nothing to cache.
        """
        return self

    def with_sentence_limit(self, longest: int) -> Self:  # noqa: ARG002
        """Return a copy that parses sentences of at most this many tokens.

        Returns:
            The copy, or the metric itself if it parses nothing.
        """
        return self

    def without_exclusions(self) -> Self:
        """Return a copy that raises an `UnscoredError` instead of excluding images.

        Returns:
            The copy, or the metric itself if it scores every image.
        """
        return self

    def unscored(self, statistics: FloatArray) -> FloatArray:
        """Return the number of images that the metric could not score.

        Such an image has no score (NaN) and is excluded from corpus scores. Its row adds 0 to all sums except
        this number.

        Args:
            statistics: Rows of shape `(..., statistics)`, each of one image or summed over images.

        Returns:
            Numbers of shape `(...)`; 0 if the metric scores every image.
        """
        return np.zeros(statistics.shape[:-1])

    @property
    def unscored_reason(self) -> str:
        """The reason for unscored images, as the end of a sentence."""
        return ""

    @property
    def unscored_fix(self) -> str:
        """Advice on how to score the unscored images."""
        return ""

    def explain(self, candidate: str, references: Sequence[str]) -> ComparedGraphs | None:  # noqa: ARG002
        """Return the components of an image's score, for display.

        Args:
            candidate: The candidate in the form that the metric reads (`input_kind`): tokens joined by single
                spaces, the same with one sentence per line, or the original caption.
            references: The references of its image, in the same form.

        Returns:
            The compared scene graphs, or None if the metric has nothing to show.
        """
        return None

    def options(self) -> tuple[str, ...]:
        """Return the options as `name=value`, for the signature."""
        shown = (f for f in fields(self) if f.metadata.get("option", True))  # type: ignore[arg-type]
        given = ((f, getattr(self, f.name)) for f in shown)
        return tuple(
            f"{f.name}={format_option(value)}"
            for f, value in given
            if value != f.default or f.metadata.get("shown_by_default", True)
        )

    def signature(
        self,
        references: TokenizedReferences,
        *,
        counts: tuple[int, int] | None = None,
        seed: int | None = None,
    ) -> Signature:
        """Return the signature of scores against these references.

        Args:
            references: The references.
            counts: The minimum and maximum number of references per image, if only some of them are used.
            seed: The random seed, for scores that depend on chance.
        """
        if counts is None:
            numbers = references.references.counts
            counts = int(numbers.min()), int(numbers.max())
        return create_signature(self, references.tokenizer, references.digest, len(references), counts, seed)

    def prepare(
        self,
        references: ReferencesLike | TokenizedReferences,
        *,
        tokenizer: Tokenizer | None = None,
    ) -> Prepared:
        """Prepare references once, to score any number of candidates.

        Args:
            references: The references of each image; tokenized references are used unchanged.
            tokenizer: The tokenizer of references and candidates; by default the reference implementation's.

        Raises:
            CaptionError: The references are not captions by image.
            OptionError: `tokenizer` is not a `Tokenizer`, or not the tokenizer of the tokenized references.
        """
        return Prepared(self, as_tokenized(references, tokenizer))


class MeanMetric(Metric):
    """Base class of metrics with the mean over images as the corpus score.

    A row of statistics contains the scores, then a 1.

    Example:
        >>> import numpy as np
        >>> from dataclasses import dataclass
        >>> from capeval import evaluate
        >>> from capeval.metrics import MeanMetric
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Length(MeanMetric):
        ...     family = "Length"
        ...
        ...     def kernel(self, references):
        ...         return lambda captions: np.array([[len(text.split()), 1.0] for text in captions.texts()])
        >>> evaluate({1: ["A dog."], 2: ["Cats."]}, {1: "A dog runs.", 2: "Two cats."}, [Length()]).corpus
        {'Length': 2.5}
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The family's name."""
        return (self.family,)

    @property
    def statistics(self) -> tuple[str, ...]:
        """The score of an image, and a 1 that sums to the number of images."""
        return (*self.names, "images")

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Return the mean score: the sum divided by the number of images."""
        return compute_means(statistics)


class Prepared:
    """References prepared for one metric.

    It is immutable, so any number of threads can score candidates with it. A pickle contains the metric and
    the references, which are prepared again when it is loaded.

    Example:
        The second and third candidates are different samples for the same image:

        >>> from capeval import RougeN
        >>> prepared = RougeN(n=1).prepare({1: ["A dog runs."], 2: ["Two cats on a bed."]})
        >>> scores = prepared.score({1: "A dog runs.", 2: ["Two cats.", "A bed."]})
        >>> scores.image_ids
        (1, 2, 2)
        >>> scores.per_image["ROUGE-1"].round(3).tolist()
        [1.0, 0.4, 0.4]
    """

    def __init__(self, metric: Metric, references: TokenizedReferences) -> None:
        require_family(type(metric))
        self.metric = metric
        self.references = references
        self._kernel = _call(metric, metric.kernel, references)

    def __reduce__(self) -> tuple[type[Prepared], tuple[Metric, TokenizedReferences]]:
        return type(self), (self.metric, self.references)

    def statistics(self, candidates: TokenizedCandidates) -> FloatArray:
        """Return the statistics: one row per candidate, in the order of the candidates.

        An `UnscoredWarning` lists the images that the metric could not score.

        Raises:
            MismatchError: The candidates were tokenized for different references.
            OptionError: A metric of another package failed, or returned statistics of another shape, or ones
                that are not finite numbers.
        """
        # Words are interned as numbers, which mean different words for different references.
        if candidates.references is not self.references:
            raise MismatchError(
                "the candidates were tokenized for different references; tokenize them with"
                " `prepared.references.candidates(candidates)`"
            )
        statistics = self._compute(candidates)
        unscored = get_unscored_warning(self.metric, statistics, candidates.image_ids)
        if unscored is not None:
            warned = _WARNED.setdefault(candidates, set())
            if str(unscored) not in warned:
                warned.add(str(unscored))
                warnings.warn(unscored, stacklevel=2)
        return statistics

    def _compute(self, candidates: TokenizedCandidates) -> FloatArray:
        statistics = _call(self.metric, self._kernel, candidates)
        name = type(self.metric).__name__
        expected = (len(candidates), len(self.metric.statistics))
        got = getattr(statistics, "shape", type(statistics).__name__)
        if got != expected:
            raise OptionError(
                f"{name}.kernel must return an array with a row per candidate and a column per statistic, of"
                f" shape {expected} (got {got})"
            )
        if _is_of_plugin(self.metric):
            if statistics.dtype.kind not in "biuf":
                raise OptionError(f"{name}.kernel must return numbers (got the type {statistics.dtype})")
            wrong = np.argwhere(~np.isfinite(statistics))
            if len(wrong):
                row, column = wrong[0]
                raise OptionError(
                    f"{name}.kernel must return finite numbers (got {statistics[row, column]} for the image"
                    f" {candidates.image_ids[row]!r})"
                )
        return statistics

    def signature(self) -> Signature:
        """Return the signature of scores against these references."""
        return self.metric.signature(self.references)

    def score(
        self,
        candidates: CandidatesLike | TokenizedCandidates,
    ) -> Scores:
        """Score candidates of some or all of the images.

        Args:
            candidates: Mapping of image ids to a candidate, or to a list of candidates (several samples).

        Returns:
            Scores with one row per candidate, in the given order.

        Raises:
            CaptionError: The candidates are not captions by image.
            MismatchError: A candidate's image has no references, or the candidates were tokenized for
                different references.
        """
        if not isinstance(candidates, TokenizedCandidates):
            candidates = self.references.candidates(Candidates(candidates))
        statistics = self.statistics(candidates)
        return make_scores(self, statistics, candidates.image_ids)


def _is_of_plugin(metric: Metric) -> bool:
    return type(metric).__module__.partition(".")[0] != "capeval"


def _call(metric: Metric, function: Callable[[_Given], _Made], given: _Given) -> _Made:
    """Call a part of a metric, and name the place if a metric of another package fails."""
    try:
        return function(given)
    except CapevalError:
        raise
    except Exception as error:
        if not _is_of_plugin(metric):
            raise
        place = extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno})"
        raise OptionError(f"{type(metric).__name__}.kernel failed: {reason}") from error


def require_family(metric: type[Metric]) -> None:
    """Require that a metric class has a family, its name in signatures.

    Raises:
        OptionError: It has none.
    """
    family = getattr(metric, "family", None)
    if not isinstance(family, str) or not family:
        got = "none" if family is None else repr(family)
        raise OptionError(
            f'{metric.__name__}: the class must have a family, such as family = "{metric.__name__}", which'
            f" names its scores in reports and signatures (got {got})"
        )


def make_missing_options_error(metric: Metric) -> OptionError:
    """Return the error about the missing options of a metric."""
    missing = metric.missing_options
    options = f"option{'s' * (len(missing) > 1)} {format_names(missing)}"
    example = ",".join(f"{name}=..." for name in missing)
    return OptionError(f"{metric.family} needs the {options}, as in {metric.family}({example})")


def get_unscored_warning(
    metric: Metric, statistics: FloatArray, image_ids: Sequence[ImageId]
) -> UnscoredWarning | None:
    """Return a warning about the images without a score; None if all have one.

    Args:
        metric: The metric.
        statistics: One row per image.
        image_ids: The image of each row.
    """
    rows = np.flatnonzero(metric.unscored(statistics))
    if not rows.size:
        return None
    images = tuple(dict.fromkeys(image_ids[row] for row in rows.tolist()))
    return UnscoredWarning(images, metric.unscored_reason, metric.unscored_fix)


def find_fingerprints(metrics: Iterable[Metric]) -> dict[str, str]:
    """Return the fingerprint of each available resource of metrics, by the resource's name."""
    resources = dict.fromkeys(resource for metric in metrics for resource in metric.resources)
    found = {resource.name: resource.found() for resource in resources}
    return {name: each.fingerprint for name, each in found.items() if each is not None}


def compute_means(statistics: FloatArray) -> FloatArray:
    """Return mean scores from summed scores.

    The last column of a row is the number of summed scores. The mean of no scores is NaN.
    """
    with np.errstate(invalid="ignore"):
        scores: FloatArray = statistics[..., :-1] / statistics[..., -1:]
    return scores


def make_scores(prepared: Prepared, statistics: FloatArray, image_ids: tuple[ImageId, ...]) -> Scores:
    """Compute scores from statistics."""
    return create_scores(prepared.metric, statistics, image_ids, prepared.signature())


def create_scores(
    metric: Metric, statistics: FloatArray, image_ids: tuple[ImageId, ...], signature: Signature
) -> Scores:
    """Compute scores from statistics with a known signature."""
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


def create_signature(
    metric: Metric,
    tokenizer: Tokenizer,
    digest: Digest,
    images: int,
    counts: tuple[int, int],
    seed: int | None = None,
) -> Signature:
    """Return the signature of a metric's scores from properties of the references.

    Args:
        metric: The metric.
        tokenizer: The tokenizer.
        digest: The digest of the references.
        images: The number of images.
        counts: The minimum and maximum number of references per image.
        seed: The random seed, for scores that depend on chance.
    """
    return Signature(
        metric=metric.family,
        options=metric.options(),
        tokenizer=str(tokenizer) if metric.input_kind != "captions" else "none",
        images=images,
        references=format_counts(*counts),
        digest=digest,
        document_frequencies=metric.document_frequencies,
        seed=seed,
        plugin=get_plugin(type(metric).__module__),
    )


def format_counts(least: int, most: int) -> str:
    """Format the number of references per image for signatures: `5` or `5-7`."""
    return str(least) if least == most else f"{least}-{most}"


def format_option(value: object) -> str:
    """Format the value of an option for signatures; a file by its name and a fingerprint."""
    if isinstance(value, Path):
        return fingerprint_file(value)
    if isinstance(value, tuple):
        return ",".join(map(format_option, value))
    # All digits, since scores depend on all of them; 6.0 is formatted as 6, because the options are equal.
    return repr(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)
