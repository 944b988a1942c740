"""Simulated levels of the tests and coverage of the intervals, on the human captions of COCO val2014.

::

    python -m tests.simulations.significance level --images 5 10 30 100 --trials 2000
    python -m tests.simulations.significance coverage --images 10 30 100 1000 --trials 2000

Two captions of each image are held out: the captions of two people. The population is all 40,504 images, and
each trial draws some of them without replacement. The document frequencies of CIDEr-D are counted in the
references of the whole population, also for the drawn images.

- Level: each image's two captions are given to the two systems by a coin toss, so that the systems do not
  differ. The level is the share of trials with a p-value of at most 0.05.
- Coverage: the share of 95 % intervals of a score that contain the score of the population. The systems are
  one person, and the same captions without their last third, or the results in a file (`--results`).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from capeval import Candidates, Evaluator, Report, load_candidates
from capeval.data.captions import ImageId
from capeval.data.held_out import hold_out
from capeval.data.scores import Scores
from capeval.datasets import coco
from capeval.errors import UnscoredWarning
from capeval.metrics import Metric
from capeval.metrics.registry import DEFAULT
from capeval.scoring.comparisons import Method
from capeval.scoring.significance import Resampler, compare

__all__ = [
    "Population",
    "SampledScores",
    "list_rows",
    "load_population",
    "measure_coverage",
    "measure_level",
    "print_table",
    "rows_not_in_page",
    "standard_error",
]

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "significance.md"
LEVEL = 0.05
METHODS: tuple[Method, ...] = ("randomization", "bootstrap")

Shares = dict[str, dict[str, float]]
"""The share of trials by column of the table (a test or a system) and score."""


@dataclass(frozen=True, kw_only=True)
class SampledScores:
    """The scores of one system on sampled images, for the public functions."""

    image_ids: tuple[ImageId, ...]
    scores: tuple[tuple[Metric, Scores], ...]
    unscored: Mapping[str, UnscoredWarning] = field(default_factory=dict)

    @cached_property
    def corpus(self) -> dict[str, float]:
        return {
            name: float(score)
            for metric, scores in self.scores
            for name, score in zip(metric.names, metric.aggregate(scores.statistics.sum(axis=0)), strict=True)
        }


@dataclass(frozen=True, kw_only=True)
class Population:
    """All images: the captions of two people, and a second system."""

    first: Report
    second: Report
    system: Report
    system_name: str


def load_population(metrics: Sequence[str] = DEFAULT, results: Path | None = None) -> Population:
    """Score two held-out captions of each image of val2014, and a second system.

    Args:
        metrics: The metrics.
        results: Results of the second system; by default, the shortened captions of the first person.
    """
    references, first = hold_out(coco.load_captions("val2014"), seed=1)
    references, second = hold_out(references, seed=2)
    evaluator = Evaluator(references, metrics)
    system = _shorten(first) if results is None else load_candidates(results)
    return Population(
        first=evaluator.evaluate(first),
        second=evaluator.evaluate(second),
        system=evaluator.evaluate(system),
        system_name="shortened" if results is None else results.name.partition(".")[0],
    )


def _shorten(candidates: Candidates) -> Candidates:
    """Remove the last third of the words of each caption."""
    shortened = {}
    for image, (caption,) in candidates.items():
        words = caption.split()
        shortened[image] = " ".join(words[: math.ceil(len(words) * 2 / 3)])
    return Candidates(shortened)


def measure_level(population: Population, images: int, trials: int, *, samples: int = 1000) -> Shares:
    """Return the share of trials in which each test finds a difference between equal systems."""
    generator = np.random.default_rng((images, 0))
    found: Shares = {method: dict.fromkeys(population.first.corpus, 0.0) for method in METHODS}
    for trial in range(trials):
        rows = _draw(generator, population, images)
        swapped = generator.integers(0, 2, images, dtype=bool)
        a = _sample(population.first, rows, population.second, swapped)
        b = _sample(population.second, rows, population.first, swapped)
        for method in METHODS:
            for name, each in compare(a, b, method=method, samples=samples, seed=trial).items():
                found[method][name] += (each.p_value <= LEVEL) / trials
    return found


def measure_coverage(population: Population, images: int, trials: int, *, samples: int = 1000) -> Shares:
    """Return the share of trials in which each interval contains the score of the population."""
    generator = np.random.default_rng((images, 1))
    systems = {"human": population.first, population.system_name: population.system}
    found: Shares = {system: dict.fromkeys(report.corpus, 0.0) for system, report in systems.items()}
    for trial in range(trials):
        rows = _draw(generator, population, images)
        resampler = Resampler(samples=samples, seed=trial)
        for system, report in systems.items():
            for name, each in resampler.resample(_sample(report, rows)).items():
                interval = each.interval(level=1 - LEVEL)
                found[system][name] += (interval.low <= report.corpus[name] <= interval.high) / trials
    return found


def standard_error(share: float, trials: int) -> float:
    """Return the standard error of a simulated share."""
    return math.sqrt(share * (1 - share) / trials)


def _draw(generator: np.random.Generator, population: Population, images: int) -> NDArray[np.int64]:
    return generator.choice(len(population.first.image_ids), images, replace=False)


def _sample(
    report: Report,
    rows: NDArray[np.int64],
    other: Report | None = None,
    swapped: NDArray[np.bool_] | None = None,
) -> SampledScores:
    """Return the scores of some images, those of swapped images from the other report."""
    ids = tuple(report.image_ids[row] for row in rows)
    sampled = []
    for place, (metric, scores) in enumerate(report.scores):
        statistics = scores.statistics[rows]
        if other is not None and swapped is not None:
            statistics[swapped] = other.scores[place][1].statistics[rows[swapped]]
        part = Scores(
            names=metric.names,
            image_ids=ids,
            corpus={},
            per_image={},
            statistics=statistics,
            signature=scores.signature,
        )
        sampled.append((metric, part))
    return SampledScores(image_ids=ids, scores=tuple(sampled))


def list_rows(measured: Mapping[int, Shares]) -> list[str]:
    """Return shares in percent as rows of a Markdown table, one per score."""
    first = next(iter(measured.values()))
    return [
        f"| {name} | "
        + " | ".join(f"{100 * found[column][name]:.1f}" for column in first for found in measured.values())
        + " |"
        for name in next(iter(first.values()))
    ]


def rows_not_in_page(rows: Iterable[str]) -> list[str]:
    """Return the rows that the page about confidence intervals and tests does not have."""
    page = PAGE.read_text(encoding="utf-8").splitlines()
    return [row for row in rows if row not in page]


def print_table(measured: Mapping[int, Shares]) -> None:
    """Print shares in percent as a Markdown table."""
    columns = [f"{column}, {images:,}" for column in next(iter(measured.values())) for images in measured]
    print("| Score | " + " | ".join(columns) + " |")
    print("| --- |" + " ---: |" * len(columns))
    print(*list_rows(measured), sep="\n", flush=True)


def main(arguments: Iterable[str] | None = None) -> None:
    """Run a simulation and print its table."""
    parser = argparse.ArgumentParser(description="Simulate the level of tests or the coverage of intervals.")
    parser.add_argument("quantity", choices=["level", "coverage"])
    parser.add_argument("--images", type=int, nargs="+", required=True, help="numbers of images")
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--results", type=Path, help="results of a second system for val2014")
    options = parser.parse_args(None if arguments is None else list(arguments))
    population = load_population(results=options.results)
    measure = measure_level if options.quantity == "level" else measure_coverage
    measured = {}
    for images in options.images:
        start = perf_counter()
        measured[images] = measure(population, images, options.trials)
        print(f"{images:,} images: {options.trials:,} trials in {perf_counter() - start:.0f} s", flush=True)
    print_table(measured)


if __name__ == "__main__":
    main()
