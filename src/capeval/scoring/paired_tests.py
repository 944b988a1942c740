"""Paired tests of systems on the same images, by randomization and by bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan, nan
from typing import TypeVar, get_args

import numpy as np

from capeval._internal.validation import validate_choice, validate_level
from capeval.data.captions import ImageId, find_rows
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, UnscoredWarning
from capeval.metrics.base import Metric
from capeval.scoring.bootstrap import BootstrapScore, SystemScores, check_resampling
from capeval.scoring.comparisons import ROUNDING, Comparison, Comparisons, Method, warn_about_few
from capeval.scoring.intervals import compute_interval, correct_p_value, drop_nan
from capeval.scoring.resampling import Draws, score_corpus, score_resamples
from capeval.scoring.swap_sums import SwapSums, create_swap_sums, score_swaps, score_totals

__all__ = ["PairedTests", "difference"]

Value = TypeVar("Value", FloatArray, SwapSums)

_Order = tuple[tuple[ImageId, ...], tuple[tuple[str, ...], ...]]

# The limit of rounding for scores in single precision.
_SINGLE_ROUNDING = float(np.finfo(np.float32).eps)


class PairedTests:
    """Paired tests of the pairs of some systems, which share random draws.

    Each system is resampled once, whatever the number of pairs.

    Args:
        systems: The scores of the systems by name.
        method: `randomization` or `bootstrap`.
        samples: The number of resamples.
        level: The confidence level of intervals, between 0 and 1.
        seed: The seed of the resamples.
        images: The images to compare, such as a subset; all by default.

    Raises:
        OptionError: An option has an invalid value.
    """

    def __init__(
        self,
        systems: Mapping[str, SystemScores],
        *,
        method: Method,
        samples: int,
        level: float,
        seed: int,
        images: Iterable[ImageId] | None,
    ) -> None:
        validate_choice("method", method, get_args(Method))
        check_resampling(samples, seed)
        validate_level("level", level)
        self._systems = systems
        self._method = method
        self._level = level
        self._images = None if images is None else list(images)
        # Two systems need each draw only once.
        self._draws = Draws(samples, seed, is_stored=len(systems) > 2)
        self._resampled: dict[tuple[str, _Order], list[FloatArray]] = {}
        self._swapped: dict[tuple[str, _Order], list[SwapSums]] = {}

    def compare(self, first: str, second: str) -> Comparisons:
        """Compare two of the systems.

        Raises:
            CaptionError: The images contain something other than image ids.
            MismatchError: The two reports differ in images, references, metrics or options, or have no scores
                for one of the images.
            OptionError: The images are not a list, or it is empty.
        """
        pair = _Pair(self._systems[first], self._systems[second], self._images)
        values = _remember(self._resampled, (first, second), pair, self._resample)
        comparisons = Comparisons(
            (name, difference(*pair.get_scores(place, column, values, self._draws.seed), level=self._level))
            for place, metric in enumerate(pair.metrics)
            for column, name in enumerate(metric.names)
        )
        comparisons.notes = (*pair.exclusions, *warn_about_few(pair.units))
        if self._method == "randomization":
            swapped = _remember(self._swapped, (first, second), pair, self._sum_swaps)
            for metric, *sums in zip(pair.metrics, *swapped, strict=True):
                differences, observed = score_swaps(*sums), score_totals(*sums).tolist()
                for i, name in enumerate(metric.names):
                    comparisons[name] = _randomize(
                        comparisons[name], observed[i], differences[:, i], is_exact=sums[0].is_exact
                    )
        return comparisons

    def _resample(self, metrics: Sequence[Metric], statistics: Sequence[FloatArray]) -> list[FloatArray]:
        return score_resamples(metrics, statistics, self._draws.resamples(len(statistics[0])))

    def _sum_swaps(self, metrics: Sequence[Metric], statistics: Sequence[FloatArray]) -> list[SwapSums]:
        return create_swap_sums(metrics, statistics, self._draws)


def _remember(
    known: dict[tuple[str, _Order], list[Value]],
    names: tuple[str, str],
    pair: _Pair,
    compute: Callable[[Sequence[Metric], Sequence[FloatArray]], list[Value]],
) -> list[list[Value]]:
    """Return a value per metric of both systems, computed in one pass unless known."""
    keys = [(name, pair.order) for name in names]
    # Statistics without the images that are excluded for both systems are those of this pair only.
    known = {} if pair.exclusions else known
    missing = [place for place, key in enumerate(keys) if key not in known]
    if missing:
        statistics = [each for place in missing for each in pair.statistics[place]]
        found = compute(pair.metrics * len(missing), statistics)
        count = len(pair.metrics)
        for number, place in enumerate(missing):
            known[keys[place]] = found[number * count : (number + 1) * count]
    return [known[key] for key in keys]


class _Pair:
    """Two systems, with their statistics of the same images.

    Attributes:
        metrics: The metrics.
        statistics: The statistics of each metric, of both systems.
        order: The images and the scores of the first system, in the order of the statistics.
        exclusions: One note per reason for images that were unscored for one of the systems.
        units: The number of compared images.
    """

    def __init__(self, a: SystemScores, b: SystemScores, images: Sequence[ImageId] | None) -> None:
        _check_pair(a, b)
        self.metrics = [metric for metric, _ in a.scores]
        self.statistics = _pair_statistics(a, b)
        self.order: _Order = (a.image_ids, tuple(metric.names for metric in self.metrics))
        self.exclusions = _list_exclusions(a, b)
        self.units = len(a.image_ids)
        if images is not None:
            rows = find_rows(a.image_ids, images, "'images'")
            self.statistics = [[each[rows] for each in part] for part in self.statistics]
            self.units = len(rows)
        self._corpus = (
            [score_corpus(self.metrics, part) for part in self.statistics]
            if self.exclusions or images is not None
            else [a.corpus, b.corpus]
        )

    def get_scores(
        self, place: int, column: int, values: Sequence[Sequence[FloatArray]], seed: int
    ) -> list[BootstrapScore]:
        """Return one score of a metric, of both systems, with the values of its resamples."""
        metric = self.metrics[place]
        name = metric.names[column]
        return [
            BootstrapScore(
                name=name,
                score=corpus[name],
                values=resampled[place][:, column],
                seed=seed,
                higher_is_better=metric.higher_is_better,
                has_direction=metric.has_direction,
                units=self.units,
            )
            for corpus, resampled in zip(self._corpus, values, strict=True)
        ]


def difference(
    a: BootstrapScore,
    b: BootstrapScore,
    *,
    swaps: tuple[SwapSums, SwapSums] | None = None,
    level: float = 0.95,
) -> Comparison:
    """Test whether two systems differ by their resampled scores, like `compare`.

    The test is `randomization` with `swaps`, and otherwise `bootstrap`. The bootstrap is corrected for the
    number of units if both scores have it.

    Args:
        a: A score of the first system.
        b: The same score of the second system, of the same images in the same order.
        swaps: The sums over swapped images of both systems (`sum_swaps`), for the test by randomization.
        level: The confidence level of the interval, between 0 and 1.

    Raises:
        MismatchError: The two differ in score, number of resamples, seed or number of units, or their sums
            in score, number of images, number of swaps or seed.
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
    rounding = (ROUNDING if exact else _SINGLE_ROUNDING) * (abs(a.score) + abs(b.score))
    p_value, smallest = (
        each if units is None or isnan(each) else correct_p_value(each, units)
        for each in (_compute_bootstrap_p(first - second, rounding), min(1.0, 2 / (len(first) + 1)))
    )
    found = a.score - b.score
    comparison = Comparison(
        name=a.name,
        a=a.score,
        b=b.score,
        difference=found,
        low=low,
        high=high,
        p_value=p_value,
        smallest_p_value=smallest,
        # The interval of a larger difference in this direction would not contain 0.
        detectable=nan if smallest > 1 - level else found - low if found >= 0 else high - found,
        method="bootstrap",
        level=level,
        samples=len(first),
        seed=a.seed,
        higher_is_better=a.higher_is_better,
        has_direction=a.has_direction,
    )
    if swaps is None:
        return comparison
    names = swaps[0].metric.names
    if a.name not in names:
        raise MismatchError(f"sums of swaps must be of the score (got {a.name} and {names[0]})")
    column = names.index(a.name)
    observed = float(score_totals(*swaps)[column])
    return _randomize(comparison, observed, score_swaps(*swaps)[:, column], is_exact=swaps[0].is_exact)


