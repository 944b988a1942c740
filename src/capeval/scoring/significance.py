"""Bootstrap intervals of corpus scores, and paired tests between two systems.

Everything is computed from the statistics of a report: a resample is the number of draws of each image, its
statistics are the weighted sum of the images' rows, and the metric computes scores from them. No caption is
scored again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from capeval._internal.notebook_html import html_table
from capeval._internal.validation import validate_choice, validate_integer, validate_level
from capeval.data.captions import ImageId, find_rows
from capeval.data.scores import FloatArray, Scores
from capeval.errors import MismatchError, UnscoredWarning
from capeval.errors.messages import format_score
from capeval.metrics.base import Metric
from capeval.scoring.resampling import (
    chunk_sizes,
    draw_resamples,
    draw_swaps,
    score_corpus,
    score_resamples,
    score_swaps,
)

__all__ = [
    "BootstrapScore",
    "Comparison",
    "Comparisons",
    "Interval",
    "Resampler",
    "SystemScores",
    "bootstrap",
    "compare",
    "difference",
    "resample",
]

Method = Literal["bootstrap", "randomization"]


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


# Smaller differences, relative to the scores, can result from the order of summation.
_ROUNDING = 1e-12
# The same limit for scores in single precision.
_SINGLE_ROUNDING = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A corpus score and its bootstrap interval.

    Attributes:
        score: The score of all images.
        low: The lower end of the interval.
        high: The upper end of the interval.
        level: The confidence level, between 0 and 1.
        samples: The number of resamples.
        seed: The seed of the resamples.
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
        b: The score of the second system.
        difference: `a - b`.
        low: The lower end of the paired bootstrap interval of the difference.
        high: The upper end of the interval.
        p_value: The two-sided p-value under the null hypothesis of no difference.
        method: The test of the p-value, `bootstrap` or `randomization`.
        level: The confidence level of the interval, between 0 and 1.
        samples: The number of resamples.
        seed: The seed of the resamples.
        higher_is_better: Whether a higher score is better.
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
    higher_is_better: bool = True

    @property
    def better(self) -> Literal["a", "b"] | None:
        """The system with the better score; None if the scores are equal or undefined."""
        a, b = (self.a, self.b) if self.higher_is_better else (-self.a, -self.b)
        return "a" if a > b else "b" if b > a else None


class Comparisons(dict[str, Comparison]):
    """The comparison of each score by name, displayed as a table.

    Attributes:
        notes: One sentence per reason for excluding images from the comparison of a score.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import compare
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> a = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "A dog."}, ["ROUGE-1"])
        >>> b = evaluate(references, {1: "A red bus.", 2: "A bed.", 3: "A cat."}, ["ROUGE-1"])
        >>> comparisons = compare(a, b)
        >>> list(comparisons), comparisons["ROUGE-1"].better
        (['ROUGE-1'], 'a')
        >>> comparisons
        a - b
        ROUGE-1  0.833  0.500  +0.3333 [+0.0000, +0.5000]  0.0679
    """

    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "\n".join(["a - b", *("  ".join(row) for row in self._rows()), *self.notes])

    def _repr_html_(self) -> str:
        """Return a table for notebooks, with one row per score."""
        return html_table(("", "a", "b", "a - b", "p-value"), self._rows())

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                name,
                format_score(each.a),
                format_score(each.b),
                f"{each.difference:+.4f} [{each.low:+.4f}, {each.high:+.4f}]",
                f"{each.p_value:.4f}",
            )
            for name, each in self.items()
        ]


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
        (0.167, 0.833)
    """

    name: str
    score: float
    values: FloatArray | NDArray[np.float32]
    seed: int = 0
    higher_is_better: bool = True

    def interval(self, *, level: float = 0.95) -> Interval:
        """Return the percentile bootstrap interval.

        Raises:
            OptionError: `level` is not a number between 0 and 1.
        """
        validate_level("level", level)
        low, high = _compute_interval(self.values.astype(np.float64, copy=False), level)
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
    _check_options(samples, seed)
    return _resample_scores(report, images, seed, lambda count: draw_resamples(count, samples, seed))


class Resampler:
    """A faster `resample` that draws the resamples once for any number of reports.

    The resamples are stored for each number of images, with one byte per image and resample.

    Args:
        samples: The number of resamples.
        seed: The seed of the resamples; the same seed gives the same values.

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
        _check_options(samples, seed)
        self.samples = samples
        self.seed = seed
        self._drawn: dict[int, NDArray[np.uint8]] = {}

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
        return _resample_scores(report, images, self.seed, self._draw)

    def _draw(self, images: int) -> Iterator[FloatArray]:
        if images not in self._drawn:
            # A byte is enough: the probability of drawing an image 256 times is below 1e-500.
            drawn = np.empty((self.samples, images), np.uint8)
            start = 0
            for rows in draw_resamples(images, self.samples, self.seed):
                drawn[start : start + len(rows)] = rows
                start += len(rows)
            self._drawn[images] = drawn
        start = 0
        # The chunks are the same as in `resample`, so that sums are bit-identical.
        for size in chunk_sizes(images, self.samples):
            yield self._drawn[images][start : start + size].astype(np.float64)
            start += size


def bootstrap(
    report: SystemScores,
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    images: Iterable[ImageId] | None = None,
) -> dict[str, Interval]:
    """Compute percentile bootstrap intervals of the corpus scores, with `resample`.

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


