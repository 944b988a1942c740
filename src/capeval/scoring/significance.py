"""Bootstrap intervals of corpus scores, and paired tests between two systems.

Everything is computed from the statistics of a report: a resample is the number of draws of each image, its
statistics are the weighted sum of the images' rows, and the metric computes scores from them. No caption is
scored again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Literal, get_args

import numpy as np

from capeval._internal.notebook_html import html_table
from capeval._internal.validation import validate_choice, validate_level
from capeval.data.captions import ImageId, find_rows
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, UnscoredWarning
from capeval.errors.messages import format_score
from capeval.metrics.base import Metric
from capeval.scoring.bootstrap import (
    BootstrapScore,
    Interval,
    Resampler,
    SystemScores,
    bootstrap,
    check_resampling,
    resample,
)
from capeval.scoring.intervals import compute_interval, correct_p_value, drop_nan
from capeval.scoring.resampling import (
    MOST_EXACT,
    draw_resamples,
    draw_swaps,
    list_swaps,
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
    "describe_test",
    "difference",
    "format_p_value",
    "resample",
]

Method = Literal["bootstrap", "randomization"]

FEW_IMAGES = 30
"""With fewer images, intervals and tests are unreliable."""

# Smaller differences, relative to the scores, can result from the order of summation.
_ROUNDING = 1e-12
# The same limit for scores in single precision.
_SINGLE_ROUNDING = float(np.finfo(np.float32).eps)


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
        smallest_p_value: The smallest p-value that the test can return for this number of images and
            resamples.
        detectable: Larger differences would be significant at the level of the interval, with the variation
            of these images; NaN if no difference can be significant.
        method: The test of the p-value, `bootstrap` or `randomization`.
        level: The confidence level of the interval, between 0 and 1.
        samples: The number of resamples.
        seed: The seed of the resamples.
        higher_is_better: Whether a higher score is better.
        is_exact: Whether the test used all possible swaps of the images, without random draws.
        corrected_p_value: The p-value corrected for the number of compared pairs; None without correction.
    """

    name: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    p_value: float
    smallest_p_value: float
    detectable: float
    method: Method
    level: float
    samples: int
    seed: int
    higher_is_better: bool = True
    is_exact: bool = False
    corrected_p_value: float | None = None

    @property
    def better(self) -> Literal["a", "b"] | None:
        """The system with the better score; None if the scores are equal or undefined."""
        a, b = (self.a, self.b) if self.higher_is_better else (-self.a, -self.b)
        return "a" if a > b else "b" if b > a else None

    @property
    def is_significant(self) -> bool:
        """Whether the p-value, corrected if possible, is at most 1 minus the level of the interval."""
        p_value = self.p_value if self.corrected_p_value is None else self.corrected_p_value
        return p_value <= 1 - self.level + _ROUNDING