def _check_pair(a: SystemScores, b: SystemScores) -> None:
    """Check that two systems have the same images, scores and references."""
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


def _pair_statistics(a: SystemScores, b: SystemScores) -> list[list[FloatArray]]:
    """Return the statistics of both systems in the order of the first, 0 for images that one can't score."""
    others = {metric.names: scores for metric, scores in b.scores}
    rows = {image: row for row, image in enumerate(b.image_ids)}
    order = np.array([rows[image] for image in a.image_ids])
    first, second = [], []
    for metric, scores in a.scores:
        ours, theirs = scores.statistics, others[metric.names].statistics[order]
        without = metric.unscored(ours) + metric.unscored(theirs) > 0
        if without.any():
            ours, theirs = (np.where(without[:, None], 0, rows) for rows in (ours, theirs))
        first.append(ours)
        second.append(theirs)
    return [first, second]


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


def _randomize(
    comparison: Comparison, observed: float, differences: FloatArray, *, is_exact: bool
) -> Comparison:
    """Return the comparison with the p-value of the randomization test.

    Args:
        comparison: The comparison by bootstrap.
        observed: The difference without a swap.
        differences: The difference after each swap.
        is_exact: Whether these are all swaps, including the identity.
    """
    differences = np.abs(drop_nan(differences))
    if not differences.size or isnan(observed):
        return replace(comparison, p_value=nan, smallest_p_value=nan, detectable=nan, method="randomization")
    rounding = ROUNDING * (abs(comparison.a) + abs(comparison.b))
    extreme = int((differences >= abs(observed) - rounding).sum())
    # All swaps include the observed difference and its opposite; drawn swaps are joined by the observed one.
    added, fewest = (0, 2) if is_exact else (1, 0)
    total = len(differences) + added
    most = int((1 - comparison.level) * total + ROUNDING) - added
    is_detectable = fewest <= most < len(differences)
    return replace(
        comparison,
        p_value=(extreme + added) / total,
        smallest_p_value=min(1.0, max(fewest, added) / total),
        detectable=float(np.sort(differences)[-most - 1]) if is_detectable else nan,
        method="randomization",
        is_exact=is_exact,
    )
