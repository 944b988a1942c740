"""The bootstrap and the swaps of two systems, one image at a time."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

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


def interval(values: Sequence[float], level: float) -> tuple[float, float]:
    """Quantiles, linear between the two nearest values."""
    ordered = sorted(values)

    def quantile(part: float) -> float:
        place = part * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (place - below) * (ordered[above] - ordered[below])

    return quantile((1 - level) / 2), quantile((1 + level) / 2)


def bootstrap_p(
    a: Sequence[Row], b: Sequence[Row], aggregate: Aggregate, *, samples: int, seed: int
) -> float:
    first = bootstrap(a, aggregate, samples=samples, seed=seed)
    second = bootstrap(b, aggregate, samples=samples, seed=seed)
    differences = [x - y for x, y in zip(first, second, strict=True)]
    not_above = sum(difference <= 1e-12 for difference in differences)
    not_below = sum(difference >= -1e-12 for difference in differences)
    return min(1.0, 2 * (min(not_above, not_below) + 1) / (samples + 1))


def randomization_p(
    a: Sequence[Row], b: Sequence[Row], aggregate: Aggregate, *, samples: int, seed: int
) -> float:
    observed = abs(aggregate(total(a)) - aggregate(total(b)))
    extreme = 0
    for swapped in swaps(len(a), samples, seed):
        first = [y if swap else x for x, y, swap in zip(a, b, swapped, strict=True)]
        second = [x if swap else y for x, y, swap in zip(a, b, swapped, strict=True)]
        extreme += abs(aggregate(total(first)) - aggregate(total(second))) >= observed - 1e-12
    return (extreme + 1) / (samples + 1)
