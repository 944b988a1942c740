"""Bootstrap intervals, and their corrections for few images.

The percentile interval of a small sample is too narrow, and it is shifted if the score is biased or skewed,
as BLEU is. Two corrections are applied:

- Expanded quantiles (Hesterberg 2015): as a t interval is wider than a normal one, tail probabilities are
  reduced to those that make the percentile interval of a mean as wide as its t interval.
- Bias and acceleration (BCa, Efron 1987): the quantiles are shifted by the bias of the resamples and by the
  skewness of the images' influence.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from capeval.data.scores import FloatArray
from capeval.metrics.base import Metric

__all__ = [
    "compute_acceleration",
    "compute_interval",
    "compute_share_interval",
    "compute_t_quantile",
    "compute_t_tail",
    "compute_tail",
    "correct_p_value",
    "drop_nan",
    "wilson_interval",
]

_NORMAL = NormalDist()
_ROUNDING = 1e-12


def compute_interval(
    values: FloatArray,
    level: float,
    *,
    units: int | None = None,
    score: float | None = None,
    acceleration: float = 0.0,
) -> tuple[float, float]:
    """Return the ends of a bootstrap interval; NaN without values.

    Args:
        values: The scores of the resamples; NaN is ignored.
        level: The confidence level, between 0 and 1.
        units: The number of resampled units, such as images, to expand the quantiles; None to keep them.
        score: The score of all images, to correct the bias; None to keep it.
        acceleration: The acceleration of the score (`compute_acceleration`).
    """
    values = drop_nan(values)
    if not values.size:
        return math.nan, math.nan
    tail = (1 - level) / 2 if units is None else compute_tail((1 - level) / 2, units)
    tails = [tail, 1 - tail]
    if score is not None:
        shift = _compute_shift(values, score)
        tails = [_shift_tail(each, shift, acceleration) for each in tails]
    low, high = np.quantile(values, tails)
    return float(low), float(high)


def drop_nan(values: FloatArray) -> FloatArray:
    """Return the values that are not NaN.

    A resample without tuples of a SPICE category has no score.
    """
    return values[~np.isnan(values)]


def compute_acceleration(metric: Metric, statistics: FloatArray) -> FloatArray:
    """Return the acceleration of each score: a sixth of the skewness of the images' influence.

    The influence of an image is the change of the score without it (jackknife).

    Args:
        metric: The metric.
        statistics: The statistics of each image, of shape (images, statistics).
    """
    if len(statistics) < 2:
        return np.zeros(len(metric.names))
    without = metric.aggregate(statistics.sum(axis=0) - statistics)
    known = ~np.isnan(without)
    means = np.where(known, without, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    changes = np.where(known, means - without, 0)
    spread = 6 * (changes**2).sum(axis=0) ** 1.5
    found: FloatArray = (changes**3).sum(axis=0) / np.where(spread > 0, spread, 1)
    return found


def compute_tail(tail: float, units: int) -> float:
    """Return the tail probability of expanded quantiles.

    The percentile interval of a mean of N units is narrower than its t interval by a factor that depends only
    on N. The returned probability makes both equally wide for normal values.
    """
    if units < 2:
        return 0.0
    return _NORMAL.cdf(-math.sqrt(units / (units - 1)) * compute_t_quantile(tail, units - 1))


def correct_p_value(p_value: float, units: int) -> float:
    """Return the two-sided p-value that corresponds to expanded quantiles.

    It is the level at which the expanded interval starts to include 0.
    """
    if units < 2 or p_value >= 1:
        return 1.0
    deviations = -_NORMAL.inv_cdf(p_value / 2) * math.sqrt((units - 1) / units)
    return 2 * compute_t_tail(deviations, units - 1)


def wilson_interval(
    part: float, count: float, level: float = 0.95, *, freedom: int | None = None
) -> tuple[float, float]:
    """Return Wilson's score interval of a share (Wilson 1927).

    It never has zero width, also for a share of 0 or 1.

    Args:
        part: The share, from 0 to 1.
        count: The number of independent cases, or the effective number of cases that depend on each other.
        level: The confidence level, between 0 and 1.
        freedom: The degrees of freedom of an effective number, for quantiles of the t distribution.
    """
    z = _NORMAL.inv_cdf((1 + level) / 2) if freedom is None else compute_t_quantile((1 - level) / 2, freedom)
    center = (part + z * z / (2 * count)) / (1 + z * z / count)
    reach = z / (1 + z * z / count) * math.sqrt(part * (1 - part) / count + z * z / (4 * count * count))
    # Rounding must not exclude the share itself.
    return max(0.0, min(part, center - reach)), min(1.0, max(part, center + reach))


def compute_share_interval(points: FloatArray, most: FloatArray, level: float) -> tuple[float, float]:
    """Return the interval of a share of points that vary by image.

    It is Wilson's interval for the effective number of images, with quantiles of the t distribution. The
    effective number is that of independent cases with the same variance of their share.
    The variance includes one more image that varies as much as possible, so that equal images do not result
    in an interval without width.

    Args:
        points: The points of each image.
        most: The maximum points of each image.
        level: The confidence level, between 0 and 1.
    """
    images, total = len(points), float(most.sum())
    if images < 2:
        return 0.0, 1.0
    part = min(1.0, max(0.0, float(points.sum()) / total))
    largest = part * (1 - part)
    effective = float(images)
    if largest > _ROUNDING:
        squares = float(((points - part * most) ** 2).sum()) + largest * float(most.mean()) ** 2
        effective = largest * total**2 / squares
    return wilson_interval(part, effective, level, freedom=images - 1)


def _compute_shift(values: FloatArray, score: float) -> float:
    """Return the bias of the resamples as a normal deviate."""
    # Equal scores can differ by the rounding of sums.
    rounding = _ROUNDING * abs(score)
    below = float((values < score - rounding).sum() + (np.abs(values - score) <= rounding).sum() / 2)
    most = len(values) + 1
    return _NORMAL.inv_cdf(min(max(below / len(values), 1 / most), 1 - 1 / most))


def _shift_tail(tail: float, shift: float, acceleration: float) -> float:
    if not 0 < tail < 1:
        return tail
    moved = shift + _NORMAL.inv_cdf(tail)
    return _NORMAL.cdf(shift + moved / (1 - acceleration * moved))


@lru_cache(maxsize=1024)
def compute_t_quantile(tail: float, freedom: int) -> float:
    """Return the value that a t-distributed variable exceeds with a probability below one half."""
    low, high = 0.0, 1.0
    while compute_t_tail(high, freedom) > tail:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if compute_t_tail(middle, freedom) > tail else (low, middle)
    return high


def compute_t_tail(value: float, freedom: int) -> float:
    """Return the probability that a t-distributed variable exceeds a value of at least 0.

    For integer degrees of freedom, the distribution is a finite sum (Abramowitz and Stegun 1972, 26.7.3 and
    26.7.4).
    """
    angle = math.atan2(value, math.sqrt(freedom))
    odd = freedom % 2
    # Factors of the products 2/3, 2/3 4/5, ... for odd and 1/2, 1/2 3/4, ... for even degrees of freedom.
    first = np.arange(2 if odd else 1, freedom - 1, 2)
    products = np.cumprod(np.concatenate([[1.0], first / (first + 1) * math.cos(angle) ** 2]))
    if odd:
        inner = math.sin(angle) * math.cos(angle) * products.sum() if freedom > 1 else 0.0
        inside = 2 / math.pi * (angle + inner)
    else:
        inside = math.sin(angle) * products.sum()
    return float(max(0.0, (1 - inside) / 2))
