"""METEOR 1.5 (Denkowski and Lavie 2014; COCO Captions, equations 11 to 15)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from capeval import _native
from capeval._internal.validation import (
    checked_different,
    checked_path,
    validate_choice,
    validate_flag,
    validate_number,
    validate_positive,
)
from capeval.data.scores import FloatArray
from capeval.errors import CaptionError, OptionError
from capeval.errors.messages import shorten
from capeval.metrics.base import NOT_AN_OPTION, Kernel, Metric, Resource
from capeval.metrics.registry import register
from capeval.resources.meteor import (
    INSTALL_TABLES,
    PARAPHRASES,
    can_compile_tables,
    ensure_tables,
    find_tables,
    load_tables,
    open_tables,
)
from capeval.tokenizers import (
    TokenizedCandidates,
    TokenizedReferences,
    Tokenizer,
    tokenize,
    warn_about_other_scripts,
)

__all__ = ["LANGUAGES", "STAGES", "Alignment", "Match", "Meteor", "align"]

STAGES = ("exact", "stem", "synonym", "paraphrase")
"""Kinds of word matches, in the order in which METEOR tries them."""

LANGUAGES = ("en", "cs", "da", "de", "es", "fr", "it", "no", "ro", "ru", "sv", "tr")
"""Supported languages, as ISO 639-1 codes."""

# METEOR 1.5's weight of stems, alpha, beta, gamma and delta, as printed with `-l` (Czech has no stems).
_LANGUAGE_OPTIONS = {
    "cs": (0.0, 0.95, 0.2, 0.6, 0.8),
    "de": (0.8, 0.95, 1.0, 0.55, 0.55),
    "es": (0.8, 0.65, 1.3, 0.5, 0.8),
    "fr": (0.2, 0.9, 1.4, 0.6, 0.65),
}
_OTHER_LANGUAGE_OPTIONS = (0.5, 0.75, 1.4, 0.7, 0.5)


def _get_stages(language: str) -> tuple[str, ...]:
    """Return the stages that METEOR supports for a language."""
    return STAGES if language == "en" else STAGES[:1] if language == "cs" else STAGES[:2]


def _get_language_options(language: str) -> dict[str, Any]:
    """Return METEOR 1.5's options for a language other than English."""
    stem, alpha, beta, gamma, delta = _LANGUAGE_OPTIONS.get(language, _OTHER_LANGUAGE_OPTIONS)
    stages = _get_stages(language)
    weights = (1.0, stem)[: len(stages)]
    return {
        "language": language,
        "stages": stages,
        "weights": weights,
        "alpha": alpha,
        "beta": beta,
        "gamma": gamma,
        "delta": delta,
    }


_TABLES = Resource(
    name="METEOR's word tables",
    prepare=lambda progress: ensure_tables(progress=progress),
    found=find_tables,
    steps=PARAPHRASES,
    memory=80 * 2**20,
    seconds=300,
    install=INSTALL_TABLES,
    can_build=can_compile_tables,
)


