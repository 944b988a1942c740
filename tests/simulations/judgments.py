"""Simulated coverage of the 95 % intervals of human judgments, and of Krippendorff's alpha.

::

    python -m tests.simulations.judgments shares --images 10 30 100 1000 --trials 2000

Each trial draws images with their answers from a known distribution. The coverage is the share of intervals
that contain the value of the distribution.

- Shares: one answer per image, or two answers, which can be tied. The probability of yes varies by image.
- Wins: one to five pairs per image. The probability of a win varies by image.
- Ratings: three answers from 1 to 5 per image, with a mean in the middle or close to 5.
- Strengths: four systems, all six pairs of each image. The strengths vary by image, or pairs can be tied.
- Alpha: three answers per image, on each scale, and answers of which one in ten is yes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from time import perf_counter

import numpy as np

from capeval.data.scores import FloatArray
from capeval.formats.judgments.plans import Pair
from capeval.formats.judgments.ratings import Ratings
from capeval.scoring.intervals import compute_share_interval
from capeval.scoring.significance import Interval
from capeval.studies.judging import JudgingOptions, judge
from capeval.studies.judging.bradley_terry import fit_bradley_terry
from capeval.studies.judging.wins import judge_wins
from capeval.studies.shared.agreement import Scale, krippendorff_alpha, measure_alpha
from capeval.studies.votes import count_pair_votes

__all__ = ["QUANTITIES", "list_rows", "measure_coverage", "print_table"]

SHARES = (0.02, 0.1, 0.5, 0.9)
# The intervals of strengths are computed without resamples.
FEW = JudgingOptions(samples=1)
STRENGTHS = np.array([1.5, 0.5, -0.5, -1.5])
# The number of answers or draws that define the values of a distribution.
POPULATION = 200_000

Trial = Callable[[int, np.random.Generator], bool | float]
"""Simulate one trial, and return whether the interval contains the value, or the share of such intervals."""


def _contains(interval: Interval, value: float) -> bool:
    return interval.low <= value <= interval.high


def _simulate_share(share: float, answers: int) -> Trial:
    def simulate(images: int, generator: np.random.Generator) -> bool:
        yes = generator.beta(share, 1 - share, images)
        agreeing = (generator.random((images, answers)) < yes[:, None]).sum(axis=1)
        values = (1 + np.sign(2 * agreeing - answers)) / 2
        low, high = compute_share_interval(values, np.ones(images), 0.95)
        return low <= share <= high

    return simulate


def _simulate_wins(share: float) -> Trial:
    def simulate(images: int, generator: np.random.Generator) -> bool:
        pairs = generator.integers(1, 6, images)
        won = generator.binomial(pairs, generator.beta(2 * share, 2 * (1 - share), images))
        low, high = compute_share_interval(won.astype(np.float64), pairs.astype(np.float64), 0.95)
        return low <= share <= high

    return simulate


def _pair(image: int, first: str, second: str) -> Pair:
    return Pair(image=image, first="a dog", second="the dog", first_by=first, second_by=second)


def _simulate_rating(mean: float) -> Trial:
    def draw(images: int, generator: np.random.Generator) -> FloatArray:
        latent = generator.normal(mean, 1, (images, 1)) + generator.normal(0, 0.7, (images, 3))
        return np.clip(np.round(latent), 1, 5)

    value = float(draw(POPULATION, np.random.default_rng(0)).mean())

    def simulate(images: int, generator: np.random.Generator) -> bool:
        ratings = Ratings(
            image_ids=tuple(range(images)),
            captions=("a dog",) * images,
            values=draw(images, generator),
            systems=("a",) * images,
        )
        return _contains(judge(ratings, "M3").rows["a"].interval, value)

    return simulate


def _simulate_strengths(spread: float, *, ties: bool) -> Trial:
    systems = len(STRENGTHS)
    games = list(combinations(range(systems), 2))
    first, second = np.array(games).T

    def draw(images: int, generator: np.random.Generator) -> FloatArray:
        """Return the points of the first system of each pair: images by pairs."""
        strengths = STRENGTHS + generator.normal(0, spread, (images, systems))
        wins = 1 / (1 + np.exp(strengths[:, second] - strengths[:, first]))
        people = 2 if ties else 1
        return generator.binomial(people, wins).astype(np.float64) / people

    points = draw(POPULATION, np.random.default_rng(0)).mean(axis=0)
    table = np.zeros((systems, systems))
    table[first, second], table[second, first] = points, 1 - points
    values = fit_bradley_terry(table)

    def simulate(images: int, generator: np.random.Generator) -> float:
        votes = [[int(2 * point - 1)] for point in draw(images, generator).ravel().tolist()]
        pairs = [_pair(image, f"{one}", f"{other}") for image in range(images) for one, other in games]
        _, found = judge_wins(count_pair_votes(pairs, votes), FEW)
        return float(
            np.mean([_contains(found.rows[f"{place}"].interval, value) for place, value in enumerate(values)])
        )

    return simulate


def _simulate_alpha(scale: Scale, yes: float | None = None) -> Trial:
    def draw(images: int, generator: np.random.Generator) -> FloatArray:
        if yes is not None:
            shares = generator.beta(yes / 2, (1 - yes) / 2, images)
            return (generator.random((images, 3)) < shares[:, None]).astype(np.float64)
        latent = generator.normal(0, 1, (images, 1)) + generator.normal(0, 0.7, (images, 3))
        steps = [-0.5, 0.5] if scale == "ordinal" else [-2, -1, 0, 1]
        return np.digitize(latent, steps).astype(np.float64)

    value = krippendorff_alpha(draw(POPULATION, np.random.default_rng(0)), scale=scale)

    def simulate(images: int, generator: np.random.Generator) -> bool | float:
        found = measure_alpha(draw(images, generator), scale=scale)
        # Alpha is undefined if all answers are equal.
        return np.nan if found is None else _contains(found.interval, value)

    return simulate


QUANTITIES: Mapping[str, Mapping[str, Callable[[], Trial]]] = {
    "shares": {
        f"{name}, {share:g}": lambda share=share, make=make: make(share)  # type: ignore[misc]
        for name, make in (
            ("Share", lambda share: _simulate_share(share, 1)),
            ("Share with ties", lambda share: _simulate_share(share, 2)),
            ("Wins", _simulate_wins),
        )
        for share in SHARES
    },
    "ratings": {
        "Mean rating in the middle": lambda: _simulate_rating(3.0),
        "Mean rating close to 5": lambda: _simulate_rating(5.0),
        "Strength": lambda: _simulate_strengths(0, ties=False),
        "Strength that varies by image": lambda: _simulate_strengths(1, ties=False),
        "Strength with ties": lambda: _simulate_strengths(0, ties=True),
        "Alpha, nominal": lambda: _simulate_alpha("nominal", 0.5),
        "Alpha, nominal, 1 of 10 yes": lambda: _simulate_alpha("nominal", 0.1),
        "Alpha, ordinal": lambda: _simulate_alpha("ordinal"),
        "Alpha, interval": lambda: _simulate_alpha("interval"),
    },
}
"""Functions that prepare the trials of each row of a table."""


def measure_coverage(quantity: str, images: int, trials: int) -> dict[str, float]:
    """Return the share of intervals that contain the value of the distribution, by row."""
    found = {}
    for name, make in QUANTITIES[quantity].items():
        simulate, generator = make(), np.random.default_rng((images, len(name)))
        found[name] = float(np.nanmean([float(simulate(images, generator)) for _ in range(trials)]))
    return found


def list_rows(measured: Mapping[int, Mapping[str, float]]) -> list[str]:
    """Return the coverage in percent as rows of a Markdown table, one per value."""
    return [
        f"| {name} | " + " | ".join(f"{100 * found[name]:.1f}" for found in measured.values()) + " |"
        for name in next(iter(measured.values()))
    ]


def print_table(measured: Mapping[int, Mapping[str, float]]) -> None:
    """Print the coverage in percent as a Markdown table."""
    print("| Value | " + " | ".join(f"{images:,}" for images in measured) + " |")
    print("| --- |" + " ---: |" * len(measured))
    print(*list_rows(measured), sep="\n", flush=True)


def main(arguments: Iterable[str] | None = None) -> None:
    """Run a simulation and print its table."""
    parser = argparse.ArgumentParser(description="Simulate the coverage of the intervals of human judgments.")
    parser.add_argument("quantity", choices=list(QUANTITIES))
    parser.add_argument("--images", type=int, nargs="+", required=True, help="numbers of images")
    parser.add_argument("--trials", type=int, default=2000)
    options = parser.parse_args(None if arguments is None else list(arguments))
    measured = {}
    for images in options.images:
        start = perf_counter()
        measured[images] = measure_coverage(options.quantity, images, options.trials)
        print(f"{images:,} images: {options.trials:,} trials in {perf_counter() - start:.0f} s", flush=True)
    print_table(measured)


if __name__ == "__main__":
    main()
