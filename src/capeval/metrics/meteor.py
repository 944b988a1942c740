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
    checked_choice,
    checked_different,
    checked_flag,
    checked_number,
    checked_path,
    checked_positive,
)
from capeval.data.scores import FloatArray
from capeval.errors import CaptionError, OptionError
from capeval.errors.messages import shortened
from capeval.metrics.base import NOT_AN_OPTION, Kernel, Metric, Resource
from capeval.metrics.registry import register
from capeval.resources.installed_files import INSTALL
from capeval.resources.meteor import (
    PARAPHRASES,
    compiled_tables,
    found_tables,
    meteor_tables,
    opened_tables,
)
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences, Tokenizer, tokenize

__all__ = ["LANGUAGES", "STAGES", "Alignment", "Match", "Meteor", "align"]

STAGES = ("exact", "stem", "synonym", "paraphrase")
"""The ways in which words can match, in the order in which METEOR tries them."""

LANGUAGES = ("en", "cs", "da", "de", "es", "fr", "it", "no", "ro", "ru", "sv", "tr")
"""The languages, by ISO 639-1's codes."""

# METEOR 1.5's weight of stems, alpha, beta, gamma and delta, as `-l` prints them (Czech has no stems).
_OPTIONS_OF = {
    "cs": (0.0, 0.95, 0.2, 0.6, 0.8),
    "de": (0.8, 0.95, 1.0, 0.55, 0.55),
    "es": (0.8, 0.65, 1.3, 0.5, 0.8),
    "fr": (0.2, 0.9, 1.4, 0.6, 0.65),
}
_OTHERS = (0.5, 0.75, 1.4, 0.7, 0.5)


def _stages_of(language: str) -> tuple[str, ...]:
    """The stages that METEOR has of a language."""
    return STAGES if language == "en" else STAGES[:1] if language == "cs" else STAGES[:2]


def _options_of(language: str) -> dict[str, Any]:
    """METEOR 1.5's own options of a language other than English."""
    stem, alpha, beta, gamma, delta = _OPTIONS_OF.get(language, _OTHERS)
    stages = _stages_of(language)
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
    prepare=lambda progress: compiled_tables(progress=progress),
    found=found_tables,
    steps=PARAPHRASES,
    memory=80 * 2**20,
    seconds=300,
    install=INSTALL,
    command="capeval resources meteor",
)