class Comparisons(dict[str, Comparison]):
    """The comparison of each score by name, displayed as a table.

    Attributes:
        notes: Sentences on images that were excluded from the comparison of a score, and on too few images.

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
        ROUGE-1  0.833  0.500  +0.3333 [+0.0000, +0.5000]  0.5000
        Only 3 images: with fewer than 30, intervals and tests are unreliable.
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
                format_p_value(each),
            )
            for name, each in self.items()
        ]


def format_p_value(comparison: Comparison, *, is_corrected: bool = False) -> str:
    """Format a p-value with four decimals, or as `<0.001` if it is the smallest of a random test.

    Args:
        comparison: The comparison.
        is_corrected: Whether to format the corrected p-value, if there is one.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import compare, format_p_value
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> a = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "A dog."}, ["ROUGE-1"])
        >>> b = evaluate(references, {1: "A red bus.", 2: "A bed.", 3: "A cat."}, ["ROUGE-1"])
        >>> format_p_value(compare(a, b)["ROUGE-1"])
        '0.5000'
    """
    corrected = comparison.corrected_p_value if is_corrected else None
    p_value = comparison.p_value if corrected is None else corrected
    if isnan(p_value):
        return "-"
    if not comparison.is_exact and comparison.p_value <= comparison.smallest_p_value:
        return f"<{p_value:.4f}".rstrip("0")
    return f"{p_value:.4f}"


def describe_test(comparison: Comparison) -> str:
    """Return a sentence on the test of a p-value, for footnotes.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import compare, describe_test
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> a = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "A dog."}, ["ROUGE-1"])
        >>> b = evaluate(references, {1: "A red bus.", 2: "A bed.", 3: "A cat."}, ["ROUGE-1"])
        >>> describe_test(compare(a, b)["ROUGE-1"])
        'p-value: exact paired randomization of the captions of each image; the smallest possible is 0.25.'
    """
    smallest = f"the smallest possible is {comparison.smallest_p_value:.2g}."
    drawn = f"({comparison.samples:,} samples, seed {comparison.seed})"
    if comparison.method == "bootstrap":
        return f"p-value: paired bootstrap of the images {drawn}; {smallest}"
    if comparison.is_exact:
        return f"p-value: exact paired randomization of the captions of each image; {smallest}"
    return f"p-value: paired randomization of the captions of each image {drawn}; {smallest}"


def compare(
    a: SystemScores,
    b: SystemScores,
    *,
    method: Method = "randomization",
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    images: Iterable[ImageId] | None = None,
) -> Comparisons:
    """Test whether two systems differ, with their scores paired by image.

    `randomization` is the paired randomization test (Noreen 1989; Riezler and Maxwell 2005): the candidates
    of each image are swapped between the systems with probability 1/2. With up to 16 images, the test is
    exact: all swaps are listed, and with `d*` the difference after a swap, `p` is the share of swaps with
    `|d*| >= |d|`. With more images, swaps are drawn, and `p = (#{|d*| >= |d|} + 1) / (samples + 1)`.

    `bootstrap` is the two-sided paired bootstrap (Koehn 2004): with `d*` the difference in a resample,
    `p = 2 (min(#{d* <= 0}, #{d* >= 0}) + 1) / (samples + 1)`, at most 1, corrected for the number of images.
    This p-value is the level at which the interval starts to include 0 (Efron and Tibshirani 1993).

    With both methods the interval is the paired bootstrap interval with expanded quantiles. P-values are not
    corrected for multiple comparisons.

    If a metric could not score an image for one of the systems, the image is excluded for both: the scores,
    differences and p-values of that metric are computed from the other images.

    Args:
        a: The scores of the first system.
        b: The scores of the second system, with the same references, metrics and options.
        method: `randomization` or `bootstrap`.
        samples: The number of resamples.
        level: The confidence level of the interval, between 0 and 1.
        seed: The seed of the resamples; the same seed gives the same numbers.
        images: The images to compare, such as a subset; all by default.

    Returns:
        The comparison of each corpus score, by name, in the order of `a`.

    Raises:
        CaptionError: `images` contains something other than image ids.
        MismatchError: The two reports differ in images, references, metrics or options, or have no scores for
            one of the images.
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
        >>> comparison.better, comparison.p_value, comparison.smallest_p_value
        ('a', 0.5, 0.25)
    """
    validate_choice("method", method, get_args(Method))
    check_resampling(samples, seed)
    validate_level("level", level)
    metrics, first, second = _pair_statistics(a, b)
    units, count = len(a.image_ids), len(metrics)
    if images is not None:
        rows = find_rows(a.image_ids, images, "'images'")
        first, second = ([each[rows] for each in part] for part in (first, second))
        units = len(rows)
    exclusions = _list_exclusions(a, b)
    scores_a, scores_b = (
        (score_corpus(metrics, first), score_corpus(metrics, second))
        if exclusions or images is not None
        else (a.corpus, b.corpus)
    )
    values = score_resamples([*metrics, *metrics], [*first, *second], draw_resamples(units, samples, seed))
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
                        units=units,
                    )
                    for scores, values in ((scores_a, values_a), (scores_b, values_b))
                ),
                level=level,
            ),
        )
        for metric, values_a, values_b in zip(metrics, values[:count], values[count:], strict=True)
        for i, name in enumerate(metric.names)
    )
    comparisons.notes = (*exclusions, *_warn_about_few(units))
    if method == "randomization":
        is_exact = units <= MOST_EXACT
        swaps = list_swaps(units) if is_exact else draw_swaps(units, samples, seed)
        swapped = score_swaps(metrics, first, second, swaps)
        for metric, differences in zip(metrics, swapped, strict=True):
            for i, name in enumerate(metric.names):
                comparisons[name] = _randomize(comparisons[name], differences[:, i], is_exact=is_exact)
    return comparisons


def _warn_about_few(images: int) -> tuple[str, ...]:
    if images >= FEW_IMAGES:
        return ()
    count = "1 image" if images == 1 else f"{images:,} images"
    return (f"Only {count}: with fewer than {FEW_IMAGES}, intervals and tests are unreliable.",)


def difference(a: BootstrapScore, b: BootstrapScore, *, level: float = 0.95) -> Comparison:
    """Test whether two systems differ by their resampled scores, like `compare`.

    The test is `bootstrap`. It is corrected for the number of units if both scores have it.

    Args:
        a: A score of the first system.
        b: The same score of the second system, of the same images in the same order.
        level: The confidence level of the interval, between 0 and 1.

    Raises:
        MismatchError: The two differ in score, number of resamples, seed or number of units.
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
        (0.333, 0.275)
    """
    validate_level("level", level)
    units = None if None in (a.units, b.units) else a.units
    if (a.name, len(a.values), a.seed) != (b.name, len(b.values), b.seed) or units not in (None, b.units):
        both = " and ".join(f"{part.name}, {len(part.values):,} samples, seed {part.seed}" for part in (a, b))
        raise MismatchError(f"resampled scores must have the same name, samples and seed (got {both})")
    first, second = (part.values.astype(np.float64, copy=False) for part in (a, b))
    low, high = compute_interval(first - second, level, units=units)
    exact = all(part.values.dtype == np.float64 for part in (a, b))
    rounding = (_ROUNDING if exact else _SINGLE_ROUNDING) * (abs(a.score) + abs(b.score))
    p_value, smallest = (
        each if units is None or isnan(each) else correct_p_value(each, units)
        for each in (_compute_bootstrap_p(first - second, rounding), min(1.0, 2 / (len(first) + 1)))
    )
    found = a.score - b.score
    return Comparison(
        name=a.name,
        a=a.score,
        b=b.score,
        difference=found,
        low=low,
        high=high,
        p_value=p_value,
        smallest_p_value=smallest,
        # A larger difference would move the interval away from 0.
        detectable=nan if smallest > 1 - level else max(found - low, high - found),
        method="bootstrap",
        level=level,
        samples=len(first),
        seed=a.seed,
        higher_is_better=a.higher_is_better,
    )


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


def _compute_bootstrap_p(differences: FloatArray, rounding: float) -> float:
    differences = drop_nan(differences)
    if not differences.size:
        return nan
    beyond = min(int((differences <= rounding).sum()), int((differences >= -rounding).sum()))
    return min(1.0, 2 * (beyond + 1) / (len(differences) + 1))


def _randomize(comparison: Comparison, differences: FloatArray, *, is_exact: bool) -> Comparison:
    """Return the comparison with the p-value of the randomization test.

    Args:
        comparison: The comparison by bootstrap.
        differences: The difference after each swap.
        is_exact: Whether these are all swaps, including the identity.
    """
    differences = np.abs(drop_nan(differences))
    if not differences.size or isnan(comparison.difference):
        return replace(comparison, p_value=nan, smallest_p_value=nan, detectable=nan, method="randomization")
    rounding = _ROUNDING * (abs(comparison.a) + abs(comparison.b))
    extreme = int((differences >= abs(comparison.difference) - rounding).sum())
    # All swaps include the observed difference and its opposite; drawn swaps are joined by the observed one.
    added, fewest = (0, 2) if is_exact else (1, 0)
    total = len(differences) + added
    most = int((1 - comparison.level) * total + _ROUNDING) - added
    is_detectable = fewest <= most < len(differences)
    return replace(
        comparison,
        p_value=(extreme + added) / total,
        smallest_p_value=min(1.0, max(fewest, added) / total),
        detectable=float(np.sort(differences)[-most - 1]) if is_detectable else nan,
        method="randomization",
        is_exact=is_exact,
    )
