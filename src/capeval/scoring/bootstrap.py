"""Bootstrap resamples and intervals of corpus scores, and sums for tests by randomization.

A resample is the number of draws of each image, its statistics are the weighted sum of the images' rows, and
the metric computes scores from them. No caption is scored again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from capeval._internal.validation import validate_integer, validate_level
from capeval.data.captions import ImageId, find_rows
from capeval.data.scores import FloatArray, Scores
from capeval.errors import UnscoredWarning
from capeval.metrics.base import Metric
from capeval.scoring.intervals import compute_acceleration, compute_interval
from capeval.scoring.resampling import Draws, score_resamples
from capeval.scoring.swap_sums import SwapSums, create_swap_sums

__all__ = [
    "BootstrapScore",
    "Interval",
    "Resampler",
    "SystemScores",
    "bootstrap",
    "check_resampling",
    "resample",
    "sum_swaps",
]


class SystemScores(Protocol):
    """Scores of one system, such as a `Report`."""

    @property
    def image_ids(self) -> tuple[ImageId, ...]:
        """The image of each row of statistics."""

    @property
    def corpus(self) -> Mapping[str, float]:
        """The corpus scores by name."""

    @property
    def scores(self) -> tuple[tuple[Metric, Scores], ...]:
        """Each metric with its `Scores`."""

    @property
    def unscored(self) -> Mapping[str, UnscoredWarning]:
        """The images that a metric could not score, by the metric's key."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A score and its confidence interval.

    Attributes:
        score: The score of all images.
        low: The lower end of the interval.
        high: The upper end of the interval.
        level: The confidence level, between 0 and 1.
        samples: The number of resamples; 0 for an interval without resamples.
        seed: The seed of the resamples.
        method: The method of the interval, for the footnote.
        units: The units that vary, for the footnote.
    """

    score: float
    low: float
    high: float
    level: float
    samples: int
    seed: int
    method: str = "bootstrap"
    units: str = "images"

    @property
    def description(self) -> str:
        """The level, method and units, such as `95% bootstrap intervals over images`."""
        drawn = f" ({self.samples:,} samples, seed {self.seed})" if self.samples else ""
        return f"{100 * self.level:g}% {self.method} intervals over {self.units}{drawn}"

    @property
    def note(self) -> str:
        """A footnote for tables with intervals in brackets."""
        return f"In brackets: {self.description}."


@dataclass(frozen=True, kw_only=True, eq=False)
class BootstrapScore:
    """A corpus score and its bootstrap replicates.

    With the same number of images, in the same order, and the same seed, the resamples are the same for every
    system. `difference` can therefore compare the `values` of two systems, also later. If the values are
    stored as `float32`, differences below its precision count as 0.

    Attributes:
        name: The name of the score.
        score: The score of all images.
        values: The score of each resample.
        seed: The seed of the resamples.
        higher_is_better: Whether a higher score is better.
        has_direction: Whether one of two different scores is better.
        units: The number of resampled units, such as images, which correct intervals and p-values for small
            samples; None without correction.
        acceleration: The acceleration of the score, which corrects its interval
            (`capeval.scoring.intervals`).

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import resample
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> report = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "People."}, ["ROUGE-1"])
        >>> score = resample(report, samples=1000)["ROUGE-1"]
        >>> score.score, len(score.values)
        (0.5, 1000)
        >>> interval = score.interval(level=0.9)
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.0, 1.0)
    """

    name: str
    score: float
    values: FloatArray | NDArray[np.float32]
    seed: int = 0
    higher_is_better: bool = True
    has_direction: bool = True
    units: int | None = None
    acceleration: float = 0.0

    def interval(self, *, level: float = 0.95) -> Interval:
        """Return the bootstrap interval.

        With `units`, it is the BCa interval with expanded quantiles, otherwise the percentile interval.

        Raises:
            OptionError: `level` is not a number between 0 and 1.
        """
        validate_level("level", level)
        low, high = compute_interval(
            self.values.astype(np.float64, copy=False),
            level,
            units=self.units,
            score=None if self.units is None else self.score,
            acceleration=self.acceleration,
        )
        return Interval(
            score=self.score,
            low=low,
            high=high,
            level=level,
            samples=len(self.values),
            seed=self.seed,
        )


def resample(
    report: SystemScores, *, samples: int = 1000, seed: int = 0, images: Iterable[ImageId] | None = None
) -> dict[str, BootstrapScore]:
    """Compute the corpus scores of bootstrap resamples (Efron 1979).

    Images are drawn with replacement. All scores share the same resamples, and the values of a score do not
    depend on the other metrics in the report. Document frequencies are not resampled: they are always counted
    in all references.

    Args:
        report: The scores of a system.
        samples: The number of resamples.
        seed: The seed of the resamples; the same seed gives the same values.
        images: The images to draw from, such as a subset; all by default.

    Returns:
        Each corpus score with its values, by name, in the order of the report.

    Raises:
        CaptionError: `images` contains something other than image ids.
        MismatchError: The report has no scores for one of the images.
        OptionError: An option has an invalid value.

    Example:
        The scores of the images are 1, 0.5 and 0. Each resample is the mean of three draws of them:

        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import resample
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> report = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "People."}, ["ROUGE-1"])
        >>> score = resample(report, samples=4)["ROUGE-1"]
        >>> score.score, score.values.round(3).tolist()
        (0.5, [0.333, 1.0, 1.0, 0.167])
    """
    check_resampling(samples, seed)
    return _resample_scores(report, images, Draws(samples, seed, is_stored=False))


def sum_swaps(
    report: SystemScores, *, samples: int = 1000, seed: int = 0, images: Iterable[ImageId] | None = None
) -> dict[str, SwapSums]:
    """Sum the statistics of a report over the images of each swap, for tests by randomization.

    The swaps are those of `compare` with the same number of samples and seed. `difference` tests two systems
    with their sums, also later and without the statistics of each image.

    Args:
        report: The scores of a system.
        samples: The number of swaps; with up to 16 images, all swaps are listed.
        seed: The seed of the swaps; the same seed gives the same sums.
        images: The images to compare, such as a subset; all by default.

    Returns:
        The sums by the name of each corpus score, in the order of the report. Scores of one metric share
        them.

    Raises:
        CaptionError: `images` contains something other than image ids.
        MismatchError: The report has no scores for one of the images.
        OptionError: An option has an invalid value.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import compare, difference, resample, sum_swaps
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> a = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "A dog."}, ["ROUGE-1"])
        >>> b = evaluate(references, {1: "A red bus.", 2: "A bed.", 3: "A cat."}, ["ROUGE-1"])
        >>> first, second = (resample(report)["ROUGE-1"] for report in (a, b))
        >>> swaps = sum_swaps(a)["ROUGE-1"], sum_swaps(b)["ROUGE-1"]
        >>> difference(first, second, swaps=swaps) == compare(a, b)["ROUGE-1"]
        True
    """
    check_resampling(samples, seed)
    return _sum_swaps(report, images, Draws(samples, seed, is_stored=False))


class Resampler:
    """A faster `resample` and `sum_swaps` that draw once for any number of reports.

    The draws are stored for each number of images, with one byte per image and draw.

    Args:
        samples: The number of resamples, and of swaps.
        seed: The seed of the draws; the same seed gives the same values.

    Raises:
        OptionError: An option has an invalid value.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import Resampler
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> a = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "A dog."}, ["ROUGE-1"])
        >>> b = evaluate(references, {1: "A red bus.", 2: "A bed.", 3: "A cat."}, ["ROUGE-1"])
        >>> resampler = Resampler(samples=4)
        >>> [resampler.resample(report)["ROUGE-1"].values.round(3).tolist() for report in (a, b)]
        [[0.667, 1.0, 1.0, 0.833], [0.167, 1.0, 1.0, 0.333]]
    """

    def __init__(self, *, samples: int = 1000, seed: int = 0) -> None:
        check_resampling(samples, seed)
        self.samples = samples
        self.seed = seed
        self._draws = Draws(samples, seed, is_stored=True)

    def resample(
        self, report: SystemScores, *, images: Iterable[ImageId] | None = None
    ) -> dict[str, BootstrapScore]:
        """Compute the corpus scores of a report's resamples, like `resample`.

        Args:
            report: The scores of a system.
            images: The images to draw from, such as a subset; all by default.

        Raises:
            CaptionError: `images` contains something other than image ids.
            MismatchError: The report has no scores for one of the images.
            OptionError: `images` is not a list, or it is empty.
        """
        return _resample_scores(report, images, self._draws)

    def sum_swaps(
        self, report: SystemScores, *, images: Iterable[ImageId] | None = None
    ) -> dict[str, SwapSums]:
        """Sum the statistics of a report over the images of each swap, like `sum_swaps`.

        Args:
            report: The scores of a system.
            images: The images to compare, such as a subset; all by default.

        Raises:
            CaptionError: `images` contains something other than image ids.
            MismatchError: The report has no scores for one of the images.
            OptionError: `images` is not a list, or it is empty.
        """
        return _sum_swaps(report, images, self._draws)


def bootstrap(
    report: SystemScores,
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    images: Iterable[ImageId] | None = None,
) -> dict[str, Interval]:
    """Compute bootstrap intervals of the corpus scores, with `resample`.

    The intervals are BCa intervals (Efron 1987) with expanded quantiles (Hesterberg 2015).

    Args:
        report: The scores of a system.
        samples: The number of resamples.
        level: The confidence level of the intervals, between 0 and 1.
        seed: The seed of the resamples; the same seed gives the same intervals.
        images: The images to draw from, such as a subset; all by default.

    Returns:
        The interval of each corpus score, by name, in the order of the report.

    Raises:
        CaptionError: `images` contains something other than image ids.
        MismatchError: The report has no scores for one of the images.
        OptionError: An option has an invalid value.

    Example:
        The scores of the images are 1, 0.5 and 0:

        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import bootstrap
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> report = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "People."}, ["ROUGE-1"])
        >>> interval = bootstrap(report)["ROUGE-1"]
        >>> interval.score, round(interval.low, 3), round(interval.high, 3)
        (0.5, 0.0, 1.0)
    """
    validate_level("level", level)
    resampled = resample(report, samples=samples, seed=seed, images=images)
    return {name: score.interval(level=level) for name, score in resampled.items()}


def check_resampling(samples: object, seed: object) -> None:
    """Validate the number of resamples and their seed."""
    validate_integer("samples", samples, 1)
    validate_integer("seed", seed, 0)


def _resample_scores(
    report: SystemScores, images: Iterable[ImageId] | None, draws: Draws
) -> dict[str, BootstrapScore]:
    metrics, statistics, count = _select_statistics(report, images)
    resampled = {}
    for metric, own, values in zip(
        metrics, statistics, score_resamples(metrics, statistics, draws.resamples(count)), strict=True
    ):
        scores = metric.aggregate(own.sum(axis=0))
        accelerations = compute_acceleration(metric, own)
        for i, name in enumerate(metric.names):
            resampled[name] = BootstrapScore(
                name=name,
                score=float(scores[i]),
                values=values[:, i],
                seed=draws.seed,
                higher_is_better=metric.higher_is_better,
                has_direction=metric.has_direction,
                units=count,
                acceleration=float(accelerations[i]),
            )
    return resampled


def _sum_swaps(report: SystemScores, images: Iterable[ImageId] | None, draws: Draws) -> dict[str, SwapSums]:
    metrics, statistics, _ = _select_statistics(report, images)
    sums = create_swap_sums(metrics, statistics, draws)
    return {name: each for metric, each in zip(metrics, sums, strict=True) for name in metric.names}


def _select_statistics(
    report: SystemScores, images: Iterable[ImageId] | None
) -> tuple[list[Metric], list[FloatArray], int]:
    """Return the metrics, their statistics of the images, and the number of images."""
    metrics = [metric for metric, _ in report.scores]
    statistics = [scores.statistics for _, scores in report.scores]
    if images is None:
        return metrics, statistics, len(report.image_ids)
    rows = find_rows(report.image_ids, images, "'images'")
    return metrics, [each[rows] for each in statistics], len(rows)