@register
@dataclass(frozen=True, kw_only=True)
class Meteor(Metric):
    """Precision and recall of matched words, lowered where the matches are scattered.

    The default is what `java -jar meteor-1.5.jar - - -stdio -l en -norm` computes, as the COCO server
    ran it; `Meteor.of_paper()` is the form that the COCO Captions paper states.

    Args:
        language: `en`, or another of `LANGUAGES`, for which `Meteor.of_language` has METEOR's own options.
            METEOR has synonyms and paraphrases of English alone, no stems of Czech, and takes English
            function words for every language.
        stages: How words may match, some of `exact`, `stem`, `synonym` and `paraphrase`.
        weights: What a match of each stage is worth, 0 to 1.
        alpha: The weight of recall against precision, 0 to 1.
        beta: How fast the penalty grows with fragmentation, above 0.
        gamma: The largest penalty, 0 to 1.
        delta: The weight of content words; function words weigh 1 - delta.
        penalize_perfect: Whether a candidate equal to its reference is penalized for its one chunk.
        normalize: Whether METEOR's own normalization and lower-casing follow the tokenizer's; of other
            languages than English, lower-casing alone.
        tables: The file of compiled word tables, which all processes of a machine map into memory once; that
            in the user's cache folder by default. It does not change scores.

    Raises:
        OptionError: An option has another value.
    """

    family: ClassVar[str] = "METEOR"
    featured: ClassVar = ("METEOR",)
    page: ClassVar[str] = "meteor"
    variants: ClassVar = {
        "METEOR": {},
        **{f"METEOR-{language}": _options_of(language) for language in LANGUAGES[1:]},
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
        checked_different("stages", self.stages, "names", partial(checked_choice, "stages", choices=STAGES))
        if not isinstance(self.weights, tuple) or len(self.weights) != len(self.stages):
            raise OptionError(f"'weights' must be a tuple, one weight a stage (got {self.weights!r})")
        for weight in self.weights:
            checked_number("weights", weight, 0, 1)
        for name in ("alpha", "gamma", "delta"):
            checked_number(name, getattr(self, name), 0, 1)
        checked_positive("beta", self.beta)
        for name in ("penalize_perfect", "normalize"):
            checked_flag(name, getattr(self, name))
        checked_choice("language", self.language, LANGUAGES)
        checked_path("tables", self.tables)
        unknown = [stage for stage in self.stages if stage not in _stages_of(self.language)]
        if unknown:
            known = ", ".join(_stages_of(self.language))
            raise OptionError(
                f"'stages' of language {self.language!r} must be some of {known} (got {unknown[0]!r});"
                f" Meteor.of_language({self.language!r}) has METEOR's own"
            )

    @classmethod
    def of_paper(cls) -> Meteor:
        """The form of equations 11 to 15 of the COCO Captions paper.

        Every matched word counts 1, function words count like others, and synonyms come before stems.
        """
        return cls(
            stages=("exact", "synonym", "stem", "paraphrase"),
            weights=(1.0, 1.0, 1.0, 1.0),
            delta=0.5,
            penalize_perfect=True,
        )

    @classmethod
    def of_language(cls, language: str) -> Meteor:
        """METEOR 1.5's own options of a language, without the paraphrases that pycocoevalcap lacks.

        `Meteor.of_language("de")` computes what `java -jar meteor-1.5.jar - - -stdio -l de -lower -m 'exact
        stem'` does, and for Czech the same with `-m exact`.

        Raises:
            OptionError: There is no such language.
        """
        checked_choice("language", language, LANGUAGES)
        return cls() if language == "en" else cls(**_options_of(language))

    @property
    def names(self) -> tuple[str, ...]:
        """`METEOR`; of other languages than English with the language, such as `METEOR-de`."""
        return ("METEOR" if self.language == "en" else f"METEOR-{self.language}",)

    def options(self) -> tuple[str, ...]:
        """The options as `name=value`; the language where it is not English."""
        return tuple(option for option in super().options() if option != "language=en")

    @property
    def statistics(self) -> tuple[str, ...]:
        """METEOR's statistics line."""
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
    def needs(self) -> tuple[Resource, ...]:
        """The word tables, which have METEOR's function words too; those are English for every language."""
        return () if self.tables is not None else (_TABLES,)

    def native_tables(self) -> _native.MeteorTables:
        """The word tables, opened.

        Raises:
            ResourceError: The word tables are missing or damaged.
        """
        return meteor_tables() if self.tables is None else opened_tables(self.tables)

    def native_options(self) -> _native.MeteorOptions:
        """The options as the kernels take them."""
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
        """Normalizes the references and looks up their words' stems, synonyms and paraphrases.

        Raises:
            ResourceError: The word tables are missing or damaged.
        """
        prepared = _native.MeteorReferences(references.native, self.native_tables(), self.native_options())

        def statistics(candidates: TokenizedCandidates) -> FloatArray:
            try:
                return prepared.statistics(candidates.native)
            except _native.TooManyMatchesError as error:
                position, reference, limits = error.args
                image = shortened(candidates.image_ids[position])
                raise CaptionError(
                    f"image {image}: the candidate and caption {reference + 1} of its references: {limits}"
                ) from None

        return statistics

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """METEOR of summed counts."""
        rows = np.ascontiguousarray(statistics.reshape(-1, statistics.shape[-1]))
        scores = _native.meteor_scores(rows, self.native_options())
        return scores.reshape(*statistics.shape[:-1], 1)


@dataclass(frozen=True, kw_only=True)
class Match:
    """Words of the candidate that match words of the reference.

    Attributes:
        candidate: Positions of the words in the candidate.
        reference: Positions of the words in the reference.
        stage: How they match: `exact`, `stem`, `synonym` or `paraphrase`.
        weight: What the match is worth.
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
    """METEOR's alignment of a candidate with a reference, and the score that follows from it.

    Attributes:
        candidate: The words of the candidate, after METEOR's normalization.
        reference: The words of the reference.
        matches: The matches, in the order of the reference.
        chunks: The number of chunks.
        precision: Weighted share of the candidate that is matched; NaN where it is empty.
        recall: Weighted share of the reference that is matched; NaN where it is empty.
        f_mean: Their weighted harmonic mean; 0 where nothing is matched, NaN where a side is empty.
        penalty: The penalty for fragmentation; NaN where nothing is matched.
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
    """Aligns a candidate with one reference as METEOR does.

    Each of the two captions is tokenized by itself. Captions that are scored are tokenized as one batch,
    where the last token of a caption can, rarely, depend on the next caption.

    Args:
        candidate: A caption.
        reference: A caption.
        metric: METEOR's options; the default ones if not given.
        tokenizer: How to tokenize; the reference's way by default.

    Raises:
        CaptionError: A caption is not a string of characters, or both are too long.
        OptionError: `metric` is not a `Meteor`, or `tokenizer` not a `Tokenizer`.
        ResourceError: The word tables are missing or damaged.
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
        matches=tuple(_matches(spans)),
        chunks=chunks,
        precision=precision,
        recall=recall,
        f_mean=f_mean,
        penalty=penalty,
        score=score,
    )


def _matches(spans: list[tuple[int, int, int, int, str, float]]) -> Iterator[Match]:
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