def compare(
    a: SystemScores,
    b: SystemScores,
    *,
    method: Method = "bootstrap",
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Comparisons:
    """Test whether two systems differ, with their scores paired by image.

    `bootstrap` is the two-sided paired bootstrap (Koehn 2004): with `d*` the difference in a resample,
    `p = 2 (min(#{d* <= 0}, #{d* >= 0}) + 1) / (samples + 1)`, at most 1. This p-value is the level at which
    the percentile interval starts to include 0 (Efron and Tibshirani 1993).

    `randomization` is approximate randomization (Riezler and Maxwell 2005): the candidates of each image are
    swapped between the systems with probability 1/2, and `p = (#{|d*| >= |d|} + 1) / (samples + 1)`.

    With both methods the interval is the paired bootstrap interval. P-values are not corrected for multiple
    comparisons.

    If a metric could not score an image for one of the systems, the image is excluded for both: the scores,
    differences and p-values of that metric are computed from the other images.

    Args:
        a: The scores of the first system.
        b: The scores of the second system, with the same references, metrics and options.
        method: `bootstrap` or `randomization`.
        samples: The number of resamples.
        level: The confidence level of the interval, between 0 and 1.
        seed: The seed of the resamples; the same seed gives the same numbers.

    Returns:
        The comparison of each corpus score, by name, in the order of `a`.

    Raises:
        MismatchError: The two reports differ in images, references, metrics or options.
        OptionError: An option has an invalid value.

    Example:
        The first system is better for two images and equal for one:

        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import compare
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> a = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "A dog."}, ["ROUGE-1"])
        >>> b = evaluate(references, {1: "A red bus.", 2: "A bed.", 3: "A cat."}, ["ROUGE-1"])
        >>> comparison = compare(a, b)["ROUGE-1"]
        >>> round(comparison.difference, 3), round(comparison.low, 3), round(comparison.high, 3)
        (0.333, 0.0, 0.5)
        >>> comparison.better, round(comparison.p_value, 3)
        ('a', 0.068)
    """
    validate_choice("method", method, get_args(Method))
    _check_options(samples, seed)
    validate_level("level", level)
    metrics, first, second = _pair_statistics(a, b)
    images, count = len(a.image_ids), len(metrics)
    exclusions = _list_exclusions(a, b)
    scores_a, scores_b = (
        (score_corpus(metrics, first), score_corpus(metrics, second)) if exclusions else (a.corpus, b.corpus)
    )
    values = score_resamples([*metrics, *metrics], [*first, *second], draw_resamples(images, samples, seed))
    comparisons = Comparisons(
        (
            name,
            difference(
                *(
                    BootstrapScore(
                        name=name,
                        score=scores[name],
                        values=values[:, i],
                        seed=seed,
                        higher_is_better=metric.higher_is_better,
                    )
                    for scores, values in ((scores_a, values_a), (scores_b, values_b))
                ),
                level=level,
            ),
        )
        for metric, values_a, values_b in zip(metrics, values[:count], values[count:], strict=True)
        for i, name in enumerate(metric.names)
    )
    comparisons.notes = exclusions
    if method == "randomization":
        swapped = score_swaps(metrics, first, second, draw_swaps(images, samples, seed))
        for metric, null_differences in zip(metrics, swapped, strict=True):
            for i, name in enumerate(metric.names):
                p_value = _compute_randomization_p(null_differences[:, i], comparisons[name])
                comparisons[name] = replace(comparisons[name], p_value=p_value, method=method)
    return comparisons


def difference(a: BootstrapScore, b: BootstrapScore, *, level: float = 0.95) -> Comparison:
    """Test whether two systems differ by their resampled scores, like `compare`.

    The test is `bootstrap`.

    Args:
        a: A score of the first system.
        b: The same score of the second system, of the same images in the same order.
        level: The confidence level of the interval, between 0 and 1.

    Raises:
        MismatchError: The two differ in score, number of resamples or seed.
        OptionError: `level` is not a number between 0 and 1.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import difference, resample
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> a = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "A dog."}, ["ROUGE-1"])
        >>> b = evaluate(references, {1: "A red bus.", 2: "A bed.", 3: "A cat."}, ["ROUGE-1"])
        >>> first, second = (resample(report)["ROUGE-1"] for report in (a, b))
        >>> comparison = difference(first, second)
        >>> round(comparison.difference, 3), round(comparison.p_value, 3)
        (0.333, 0.068)
    """
    validate_level("level", level)
    if (a.name, len(a.values), a.seed) != (b.name, len(b.values), b.seed):
        both = " and ".join(f"{part.name}, {len(part.values):,} samples, seed {part.seed}" for part in (a, b))
        raise MismatchError(f"resampled scores must have the same name, samples and seed (got {both})")
    first, second = (part.values.astype(np.float64, copy=False) for part in (a, b))
    low, high = _compute_interval(first - second, level)
    exact = all(part.values.dtype == np.float64 for part in (a, b))
    rounding = _ROUNDING if exact else _SINGLE_ROUNDING
    return Comparison(
        name=a.name,
        a=a.score,
        b=b.score,
        difference=a.score - b.score,
        low=low,
        high=high,
        p_value=_compute_bootstrap_p(first - second, rounding * (abs(a.score) + abs(b.score))),
        method="bootstrap",
        level=level,
        samples=len(first),
        seed=a.seed,
        higher_is_better=a.higher_is_better,
    )


def _check_options(samples: object, seed: object) -> None:
    validate_integer("samples", samples, 1)
    validate_integer("seed", seed, 0)


def _resample_scores(
    report: SystemScores,
    images: Iterable[ImageId] | None,
    seed: int,
    weights: Callable[[int], Iterator[FloatArray]],
) -> dict[str, BootstrapScore]:
    """Resample the scores of a report; `weights` draws resamples of N images."""
    metrics = [metric for metric, _ in report.scores]
    statistics = [scores.statistics for _, scores in report.scores]
    count = len(report.image_ids)
    if images is not None:
        rows = find_rows(report.image_ids, images, "'images'")
        statistics, count = [each[rows] for each in statistics], len(rows)
    resampled = {}
    for metric, own, values in zip(
        metrics, statistics, score_resamples(metrics, statistics, weights(count)), strict=True
    ):
        scores = metric.aggregate(own.sum(axis=0))
        for i, name in enumerate(metric.names):
            resampled[name] = BootstrapScore(
                name=name,
                score=float(scores[i]),
                values=values[:, i],
                seed=seed,
                higher_is_better=metric.higher_is_better,
            )
    return resampled


def _pair_statistics(
    a: SystemScores, b: SystemScores
) -> tuple[list[Metric], list[FloatArray], list[FloatArray]]:
    """Return the metrics and the statistics of both reports, paired by image."""
    if set(a.image_ids) != set(b.image_ids):
        only_a, only_b = set(a.image_ids) - set(b.image_ids), set(b.image_ids) - set(a.image_ids)
        raise MismatchError(
            "the reports must contain the same images"
            f" ({len(only_a):,} are only in the first, {len(only_b):,} only in the second)"
        )
    others = {metric.names: scores for metric, scores in b.scores}
    if {metric.names for metric, _ in a.scores} != set(others):
        raise MismatchError(
            f"the reports must contain the same scores (got {', '.join(a.corpus)} and {', '.join(b.corpus)})"
        )
    for metric, scores in a.scores:
        if scores.signature != others[metric.names].signature:
            raise MismatchError(
                "the reports must use the same references and options"
                f" (got {scores.signature} and {others[metric.names].signature})"
            )
    rows = {image: row for row, image in enumerate(b.image_ids)}
    order = np.array([rows[image] for image in a.image_ids])
    metrics = [metric for metric, _ in a.scores]
    first, second = [], []
    for metric, scores in a.scores:
        ours, theirs = scores.statistics, others[metric.names].statistics[order]
        without = metric.unscored(ours) + metric.unscored(theirs) > 0
        if without.any():
            ours, theirs = (np.where(without[:, None], 0, rows) for rows in (ours, theirs))
        first.append(ours)
        second.append(theirs)
    return metrics, first, second


def _list_exclusions(a: SystemScores, b: SystemScores) -> tuple[str, ...]:
    """Return one note per reason for images that were unscored for one of the systems."""
    images: dict[tuple[str, str], dict[ImageId, None]] = {}
    for each in (*a.unscored.values(), *b.unscored.values()):
        images.setdefault((each.reason, each.fix), {}).update(dict.fromkeys(each.images))
    return tuple(
        f"Excluded for both systems: {UnscoredWarning(tuple(found), *why)}." for why, found in images.items()
    )


def _drop_nan(values: FloatArray) -> FloatArray:
    """Return the values that are not NaN.

    A resample without tuples of a SPICE category has no score.
    """
    return values[~np.isnan(values)]


def _compute_interval(values: FloatArray, level: float) -> tuple[float, float]:
    values = _drop_nan(values)
    if not values.size:
        return np.nan, np.nan
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _compute_bootstrap_p(differences: FloatArray, rounding: float) -> float:
    differences = _drop_nan(differences)
    if not differences.size:
        return np.nan
    beyond = min(int((differences <= rounding).sum()), int((differences >= -rounding).sum()))
    return min(1.0, 2 * (beyond + 1) / (len(differences) + 1))


def _compute_randomization_p(differences: FloatArray, observed: Comparison) -> float:
    differences = _drop_nan(differences)
    if not differences.size:
        return np.nan
    rounding = _ROUNDING * (abs(observed.a) + abs(observed.b))
    extreme = int((np.abs(differences) >= abs(observed.difference) - rounding).sum())
    return (extreme + 1) / (len(differences) + 1)
