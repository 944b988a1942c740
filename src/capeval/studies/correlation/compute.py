"""Correlation of metrics with human ratings of captions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from capeval._internal.random import draw_resample_counts, make_generator
from capeval._internal.validation import validate_choice
from capeval.data.captions import Candidates, ImageId, References, ReferencesLike
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.formats.judgments.ratings import Ratings
from capeval.metrics.base import Metric
from capeval.metrics.registry import DEFAULT, resolve
from capeval.scoring.significance import BootstrapScore, Comparison, Interval, difference
from capeval.studies.correlation.options import CorrelationOptions, Raters
from capeval.studies.shared.coefficients import COEFFICIENTS, OrderedScores, count_ratings
from capeval.studies.shared.words import check_scored
from capeval.tokenizers import TokenizedReferences, Tokenizer

__all__ = [
    "CorrelationOptions",
    "CorrelationStudy",
    "Correlations",
    "RatedScores",
    "correlate",
    "score_ratings",
    "study_correlation",
]

Level = Literal["segment", "system"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RatedScores:
    """Captions with metric scores and human ratings, with rows as in `ratings`.

    Attributes:
        ratings: The ratings.
        metrics: The metrics.
        statistics: The statistics of each metric, one row per caption.
    """

    ratings: Ratings
    metrics: tuple[Metric, ...]
    statistics: tuple[FloatArray, ...] = field(repr=False)

    @property
    def per_caption(self) -> dict[str, FloatArray]:
        """The score of each caption, by the score's name."""
        return {
            name: scores[:, place]
            for metric, rows in zip(self.metrics, self.statistics, strict=True)
            for scores in [metric.aggregate(rows)]
            for place, name in enumerate(metric.names)
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Correlations:
    """Correlation of each score with the ratings.

    Attributes:
        level: `segment` or `system`.
        observations: The number of observations: ratings, captions or systems.
        values: The interval of each coefficient, by score and coefficient.
        resamples: The coefficients in each bootstrap resample, by score: samples by coefficients. All scores
            share the same resamples.

    Example:
        >>> import numpy as np
        >>> from capeval.formats.judgments.ratings import Ratings
        >>> from capeval.studies.correlation import correlate, score_ratings
        >>> references = {1: ["a dog runs on grass"], 2: ["two cats sleep on a bed"]}
        >>> ratings = Ratings(
        ...     image_ids=(1, 1, 2, 2),
        ...     captions=("a dog runs on sand", "grass on dog runs a", "two cats sleep on a sofa", "a bed"),
        ...     values=np.array([[5.0], [1.0], [4.0], [2.0]]),
        ... )
        >>> correlations = correlate(score_ratings(references, ratings, ["BLEU-1", "ROUGE-L"]))
        >>> {name: round(each["tau-b"].score, 3) for name, each in correlations.values.items()}
        {'BLEU-1': -0.333, 'ROUGE-L': 0.667}
        >>> compared = correlations.compare("ROUGE-L", "BLEU-1")["tau-b"]
        >>> round(compared.difference, 3), round(compared.p_value, 3)
        (1.0, 0.521)
    """

    level: Level
    observations: int
    values: Mapping[str, Mapping[str, Interval]]
    resamples: Mapping[str, FloatArray] = field(repr=False)

    def compare(self, a: str, b: str) -> dict[str, Comparison]:
        """Test whether two scores differ in their correlation, by the paired bootstrap.

        With d* the difference in a resample, p = 2 (min(#{d* <= 0}, #{d* >= 0}) + 1) / (samples + 1), at most
        1.

        Args:
            a: The name of a score.
            b: The name of another score.

        Returns:
            The comparison of each coefficient, by its name.

        Raises:
            OptionError: A score is unknown.
        """
        for name in (a, b):
            validate_choice("metrics", name, tuple(self.values))
        comparisons = {}
        for place, name in enumerate(COEFFICIENTS):
            first, second = (
                BootstrapScore(
                    name=name,
                    score=self.values[score][name].score,
                    values=self.resamples[score][:, place],
                    seed=self.values[score][name].seed,
                )
                for score in (a, b)
            )
            comparisons[name] = difference(first, second, level=self.values[a][name].level)
        return comparisons


@dataclass(frozen=True, kw_only=True, eq=False)
class CorrelationStudy:
    """Correlations of scores with ratings, by level.

    Attributes:
        levels: The correlations by caption (`segment`) and, if systems are known, by `system`.
        differences: The comparisons of scores with one of them, by level, the names of both scores, and
            coefficient; empty without `against`.
    """

    levels: Mapping[Level, Correlations]
    differences: Mapping[Level, Mapping[tuple[str, str], Mapping[str, Comparison]]]


def study_correlation(
    rated: RatedScores,
    options: CorrelationOptions = CorrelationOptions(),  # noqa: B008 - it is immutable.
    *,
    progress: Callable[[str], object] = lambda _: None,
) -> CorrelationStudy:
    """Correlate scores with ratings by caption and, if systems are known, by system.

    Args:
        rated: Captions with scores and ratings.
        options: The observations, the score that all others are compared with, and the resamples.
        progress: Called with a description of the next step, once for each level.

    Raises:
        OptionError: An option has an invalid value.
        MismatchError: A correlation is undefined; see `correlate`.

    Example:
        >>> import numpy as np
        >>> from capeval.formats.judgments.ratings import Ratings
        >>> from capeval.studies.correlation import score_ratings, study_correlation
        >>> ratings = Ratings(
        ...     image_ids=(1, 1, 2, 2),
        ...     captions=("a dog runs", "a cat runs", "two dogs run", "a red bus"),
        ...     values=np.array([[5.0], [2.0], [3.0], [1.0]]),
        ...     systems=("lstm", "template", "lstm", "template"),
        ... )
        >>> rated = score_ratings({1: ["a dog runs"], 2: ["two cats sleep"]}, ratings, ["BLEU-1"])
        >>> study = study_correlation(rated)
        >>> {level: round(each.values["BLEU-1"]["tau-b"].score, 3) for level, each in study.levels.items()}
        {'segment': 0.667, 'system': 1.0}
    """
    levels: dict[Level, Correlations] = {}
    differences: dict[Level, Mapping[tuple[str, str], Mapping[str, Comparison]]] = {}
    kinds: tuple[Level, ...] = ("segment", "system") if rated.ratings.systems else ("segment",)
    for level in kinds:
        progress(f"Resampling, {level} level")
        levels[level] = correlate(rated, options, level=level)
        if (against := options.against) is not None:
            others = (name for name in levels[level].values if name != against)
            differences[level] = {(name, against): levels[level].compare(name, against) for name in others}
    return CorrelationStudy(levels=levels, differences=differences)


def score_ratings(
    references: ReferencesLike,
    ratings: Ratings,
    metrics: Iterable[str | Metric] = DEFAULT,
    options: CorrelationOptions = CorrelationOptions(),  # noqa: B008 - it is immutable.
    *,
    tokenizer: Tokenizer | None = None,
) -> RatedScores:
    """Score rated captions.

    Args:
        references: The references of the rated images; other images are ignored.
        ratings: The captions and their ratings.
        metrics: Names or metric objects.
        options: `options.frequencies` selects the references in which CIDEr and CIDEr-D count document
            frequencies, unless they have precomputed ones: `ratings` counts references once for each rated
            caption, as in published correlations on Flickr8K; `references` counts them once for each image.
        tokenizer: The tokenizer; the reference tokenizer by default.

    Raises:
        CaptionError: `references` does not map images to captions.
        MismatchError: A rated image has no references.
        OptionError: A metric is unknown, or occurs twice.

    Example:
        >>> import numpy as np
        >>> from capeval.formats.judgments.ratings import Ratings
        >>> from capeval.studies.correlation import score_ratings
        >>> captions, values = ("a dog runs", "a cat runs"), np.array([[5.0, 4.0], [1.0, 2.0]])
        >>> ratings = Ratings(image_ids=(1, 1), captions=captions, values=values)
        >>> rated = score_ratings({1: ["a dog runs"]}, ratings, ["BLEU-1"])
        >>> rated.per_caption["BLEU-1"].round(3).tolist()
        [1.0, 0.667]
    """
    resolved = resolve(metrics)
    references = References(references)
    rows: dict[ImageId, list[int]] = {}
    for row, image in enumerate(ratings.image_ids):
        rows.setdefault(image, []).append(row)
    unknown = [image for image in rows if image not in references]
    if unknown:
        raise MismatchError(f"rated image {unknown[0]!r} has no references ({len(unknown):,} such images)")
    tokens = TokenizedReferences(references.select(rows), tokenizer)
    candidates = tokens.candidates(
        Candidates({image: [ratings.captions[row] for row in members] for image, members in rows.items()})
    )
    if options.frequencies == "ratings":
        resolved = _count_over_ratings(resolved, tokens, list(rows), ratings)
    order = np.argsort([row for members in rows.values() for row in members])
    statistics = tuple(metric.prepare(tokens).statistics(candidates)[order] for metric in resolved)
    rated = RatedScores(ratings=ratings, metrics=resolved, statistics=statistics)
    check_scored(rated.per_caption)
    return rated


def _count_over_ratings(
    metrics: Sequence[Metric], tokens: TokenizedReferences, images: Sequence[ImageId], ratings: Ratings
) -> tuple[Metric, ...]:
    """Return the metrics, with document frequencies counted over rated captions."""
    if all(metric.frequency_unit is None for metric in metrics):
        return tuple(metrics)
    texts = {image: tokens.native.of(position) for position, image in enumerate(images)}
    documents = References({row: texts[image] for row, image in enumerate(ratings.image_ids)})
    repeated = TokenizedReferences(documents, Tokenizer(kind="none"))

    return tuple(metric.with_corpus(repeated, "ratings") for metric in metrics)


def correlate(
    rated: RatedScores,
    options: CorrelationOptions = CorrelationOptions(),  # noqa: B008 - it is immutable.
    *,
    level: Level = "segment",
) -> Correlations:
    """Correlate scores with ratings, with percentile bootstrap intervals.

    The bootstrap resamples images: captions of one image share references, so they are not independent.

    Args:
        rated: Captions with scores and ratings.
        options: The observations at segment level (each rating, or the mean rating of each caption), and the
            resamples; the same seed gives the same intervals.
        level: `segment` correlates over captions; `system` correlates over systems, each with its corpus
            score and mean rating.

    Raises:
        OptionError: The level is unknown.
        MismatchError: There are fewer than two systems, or a correlation is undefined because all ratings or
            all scores are equal.

    Example:
        >>> import numpy as np
        >>> from capeval.formats.judgments.ratings import Ratings
        >>> from capeval.studies.correlation import correlate, score_ratings
        >>> captions = ("a dog runs", "a cat runs", "two dogs run", "a red bus")
        >>> values = np.array([[5.0], [2.0], [3.0], [1.0]])
        >>> ratings = Ratings(image_ids=(1, 1, 2, 2), captions=captions, values=values)
        >>> rated = score_ratings({1: ["a dog runs"], 2: ["two cats sleep"]}, ratings, ["BLEU-1"])
        >>> interval = correlate(rated).values["BLEU-1"]["tau-b"]
        >>> round(interval.score, 3)  # Five of six pairs have the same order: (5 - 1) / 6.
        0.667
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.667, 1.0)
    """
    validate_choice("level", level, get_args(Level))
    study = (
        _SegmentCorrelation(rated, options.raters) if level == "segment" else _SystemLevelCorrelation(rated)
    )
    observed = study(np.ones(len(rated.ratings.image_ids)))
    for name, row in zip(study.names, observed, strict=True):
        if np.isnan(row).any():
            raise MismatchError(
                f"{name} must have at least two different scores, and ratings two different values"
            )
    resamples = _resample(study, rated.ratings.image_ids, options.samples, options.seed)
    return Correlations(
        level=level,
        observations=study.observations,
        values={
            name: _compute_intervals(observed[place], resamples[:, place], options.level, options.seed)
            for place, name in enumerate(study.names)
        },
        resamples={name: resamples[:, place] for place, name in enumerate(study.names)},
    )


def _resample(
    study: _SegmentCorrelation | _SystemLevelCorrelation,
    image_ids: Sequence[ImageId],
    samples: int,
    seed: int,
) -> FloatArray:
    """Return coefficients in resamples of images: samples by scores by coefficients."""
    numbers = {image: number for number, image in enumerate(dict.fromkeys(image_ids))}
    image = np.array([numbers[each] for each in image_ids])
    images = len(numbers)
    rng = make_generator(seed)
    resamples = np.empty((samples, len(study.names), len(COEFFICIENTS)))
    for number in range(samples):
        resamples[number] = study(draw_resample_counts(images, rng)[image].astype(np.float64))
    empty = int(np.isnan(resamples).any(axis=(1, 2)).sum())
    if empty:
        raise MismatchError(
            f"{images} images are too few for intervals:"
            f" in {empty} of {samples} resamples all ratings or all scores are equal"
        )
    return resamples


class _SegmentCorrelation:
    """Correlations over weighted captions."""

    def __init__(self, rated: RatedScores, raters: Raters) -> None:
        ratings = rated.ratings.values
        if raters == "mean":
            # Rounded, so that equal means tie despite different orders of summation.
            ratings = np.nanmean(ratings, axis=1, keepdims=True).round(9)
        self._values, self._counts = count_ratings(ratings)
        self.observations = int(self._counts.sum())
        scores = rated.per_caption
        self.names = tuple(scores)
        self._ordered = [OrderedScores(row) for row in scores.values()]

    def __call__(self, weights: FloatArray) -> FloatArray:
        counts = self._counts * weights[:, None]
        return np.array([ordered(counts, self._values) for ordered in self._ordered])


class _SystemLevelCorrelation:
    """Correlations over systems with weighted captions."""

    def __init__(self, rated: RatedScores) -> None:
        if len(set(rated.ratings.systems)) < 2:
            raise MismatchError(
                "correlation at system level requires ratings of at least two systems"
                f" (got {len(set(rated.ratings.systems))})"
            )
        names, system = np.unique(np.array(rated.ratings.systems), return_inverse=True)
        self._members = (np.arange(len(names))[:, None] == system).astype(np.float64)
        self._sums = np.nansum(rated.ratings.values, axis=1)
        self._numbers = (~np.isnan(rated.ratings.values)).sum(axis=1)
        self._rated = rated
        self.observations = len(names)
        self.names = tuple(name for metric in rated.metrics for name in metric.names)

    def __call__(self, weights: FloatArray) -> FloatArray:
        members = self._members * weights
        numbers = members @ self._numbers
        if not numbers.all():
            return np.full((len(self.names), len(COEFFICIENTS)), np.nan)
        values, counts = count_ratings((members @ self._sums / numbers).round(9)[:, None])
        scores = [
            column
            for metric, rows in zip(self._rated.metrics, self._rated.statistics, strict=True)
            for column in metric.aggregate(members @ rows).T
        ]
        return np.array([OrderedScores(column)(counts, values) for column in scores])


def _compute_intervals(
    observed: FloatArray, resamples: FloatArray, level: float, seed: int
) -> dict[str, Interval]:
    return {
        name: BootstrapScore(
            name=name, score=float(observed[place]), values=resamples[:, place], seed=seed
        ).interval(level=level)
        for place, name in enumerate(COEFFICIENTS)
    }
