"""Simulated coverage of the intervals of correlations, and levels of the tests between two metrics.

::

    python -m tests.simulations.correlation systems --systems 5 10 17 30 --trials 2000
    python -m tests.simulations.correlation level --systems 5 10 17 30 --trials 2000
    python -m tests.simulations.correlation images --images 10 30 100 --trials 500

- Systems: the qualities of systems and their scores are drawn from a bivariate normal population. Each system
  has captions of 100 images, with ratings and scores that vary around the system's quality and score. The
  coverage is the share of 95 % intervals that contain the coefficient of the population of systems.
- Level: two metrics have the same correlation with the quality. The level is the share of trials with a
  p-value of at most 0.05.
- Images: the population is Flickr8K-Expert, 1,000 images with 5,664 rated captions. Each trial draws some of
  the images.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter

import numpy as np

from capeval.data.scores import FloatArray
from capeval.datasets.flickr8k import load_flickr8k_expert
from capeval.formats.judgments.ratings import Ratings
from capeval.metrics.rouge import RougeL, RougeN
from capeval.studies.correlation import CorrelationOptions, RatedScores, correlate, score_ratings
from capeval.studies.correlation.options import Units
from tests.shared_data import shared_data

__all__ = [
    "list_rows",
    "load_flickr8k",
    "measure_image_coverage",
    "measure_level",
    "measure_system_coverage",
    "print_table",
]

LEVEL = 0.05
IMAGES = 100
# The standard deviation of an image's rating and score around those of the system.
NOISE = 2.0
COEFFICIENTS = ("tau-b", "Spearman", "Pearson")
# Two metrics that return the mean of the first statistic.
METRICS = (RougeL(), RougeN(n=1))

Shares = dict[str, dict[str, float]]
"""The share of trials by column of the table and coefficient."""


def measure_system_coverage(systems: int, trials: int, *, samples: int = 100) -> Shares:
    """Return the coverage of the intervals over systems and over images, by units and population.

    Intervals over images are slower, and are measured in a tenth of the trials.
    """
    generator = np.random.default_rng((systems, 0))
    found: Shares = {}
    for r in (0.5, 0.9):
        truth = _compute_population(r)
        each: Units
        # Intervals over systems don't depend on resamples.
        for each, count, drawn in (("systems", trials, 1), ("images", trials // 10, samples)):
            shares = found.setdefault(f"Over {each}, r = {r}", dict.fromkeys(COEFFICIENTS, 0.0))
            for trial in range(count):
                options = CorrelationOptions(system_intervals=each, samples=drawn, seed=trial)
                rated = _draw_systems(generator, systems, r)
                values = correlate(rated, options, level="system").values[METRICS[0].names[0]]
                for name in COEFFICIENTS:
                    shares[name] += (values[name].low <= truth[name] <= values[name].high) / count
    return found


def measure_level(systems: int, trials: int, *, samples: int = 200) -> Shares:
    """Return the share of trials in which the test finds a difference between equally good metrics."""
    generator = np.random.default_rng((systems, 1))
    found: Shares = {}
    for r in (0.5, 0.9):
        shares = found.setdefault(f"r = {r}", dict.fromkeys(COEFFICIENTS, 0.0))
        for trial in range(trials):
            rated = _draw_systems(generator, systems, r)
            options = CorrelationOptions(samples=samples, seed=trial)
            first, second = (metric.names[0] for metric in METRICS)
            compared = correlate(rated, options, level="system").compare(first, second)
            for name in COEFFICIENTS:
                shares[name] += (compared[name].p_value <= LEVEL) / trials
    return found


def _compute_population(r: float) -> dict[str, float]:
    """Return the coefficients of the population of systems, with the noise of the images."""
    r /= 1 + NOISE**2 / IMAGES
    return {
        "tau-b": 2 / math.pi * math.asin(r),
        "Spearman": 6 / math.pi * math.asin(r / 2),
        "Pearson": r,
    }


def _draw_systems(generator: np.random.Generator, systems: int, r: float) -> RatedScores:
    """Draw systems with two metrics that correlate equally with the quality."""
    quality, shared, *own = generator.standard_normal((4, systems))
    # Half of the variance that the quality does not explain is common to both metrics.
    scores = [r * quality + math.sqrt((1 - r**2) / 2) * (shared + each) for each in own]
    names = [f"system {place}" for place in range(systems)]

    def vary(means: FloatArray) -> FloatArray:
        return (means[:, None] + NOISE * generator.standard_normal((systems, IMAGES))).ravel()

    ratings = Ratings(
        image_ids=tuple(image for _ in names for image in range(IMAGES)),
        captions=("a caption",) * (systems * IMAGES),
        values=vary(quality)[:, None],
        systems=tuple(name for name in names for _ in range(IMAGES)),
    )
    statistics = tuple(np.stack([vary(each), np.ones(systems * IMAGES)], axis=1) for each in scores)
    return RatedScores(ratings=ratings, metrics=METRICS, statistics=statistics)


def load_flickr8k() -> RatedScores:
    """Score the captions of Flickr8K-Expert."""
    folder = shared_data("flickr8k")
    references, ratings = load_flickr8k_expert(
        folder / "ExpertAnnotations.txt.gz", folder / "Flickr8k.token.txt.gz"
    )
    return score_ratings(references, ratings, ["ROUGE-L", "CIDEr-D"])


def measure_image_coverage(
    population: RatedScores, images: int, trials: int, *, samples: int = 200
) -> Shares:
    """Return the coverage of the intervals at segment level, by score."""
    generator = np.random.default_rng((images, 2))
    truth = correlate(population, CorrelationOptions(samples=1)).values
    found: Shares = {score: dict.fromkeys(COEFFICIENTS, 0.0) for score in truth}
    ids = np.array(population.ratings.image_ids)
    names = np.unique(ids)
    for trial in range(trials):
        rows = np.flatnonzero(np.isin(ids, generator.choice(names, images, replace=False)))
        ratings = Ratings(
            image_ids=tuple(ids[rows].tolist()),
            captions=tuple(population.ratings.captions[row] for row in rows),
            values=population.ratings.values[rows],
        )
        statistics = tuple(each[rows] for each in population.statistics)
        sample = RatedScores(ratings=ratings, metrics=population.metrics, statistics=statistics)
        drawn = correlate(sample, CorrelationOptions(samples=samples, seed=trial)).values
        for score, shares in found.items():
            for name in COEFFICIENTS:
                interval = drawn[score][name]
                shares[name] += (interval.low <= truth[score][name].score <= interval.high) / trials
    return found


def list_rows(measured: Mapping[int, Shares]) -> list[str]:
    """Return shares in percent as rows of a Markdown table, one per column and coefficient."""
    rows = []
    for column in next(iter(measured.values())):
        for name in COEFFICIENTS:
            shares = (f"{100 * found[column][name]:.1f}" for found in measured.values())
            rows.append(f"| {column} | {name} | " + " | ".join(shares) + " |")
    return rows


def print_table(measured: Mapping[int, Shares]) -> None:
    """Print shares in percent as a Markdown table."""
    print("| | Coefficient | " + " | ".join(f"{size:,}" for size in measured) + " |")
    print("| --- | --- |" + " ---: |" * len(measured))
    print(*list_rows(measured), sep="\n", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a simulation and print its table."""
    parser = argparse.ArgumentParser(description="Simulate intervals and tests of correlations.")
    parser.add_argument("quantity", choices=["systems", "level", "images"])
    parser.add_argument("--systems", type=int, nargs="+", default=[5, 10, 17, 30])
    parser.add_argument("--images", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--trials", type=int, default=2000)
    options = parser.parse_args(arguments)
    sizes: Iterable[int] = options.images if options.quantity == "images" else options.systems
    population = load_flickr8k() if options.quantity == "images" else None
    measured = {}
    for size in sizes:
        start = perf_counter()
        if population is not None:
            measured[size] = measure_image_coverage(population, size, options.trials)
        else:
            measure = measure_level if options.quantity == "level" else measure_system_coverage
            measured[size] = measure(size, options.trials)
        print(f"{size:,}: {options.trials:,} trials in {perf_counter() - start:.0f} s", flush=True)
    print_table(measured)


if __name__ == "__main__":
    main()
