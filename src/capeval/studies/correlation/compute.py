"""Correlation of metrics with human ratings of captions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from capeval._internal.validation import validate_choice
from capeval.data.captions import ReferencesLike
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.formats.judgments.ratings import Ratings
from capeval.metrics.base import Metric
from capeval.metrics.registry import DEFAULT, resolve
from capeval.scoring.significance import BootstrapScore, Comparison, Interval, difference
from capeval.studies.correlation.observations import (
    CaptionObservations,
    Observations,
    RatedScores,
    SystemObservations,
    resample_coefficients,
)
from capeval.studies.correlation.options import CorrelationOptions, Units
from capeval.studies.shared.caption_scores import score_captions
from capeval.studies.shared.coefficients import COEFFICIENTS
from capeval.studies.shared.system_intervals import FEWEST_SYSTEMS, compute_system_interval
from capeval.tokenizers import Tokenizer

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
class Correlations:
    """Correlation of each score with the ratings.

    Attributes:
        level: `segment` or `system`.
        observations: The number of observations: ratings, captions or systems.
        units: The units that vary in intervals and tests, `images` or `systems`.
        unit_count: The number of units.
        seed: The seed of the resamples.
        values: The interval of each coefficient, by score and coefficient; its ends are NaN with fewer than
            four systems.
        resamples: The coefficients in each bootstrap resample of the units, by score: samples by
            coefficients. All scores share the same resamples. A coefficient is NaN if all scores or all
            ratings of the resample are equal.

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
        (1.0, 0.729)
    """

    level: Level
    observations: int
    units: Units
    unit_count: int
    seed: int
    values: Mapping[str, Mapping[str, Interval]]
    resamples: Mapping[str, FloatArray] = field(repr=False)

    def compare(self, a: str, b: str) -> dict[str, Comparison]:
        """Test whether two scores differ in their correlation, by the paired bootstrap.

        With d* the difference in a resample, p = 2 (min(#{d* <= 0}, #{d* >= 0}) + 1) / (samples + 1), at most
        1, corrected for the number of units. With fewer than four systems, there is no test: p is NaN.

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
                    values=self._get_resamples(score, place),
                    seed=self.seed,
                    units=self.unit_count,
                )
                for score in (a, b)
            )
            comparisons[name] = difference(first, second, level=self.values[a][name].level)
        return comparisons

    def _get_resamples(self, score: str, coefficient: int) -> FloatArray:
        values = self.resamples[score][:, coefficient]
        is_testable = self.units == "images" or self.unit_count >= FEWEST_SYSTEMS
        return values if is_testable else np.full(len(values), np.nan)


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
    scored = score_captions(
        references,
        ratings.image_ids,
        ratings.captions,
        resolve(metrics),
        frequencies=options.frequencies,
        tokenizer=tokenizer,
    )
    return RatedScores(ratings=ratings, metrics=scored.metrics, statistics=scored.statistics)


def correlate(
    rated: RatedScores,
    options: CorrelationOptions = CorrelationOptions(),  # noqa: B008 - it is immutable.
    *,
    level: Level = "segment",
) -> Correlations:
    """Correlate scores with ratings, with confidence intervals.

    At segment level, intervals are bootstrap intervals with expanded quantiles. The bootstrap resamples
    images: captions of one image share references, so they are not independent. At system level, intervals
    are computed over the systems (`capeval.studies.shared.system_intervals`), or over the images like those
    at segment level.

    Args:
        rated: Captions with scores and ratings.
        options: The observations at segment level (each rating, or the mean rating of each caption), the
            units that vary at system level, and the resamples; the same seed gives the same intervals.
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
    study, units, unit_of_row = _observe(rated, options, level)
    observed = study(np.ones(len(unit_of_row)))
    for name, row in zip(study.names, observed, strict=True):
        if np.isnan(row).any():
            raise MismatchError(
                f"{name} must have at least two different scores, and ratings two different values"
            )
    resamples = resample_coefficients(study, unit_of_row, options.samples, options.seed)
    count = int(unit_of_row.max()) + 1
    if units == "images":
        _check_resamples(resamples, count)
    values = {}
    for place, name in enumerate(study.names):
        values[name] = {
            coefficient: compute_system_interval(coefficient, score, count, level=options.level)
            if units == "systems"
            else BootstrapScore(
                name=coefficient, score=score, values=column, seed=options.seed, units=count
            ).interval(level=options.level)
            for coefficient, score, column in zip(
                COEFFICIENTS, observed[place].tolist(), resamples[:, place].T, strict=True
            )
        }
    return Correlations(
        level=level,
        observations=study.count,
        units=units,
        unit_count=count,
        seed=options.seed,
        values=values,
        resamples={name: resamples[:, place] for place, name in enumerate(study.names)},
    )


def _observe(
    rated: RatedScores, options: CorrelationOptions, level: Level
) -> tuple[Observations | SystemObservations, Units, NDArray[np.int64]]:
    """Return the observations, the units that vary, and the number of each row's unit."""
    numbers = {image: number for number, image in enumerate(dict.fromkeys(rated.ratings.image_ids))}
    images = np.array([numbers[image] for image in rated.ratings.image_ids])
    if level == "segment":
        return CaptionObservations(rated, options.raters), "images", images
    systems = SystemObservations(rated)
    if options.system_intervals == "images":
        return systems, "images", images
    return systems.fix(), "systems", np.arange(systems.count)


def _check_resamples(resamples: FloatArray, images: int) -> None:
    empty = int(np.isnan(resamples).any(axis=(1, 2)).sum())
    if empty:
        raise MismatchError(
            f"{images} images are too few for intervals:"
            f" in {empty} of {len(resamples)} resamples all ratings or all scores are equal"
        )
