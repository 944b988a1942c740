"""Agreement of annotators: Krippendorff's alpha, and its confidence interval."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from capeval._internal.validation import validate_choice
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.scoring.bootstrap import Interval, check_resampling
from capeval.scoring.intervals import compute_interval, compute_share_interval
from capeval.scoring.resampling import draw_resamples

__all__ = ["Alpha", "Scale", "krippendorff_alpha", "measure_alpha"]

Scale = Literal["nominal", "ordinal", "interval"]

_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Alpha:
    """Krippendorff's alpha with its confidence interval.

    Attributes:
        interval: The alpha and its interval.
        scale: The scale of the ratings, which defines their disagreement.
    """

    interval: Interval
    scale: Scale

    @property
    def value(self) -> float:
        """The alpha."""
        return self.interval.score

    @property
    def note(self) -> str:
        """A footnote for tables."""
        return f"Alpha: Krippendorff's alpha ({self.scale} scale), with {self.interval.description}."


def krippendorff_alpha(ratings: ArrayLike, *, scale: Scale = "nominal") -> float:
    """Return Krippendorff's alpha: 1 for full agreement, 0 for agreement by chance.

    It is 1 - D_o / D_e, with observed and expected disagreement over all pairs of ratings of one question and
    of all questions (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability).

    Args:
        ratings: Ratings of shape `(questions, annotators)`; NaN for a missing rating. Annotators are
            interchangeable, so a column can contain ratings by different people.
        scale: The disagreement of two ratings: `nominal` (equal or not), `ordinal` (the squared number of
            ratings between them) or `interval` (the squared difference).

    Raises:
        OptionError: `scale` is not one of the three.
        MismatchError: No question has two ratings, or all ratings are equal, so that alpha is undefined.

    Example:
        Two people agree on three of four questions. The observed disagreement is 2, and the expected
        disagreement is 30/7:

        >>> from capeval.studies.shared.agreement import krippendorff_alpha
        >>> round(krippendorff_alpha([[1, 1], [1, 1], [-1, -1], [1, -1]]), 3)
        0.533
    """
    validate_choice("scale", scale, get_args(Scale))
    values, counts = _count_ratings(ratings)
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        raise MismatchError("at least one question must have two ratings (got none)")
    alpha = _compute_alphas(values, counts.sum(axis=0)[None], _count_pairs(counts).sum(axis=0)[None], scale)
    if np.isnan(alpha[0]):
        raise MismatchError("ratings must not all be equal")
    return float(alpha[0])


def measure_alpha(
    ratings: ArrayLike,
    *,
    scale: Scale,
    units: Sequence[Hashable] | None = None,
    unit_name: str = "images",
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Alpha | None:
    """Return Krippendorff's alpha with a bootstrap interval; None if alpha is undefined.

    Units such as images are drawn with replacement, each with all of its questions. The interval has expanded
    quantiles (`capeval.scoring.intervals`). If all resamples are equal, as with perfect agreement, some units
    could still differ: the interval contains the alphas that result if they are answered at random, for the
    largest share of such units that Wilson's interval allows. A single unit has the interval from -1 to 1.
    The order of the questions and of the annotators does not change the interval.

    Args:
        ratings: Ratings of shape `(questions, annotators)`, as in `krippendorff_alpha`.
        scale: The scale of the ratings.
        units: The unit of each question; by default, every question is a unit.
        unit_name: The noun for the units, in footnotes.
        samples: The number of resamples.
        level: The confidence level of the interval, between 0 and 1.
        seed: The seed of the resamples.

    Raises:
        OptionError: An option has an invalid value.

    Example:
        >>> from capeval.studies.shared.agreement import measure_alpha
        >>> alpha = measure_alpha([[1, 1], [1, 1], [0, 0], [1, 1], [0, 0], [1, 0]], scale="nominal")
        >>> round(alpha.value, 2), round(alpha.interval.low, 2), alpha.interval.high
        (0.69, -0.22, 1.0)
    """
    check_resampling(samples, seed)
    values, counts = _count_ratings(ratings)
    rated = counts.sum(axis=1) >= 2
    counts = counts[rated]
    places = np.arange(len(rated)) if units is None else np.array(_number_units(units))
    places = np.unique(places[rated], return_inverse=True)[1]
    of_units = int(places.max()) + 1 if len(places) else 0
    totals, pairs = np.zeros((of_units, len(values))), np.zeros((of_units, len(values), len(values)))
    np.add.at(totals, places, counts)
    np.add.at(pairs, places, _count_pairs(counts))
    alpha = float(_compute_alphas(values, totals.sum(axis=0)[None], pairs.sum(axis=0)[None], scale)[0])
    if np.isnan(alpha):
        return None
    # In an order of their content, so that equal ratings in a different order have the same interval.
    order = np.lexsort(np.column_stack([totals, pairs.reshape(of_units, -1)]).T)
    totals, pairs = totals[order], pairs[order]
    weights = np.concatenate(list(draw_resamples(of_units, samples, seed)))
    resampled = _compute_alphas(values, weights @ totals, np.tensordot(weights, pairs, 1), scale)
    low, high = compute_interval(resampled, level, units=of_units)
    if high - low < _ROUNDING:
        reach = _bound_change(totals, level)
        low, high = max(-1.0, alpha - reach), min(1.0, alpha + reach)
    interval = Interval(
        score=alpha, low=low, high=high, level=level, samples=samples, seed=seed, units=unit_name
    )
    return Alpha(interval=interval, scale=scale)


def _number_units(units: Sequence[Hashable]) -> list[int]:
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    return [numbers[unit] for unit in units]


def _count_ratings(ratings: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the different ratings, and the count of each in each row."""
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise MismatchError(f"ratings must be rows of annotators' ratings (got {table.ndim} dimensions)")
    values, coded = np.unique(table[~np.isnan(table)], return_inverse=True)
    counts = np.zeros((len(table), len(values)))
    np.add.at(counts, (np.nonzero(~np.isnan(table))[0], coded), 1)
    return values, counts