@register
@dataclass(frozen=True, kw_only=True)
class Meteor(Metric):
    """Matched words and stems; in English, synonyms and paraphrases.

    The score combines precision and recall, with a penalty for fragmentation.

    The default options compute the same scores as `java -jar meteor-1.5.jar - - -stdio -l en -norm`, the
    command of the COCO server; `Meteor.of_paper()` is the form in the COCO Captions paper.

    Args:
        language: One of `en`, `cs`, `da`, `de`, `es`, `fr`, `it`, `no`, `ro`, `ru`, `sv` and `tr`. A name
            such as `METEOR-de` stands for METEOR's own options for a language. METEOR has synonyms and
            paraphrases only for English, no stems for Czech, and uses English function words for every
            language.
        stages: The kinds of matches to use, some of `exact`, `stem`, `synonym` and `paraphrase`.
        weights: The weight of a match in each stage, 0 to 1.
        alpha: The weight of recall relative to precision, 0 to 1.
        beta: The exponent of fragmentation in the penalty, above 0.
        gamma: The maximum penalty, 0 to 1.
        delta: The weight of content words, 0 to 1; function words have the weight 1 - delta.
        penalize_perfect: Whether to penalize a candidate equal to its reference for its one chunk.
        normalize: Whether to apply METEOR's normalization and lower-casing after the tokenizer's; for
            languages other than English, only lower-casing.
        tables: The file of compiled word tables, mapped into memory once for all processes of a machine; by
            default those of `capeval-meteor-data` or in the user's cache folder. It does not change scores.

    Raises:
        OptionError: An option has an invalid value.

    Example:
        In the second candidate, "cat" matches a stem and "couch" a synonym. With exact
        matches only, its score is lower:

        >>> from capeval import Meteor, evaluate
        >>> references = {1: ["A dog runs on the grass."], 2: ["Cats on the sofa."]}
        >>> candidates = {1: "A dog runs on the grass.", 2: "A cat on the couch."}
        >>> evaluate(references, candidates, [Meteor()]).per_image["METEOR"].round(3).tolist()
        [1.0, 0.415]
        >>> exact = Meteor(stages=("exact",), weights=(1.0,))
        >>> evaluate(references, candidates, [exact]).per_image["METEOR"].round(3).tolist()
        [1.0, 0.117]
    """

    family: ClassVar[str] = "METEOR"
    featured: ClassVar = ("METEOR",)
    docs_page: ClassVar[str] = "meteor"
    citations: ClassVar = ("denkowski2014meteor",)
    variants: ClassVar = {
        "METEOR": {},
        **{f"METEOR-{language}": _get_language_options(language) for language in LANGUAGES[1:]},
    }
    first_reference_counts: ClassVar[bool] = True

    language: str = "en"
    stages: tuple[str, ...] = STAGES
    weights: tuple[float, ...] = (1.0, 0.6, 0.8, 0.6)
    alpha: float = 0.85
    beta: float = 0.2
    gamma: float = 0.6
    delta: float = 0.75
    penalize_perfect: bool = False
    normalize: bool = True
    tables: Path | None = field(default=None, compare=False, metadata=NOT_AN_OPTION)

    def __post_init__(self) -> None:
        checked_different("stages", self.stages, "names", partial(validate_choice, "stages", choices=STAGES))
        if not isinstance(self.weights, tuple) or len(self.weights) != len(self.stages):
            raise OptionError(f"'weights' must be a tuple with one weight per stage (got {self.weights!r})")
        for weight in self.weights:
            validate_number("weights", weight, 0, 1)
        for name in ("alpha", "gamma", "delta"):
            validate_number(name, getattr(self, name), 0, 1)
        validate_positive("beta", self.beta)
        for name in ("penalize_perfect", "normalize"):
            validate_flag(name, getattr(self, name))
        validate_choice("language", self.language, LANGUAGES)
        checked_path("tables", self.tables)
        unknown = [stage for stage in self.stages if stage not in _get_stages(self.language)]
        if unknown:
            known = ", ".join(_get_stages(self.language))
            raise OptionError(
                f"'stages' of language {self.language!r} must be some of {known} (got {unknown[0]!r});"
                f" Meteor.of_language({self.language!r}) uses METEOR's own options"
            )

    @classmethod
    def of_paper(cls) -> Meteor:
        """Return METEOR as in equations 11 to 15 of the COCO Captions paper.

        All matches have the weight 1, function words have the same weight as others, and synonyms come
        before stems.
        """
        return cls(
            stages=("exact", "synonym", "stem", "paraphrase"),
            weights=(1.0, 1.0, 1.0, 1.0),
            delta=0.5,
            penalize_perfect=True,
        )

    @classmethod
    def of_language(cls, language: str) -> Meteor:
        """Return METEOR 1.5 with its own options for a language.

        Paraphrases of languages other than English are not used, since pycocoevalcap does not include them.
        `Meteor.of_language("de")` computes the same scores as `java -jar meteor-1.5.jar - - -stdio -l de
        -lower -m 'exact stem'`; Czech is the same with `-m exact`.

        Raises:
            OptionError: The language is not supported.
        """
        validate_choice("language", language, LANGUAGES)
        return cls() if language == "en" else cls(**_get_language_options(language))

    @property
    def names(self) -> tuple[str, ...]:
        """`METEOR`, with the language if it is not English, such as `METEOR-de`."""
        return ("METEOR" if self.language == "en" else f"METEOR-{self.language}",)

    def options(self) -> tuple[str, ...]:
        """Return the options as `name=value`, with the language if it is not English."""
        return tuple(option for option in super().options() if option != "language=en")

    @property
    def statistics(self) -> tuple[str, ...]:
        """The fields of METEOR's statistics line."""
        sides = ("candidate", "reference")
        matched = [
            f"{stage} matches of {kind} words in {side}"
            for stage in STAGES
            for kind in ("content", "function")
            for side in sides
        ]
        lengths = [f"{side} {length}" for length in ("length", "function words") for side in sides]
        return (*lengths, *matched, "chunks", *(f"matches in {side}" for side in sides))

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The word tables, which contain the function words used for every language."""
        return () if self.tables is not None else (_TABLES,)

    def native_tables(self) -> _native.MeteorTables:
        """Open the word tables.

        Raises:
            ResourceError: The word tables are missing or damaged.
        """
        return load_tables() if self.tables is None else open_tables(self.tables)

    def native_options(self) -> _native.MeteorOptions:
        """Return the options in the form that the kernels accept."""
        return _native.MeteorOptions(
            language=self.language,
            stages=[(stage, float(weight)) for stage, weight in zip(self.stages, self.weights, strict=True)],
            alpha=float(self.alpha),
            beta=float(self.beta),
            gamma=float(self.gamma),
            delta=float(self.delta),
            beam_size=40,
            normalize=self.normalize,
            penalize_perfect=self.penalize_perfect,
        )

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Normalize the references and look up stems, synonyms and paraphrases.

        Raises:
            ResourceError: The word tables are missing or damaged.
        """
        if self.language == "en":
            warn_about_other_scripts(references, "METEOR")
        prepared = _native.MeteorReferences(references.native, self.native_tables(), self.native_options())

        def statistics(candidates: TokenizedCandidates) -> FloatArray:
            try:
                return prepared.statistics(candidates.native)
            except _native.TooManyMatchesError as error:
                position, reference, limits = error.args
                image = shorten(candidates.image_ids[position])
                raise CaptionError(
                    f"image {image}: the candidate and caption {reference + 1} of its references: {limits}"
                ) from None

        return statistics

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Compute METEOR from summed counts."""
        rows = np.ascontiguousarray(statistics.reshape(-1, statistics.shape[-1]))
        scores = _native.meteor_scores(rows, self.native_options())
        return scores.reshape(*statistics.shape[:-1], 1)


@dataclass(frozen=True, kw_only=True)
class Match:
    """A match of words of the candidate with words of the reference.

    Attributes:
        candidate: Positions of the words in the candidate.
        reference: Positions of the words in the reference.
        stage: The kind of match: `exact`, `stem`, `synonym` or `paraphrase`.
        weight: The weight of the match.
        chunk: The number of its chunk, from 1. A chunk is a run of matches that are adjacent in both
            captions.
    """

    candidate: range
    reference: range
    stage: str
    weight: float
    chunk: int


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """METEOR's alignment of a candidate with a reference, and the resulting score.

    Attributes:
        candidate: The words of the candidate, after METEOR's normalization.
        reference: The words of the reference.
        matches: The matches, in the order of the reference.
        chunks: The number of chunks.
        precision: Weighted share of matched words in the candidate; NaN if it is empty.
        recall: Weighted share of matched words in the reference; NaN if it is empty.
        f_mean: Weighted harmonic mean of precision and recall; 0 if nothing matches, NaN if a caption is
            empty.
        penalty: The penalty for fragmentation; NaN if nothing matches.
        score: METEOR of this pair.
    """

    candidate: tuple[str, ...]
    reference: tuple[str, ...]
    matches: tuple[Match, ...]
    chunks: int
    precision: float
    recall: float
    f_mean: float
    penalty: float
    score: float


def align(
    candidate: str, reference: str, *, metric: Meteor | None = None, tokenizer: Tokenizer | None = None
) -> Alignment:
    """Align a candidate with one reference, like METEOR.

    The two captions are tokenized independently. Scoring tokenizes all captions as one batch, in which the
    last token of a caption can, in rare cases, depend on the next caption.

    Args:
        candidate: A caption.
        reference: A caption.
        metric: METEOR's options; by default `Meteor()`.
        tokenizer: The tokenizer; by default the reference implementation's.

    Raises:
        CaptionError: A caption is not a string of characters, or the captions are too long to align.
        OptionError: `metric` is not a `Meteor`, or `tokenizer` not a `Tokenizer`.
        ResourceError: The word tables are missing or damaged.

    Example:
        >>> from capeval import align
        >>> aligned = align("A cat on the couch.", "Cats on the sofa.")
        >>> for match in aligned.matches:
        ...     word = aligned.candidate[match.candidate.start]
        ...     print(word, aligned.reference[match.reference.start], match.stage)
        cat cats stem
        on on exact
        the the exact
        couch sofa synonym
        >>> aligned.chunks, round(aligned.score, 3)
        (1, 0.415)
    """
    if metric is not None and not isinstance(metric, Meteor):
        raise OptionError(f"'metric' must be a Meteor (got {metric!r})")
    texts = [" ".join(tokenize([caption], tokenizer)[0]) for caption in (candidate, reference)]
    metric = metric or Meteor()
    tables, options = metric.native_tables(), metric.native_options()
    try:
        words, reference_words, spans, chunks, parts = _native.meteor_align(tables, options, *texts)
    except _native.TooManyMatchesError as error:
        raise CaptionError(error.args[2]) from None
    precision, recall, f_mean, penalty, score = parts
    return Alignment(
        candidate=tuple(words),
        reference=tuple(reference_words),
        matches=tuple(_iter_matches(spans)),
        chunks=chunks,
        precision=precision,
        recall=recall,
        f_mean=f_mean,
        penalty=penalty,
        score=score,
    )


def _iter_matches(spans: list[tuple[int, int, int, int, str, float]]) -> Iterator[Match]:
    ends, chunk = (-1, -1), 0
    for candidate, length, reference, reference_length, stage, weight in spans:
        chunk += (candidate, reference) != ends
        ends = (candidate + length, reference + reference_length)
        yield Match(
            candidate=range(candidate, ends[0]),
            reference=range(reference, ends[1]),
            stage=stage,
            weight=weight,
            chunk=chunk,
        )
