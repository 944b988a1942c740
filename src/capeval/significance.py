"""How far a corpus score can be trusted: bootstrap intervals, and paired tests between two systems.

Everything is made of the statistics of a report: a resample of the images is a row of counts, its
statistics are the sum of the images' rows, and the metric turns them into a score. Nothing is scored
twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from capeval.errors import MismatchError, OptionError
from capeval.evaluation import Report
from capeval.metrics.base import Metric
from capeval.types import FloatArray

__all__ = ["Comparison", "Interval", "bootstrap", "compare"]

Method = Literal["bootstrap", "randomization"]

# Weights of resamples are made this many numbers at a time: 16 MB.
_CHUNK = 2_000_000
# Differences this close, relative to the scores, are the same number summed in another order.
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A corpus score and the interval that its bootstrap resamples fill.

    Attributes:
        score: The score of all images.
        low: The lower end of the interval.
        high: The upper end.
        level: The part of the resamples between the two ends.
        samples: The number of resamples.
        seed: The seed that they were drawn with.
    """

    score: float
    low: float
    high: float
    level: float
    samples: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The difference between two systems on the same images, for one score.

    Attributes:
        name: The name of the score.
        a: The score of the first system.
        b: The score of the second.
        difference: `a - b`.
        low: The lower end of the paired bootstrap interval of the difference.
        high: The upper end.
        p_value: The two-sided p-value of there being no difference.
        method: The test that gave it, `bootstrap` or `randomization`.
        level: The part of the resamples between the two ends.
        samples: The number of resamples.
        seed: The seed that they were drawn with.
    """

    name: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    p_value: float
    method: Method
    level: float
    samples: int
    seed: int


def bootstrap(
    report: Report, *, samples: int = 1000, level: float = 0.95, seed: int = 0
) -> dict[str, Interval]:
    """Percentile bootstrap intervals of the corpus scores (Efron 1979), resampling images.

    All scores share the same resamples, and a score's interval does not depend on which other metrics
    the report has. Document frequencies stay those of all references.

    Args:
        report: The scores of a system.
        samples: The number of resamples.
        level: The part of the resamples inside the interval.
        seed: The seed of the resamples; the same seed gives the same intervals.

    Returns:
        The interval of each corpus score, by name, in the order of the report.

    Raises:
        OptionError: An option has a value that it can't have.
    """
    _check(samples, level, seed)
    intervals: dict[str, Interval] = {}
    statistics = [scores.statistics for _, scores in report.scores]
    summed = _summed(statistics, _resamples(len(report.image_ids), samples, seed))
    for (metric, scores), sums in zip(report.scores, summed, strict=True):
        lows, highs = _interval(metric.aggregate(sums), level)
        for i, name in enumerate(metric.names):
            intervals[name] = Interval(
                score=scores.corpus[name],
                low=float(lows[i]),
                high=float(highs[i]),
                level=level,
                samples=samples,
                seed=seed,
            )
    return intervals


def compare(
    a: Report,
    b: Report,
    *,
    method: Method = "bootstrap",
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Comparison]:
    """Tests whether two systems differ, pairing their scores image by image.

    `bootstrap` is the paired bootstrap (Koehn 2004), made two-sided: with d* the difference in a
    resample, p = 2 (min(#{d* <= 0}, #{d* >= 0}) + 1) / (samples + 1), at most 1. It is the level at which the
    percentile interval begins to hold 0 (Efron and Tibshirani 1993).

    `randomization` is approximate randomisation (Riezler and Maxwell 2005): each image's candidates
    are swapped between the systems or not, by a fair coin, and
    p = (#{|d*| >= |d|} + 1) / (samples + 1).

    The interval is the paired bootstrap's with either method. The p-values are those of each score by
    itself, not corrected for looking at several.

    Args:
        a: The scores of the first system.
        b: The scores of the second, against the same references with the same metrics and options.
        method: `bootstrap` or `randomization`.
        samples: The number of resamples.
        level: The part of the resamples inside the interval.
        seed: The seed of the resamples; the same seed gives the same numbers.

    Returns:
        The comparison of each corpus score, by name, in the order of `a`.

    Raises:
        MismatchError: The two are not of the same images, references, metrics and options.
        OptionError: An option has a value that it can't have.
    """
    if method not in get_args(Method):
        raise OptionError(f"'method' must be one of {', '.join(get_args(Method))} (got {method!r})")
    _check(samples, level, seed)
    comparisons: dict[str, Comparison] = {}
    metrics, first, second = _paired(a, b)
    images = len(a.image_ids)
    resampled = _differences(metrics, first, second, _resamples(images, samples, seed))
    swapped = (
        _swapped(metrics, first, second, _swaps(images, samples, seed))
        if method == "randomization"
        else [None] * len(metrics)
    )
    for metric, differences, under_none in zip(metrics, resampled, swapped, strict=True):
        lows, highs = _interval(differences, level)
        for i, name in enumerate(metric.names):
            difference = a.corpus[name] - b.corpus[name]
            rounding = _ROUNDING * (abs(a.corpus[name]) + abs(b.corpus[name]))
            p_value = (
                _bootstrap_p(differences[:, i], rounding)
                if under_none is None
                else _randomization_p(under_none[:, i], difference, rounding)
            )
            comparisons[name] = Comparison(
                name=name,
                a=a.corpus[name],
                b=b.corpus[name],
                difference=difference,
                low=float(lows[i]),
                high=float(highs[i]),
                p_value=p_value,
                method=method,
                level=level,
                samples=samples,
                seed=seed,
            )
    return comparisons


def _check(samples: object, level: object, seed: object) -> None:
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise OptionError(f"'samples' must be an integer of at least 1 (got {samples!r})")
    if not isinstance(level, float) or not 0 < level < 1:
        raise OptionError(f"'level' must be a number between 0 and 1 (got {level!r})")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise OptionError(f"'seed' must be an integer of at least 0 (got {seed!r})")


def _paired(a: Report, b: Report) -> tuple[list[Metric], list[FloatArray], list[FloatArray]]:
    """The metrics, and the statistics of both reports with the same image in the same row."""
    if set(a.image_ids) != set(b.image_ids):
        only_a, only_b = set(a.image_ids) - set(b.image_ids), set(b.image_ids) - set(a.image_ids)
        raise MismatchError(
            "the reports must be of the same images"
            f" ({len(only_a):,} are in the first only, {len(only_b):,} in the second only)"
        )
    others = {metric.names: scores for metric, scores in b.scores}
    if {metric.names for metric, _ in a.scores} != set(others):
        raise MismatchError(
            f"the reports must have the same scores (got {', '.join(a.corpus)} and {', '.join(b.corpus)})"
        )
    for metric, scores in a.scores:
        if scores.signature != others[metric.names].signature:
            raise MismatchError(
                "the reports must be made with the same references and options"
                f" (got {scores.signature} and {others[metric.names].signature})"
            )
    rows = {image: row for row, image in enumerate(b.image_ids)}
    order = np.array([rows[image] for image in a.image_ids])
    metrics = [metric for metric, _ in a.scores]
    first = [scores.statistics for _, scores in a.scores]
    return metrics, first, [others[metric.names].statistics[order] for metric in metrics]


def _resamples(images: int, samples: int, seed: int) -> Iterator[FloatArray]:
    """How often each image is in each resample, a few rows at a time."""
    generator = np.random.default_rng((seed, 0))
    for size in _chunks(images, samples):
        weights = np.empty((size, images))
        for row in weights:
            row[:] = np.bincount(generator.integers(0, images, images), minlength=images)
        yield weights


def _swaps(images: int, samples: int, seed: int) -> Iterator[FloatArray]:
    """Which images change sides in each resample (1 or 0), a few rows at a time."""
    generator = np.random.default_rng((seed, 1))
    for size in _chunks(images, samples):
        weights = np.empty((size, images))
        for row in weights:
            row[:] = generator.integers(0, 2, images, dtype=bool)
        yield weights


def _chunks(images: int, samples: int) -> Iterator[int]:
    size = max(1, _CHUNK // images)
    for done in range(0, samples, size):
        yield min(size, samples - done)


def _summed(statistics: Sequence[FloatArray], weights: Iterator[FloatArray]) -> list[FloatArray]:
    """The statistics of each resample, for each metric: arrays of samples by statistics."""
    # One product a metric: its sums must not depend, even in rounding, on which metrics are beside it.
    sums = [[rows @ each for each in statistics] for rows in weights]
    return [np.concatenate(parts) for parts in zip(*sums, strict=True)]


def _differences(
    metrics: Sequence[Metric],
    first: Sequence[FloatArray],
    second: Sequence[FloatArray],
    weights: Iterator[FloatArray],
) -> list[FloatArray]:
    """The difference of the two systems in each resample, for each metric: samples by scores."""
    sums = _summed([*first, *second], weights)
    count = len(metrics)
    return [
        metric.aggregate(sums_a) - metric.aggregate(sums_b)
        for metric, sums_a, sums_b in zip(metrics, sums[:count], sums[count:], strict=True)
    ]


def _swapped(
    metrics: Sequence[Metric],
    first: Sequence[FloatArray],
    second: Sequence[FloatArray],
    weights: Iterator[FloatArray],
) -> list[FloatArray]:
    """The difference of the two systems after each swap, for each metric: samples by scores."""
    moved = _summed([b - a for a, b in zip(first, second, strict=True)], weights)
    return [
        metric.aggregate(a.sum(axis=0) + change) - metric.aggregate(b.sum(axis=0) - change)
        for metric, a, b, change in zip(metrics, first, second, moved, strict=True)
    ]


def _interval(values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def _bootstrap_p(differences: FloatArray, rounding: float) -> float:
    beyond = min(int((differences <= rounding).sum()), int((differences >= -rounding).sum()))
    return min(1.0, 2 * (beyond + 1) / (len(differences) + 1))


def _randomization_p(differences: FloatArray, observed: float, rounding: float) -> float:
    extreme = int((np.abs(differences) >= abs(observed) - rounding).sum())
    return (extreme + 1) / (len(differences) + 1)
