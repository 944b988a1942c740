"""The bootstrap and the swaps of two systems, one image at a time."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import sqrt

import numpy as np
from scipy.stats import norm, t

Row = Sequence[float]
Aggregate = Callable[[Row], float]


def total(rows: Sequence[Row]) -> list[float]:
    return [sum(column) for column in zip(*rows, strict=True)]


def resamples(images: int, samples: int, seed: int) -> Iterator[list[int]]:
    """Yield the images of each resample. The same seed must always draw the same numbers."""
    generator = np.random.default_rng((seed, 0))
    for _ in range(samples):
        yield generator.integers(0, images, images).tolist()


def swaps(images: int, samples: int, seed: int) -> Iterator[list[bool]]:
    """Which images change sides in each resample."""
    generator = np.random.default_rng((seed, 1))
    for _ in range(samples):
        yield generator.integers(0, 2, images, dtype=bool).tolist()


def bootstrap(rows: Sequence[Row], aggregate: Aggregate, *, samples: int, seed: int) -> list[float]:
    """The score of each resample, each from the repeated rows of its images."""
    return [
        aggregate(total([rows[image] for image in drawn])) for drawn in resamples(len(rows), samples, seed)
    ]


def quantile(values: Sequence[float], part: float) -> float:
    """Quantile, linear between the two nearest values."""
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def expanded_tail(tail: float, images: int) -> float:
    return float(norm.cdf(-sqrt(images / (images - 1)) * t.isf(tail, images - 1)))


def acceleration(rows: Sequence[Row], aggregate: Aggregate) -> float:
    """A sixth of the skewness of the images' influence."""
    without = [aggregate(total([*rows[:place], *rows[place + 1 :]])) for place in range(len(rows))]
    mean = sum(without) / len(without)
    squares = sum((mean - each) ** 2 for each in without)
    return sum((mean - each) ** 3 for each in without) / (6 * squares**1.5) if squares else 0.0


def interval(rows: Sequence[Row], aggregate: Aggregate, values: Sequence[float], level: float) -> list[float]:
    """The BCa interval (Efron and Tibshirani 1993, section 14.3), with expanded quantiles."""
    score = aggregate(total(rows))
    equal = sum(abs(value - score) <= 1e-12 * abs(score) for value in values)
    below = sum(value < score - 1e-12 * abs(score) for value in values) + equal / 2
    most = len(values) + 1
    bias = norm.ppf(min(max(below / len(values), 1 / most), 1 - 1 / most))
    skew = acceleration(rows, aggregate)
    tail = expanded_tail((1 - level) / 2, len(rows))
    ends = []
    for each in (tail, 1 - tail):
        part = each
        if 0 < each < 1:
            moved = bias + norm.ppf(each)
            part = norm.cdf(bias + moved / (1 - skew * moved))
        ends.append(quantile(values, float(part)))
    return ends


def bootstrap_p(
    a: Sequence[Row], b: Sequence[Row], aggregate: Aggregate, *, samples: int, seed: int
) -> float:
    first = bootstrap(a, aggregate, samples=samples, seed=seed)
    second = bootstrap(b, aggregate, samples=samples, seed=seed)
    differences = [x - y for x, y in zip(first, second, strict=True)]
    not_above = sum(difference <= 1e-12 for difference in differences)
    not_below = sum(difference >= -1e-12 for difference in differences)
    plain = min(1.0, 2 * (min(not_above, not_below) + 1) / (samples + 1))
    images = len(a)
    return (
        float(2 * t.sf(norm.isf(plain / 2) * sqrt((images - 1) / images), images - 1)) if plain < 1 else 1.0
    )


def randomization_p(
    a: Sequence[Row], b: Sequence[Row], aggregate: Aggregate, *, samples: int, seed: int
) -> float:
    """With few images, the share of all swaps; otherwise of those drawn, and the observed one."""
    observed = abs(aggregate(total(a)) - aggregate(total(b)))
    extreme = 0
    every = len(a) <= 16
    drawn = product([False, True], repeat=len(a)) if every else swaps(len(a), samples, seed)
    for swapped in drawn:
        first = [y if swap else x for x, y, swap in zip(a, b, swapped, strict=True)]
        second = [x if swap else y for x, y, swap in zip(a, b, swapped, strict=True)]
        extreme += abs(aggregate(total(first)) - aggregate(total(second))) >= observed - 1e-12
    return extreme / 2 ** len(a) if every else (extreme + 1) / (samples + 1)