def _count_pairs(counts: FloatArray) -> FloatArray:
    """Return the pairs of ratings of each question: the table of coincidences."""
    pairs: FloatArray = counts[:, :, None] * counts[:, None, :] / (counts.sum(axis=1) - 1)[:, None, None]
    return pairs


def _compute_alphas(values: FloatArray, totals: FloatArray, pairs: FloatArray, scale: Scale) -> FloatArray:
    """Return the alpha of each resample; NaN if all of its ratings are equal.

    Args:
        values: The different ratings.
        totals: The count of each rating: resamples by ratings.
        pairs: The weighted pairs of ratings of the same question: resamples by ratings by ratings.
        scale: The scale.
    """
    # The rank of a rating: the number of lower ratings, and half of the equal ones.
    ranks = np.cumsum(totals, axis=1) - totals / 2
    positions = ranks if scale == "ordinal" else values[None, :]
    distance = (positions[:, :, None] - positions[:, None, :]) ** 2
    if scale == "nominal":
        distance = (distance > 0).astype(np.float64)
    observed = (pairs * distance).sum(axis=(1, 2))
    expected = np.einsum("si,sj,sij->s", totals, totals, np.broadcast_to(distance, pairs.shape))
    with np.errstate(divide="ignore", invalid="ignore"):
        expected /= totals.sum(axis=1) - 1
        alphas: FloatArray = np.where(expected > 0, 1 - observed / expected, np.nan)
    return alphas


def _bound_change(totals: FloatArray, level: float) -> float:
    """Return the largest change of alpha by units with random answers that none of the units shows."""
    units = len(totals)
    if units < 2:
        return 2.0
    shares = totals.sum(axis=0) / totals.sum()
    different = 1 - float((shares**2).sum())
    return compute_share_interval(np.zeros(units), np.ones(units), level)[1] / different
