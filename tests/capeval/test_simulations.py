"""Levels of tests and coverage of intervals, simulated on COCO val2014.

The conformance test prints the tables of `docs/explanation/significance.md`.
"""

from __future__ import annotations

import math

import pytest

from tests.simulations.significance import (
    METHODS,
    Population,
    load_population,
    measure_coverage,
    measure_level,
)

LEVEL = 0.05
SCORES = ("BLEU-4", "ROUGE-L", "CIDEr-D")
TRIALS = 300
# The standard error of a share of 5 % of these trials.
ERROR = math.sqrt(LEVEL * (1 - LEVEL) / TRIALS)


@pytest.fixture(scope="module")
def population() -> Population:
    return load_population(["BLEU", "ROUGE-L", "CIDEr-D"])


@pytest.mark.parametrize("images", [5, 10, 30])
def test_equal_systems_differ_in_at_most_five_percent(population: Population, images: int) -> None:
    found = measure_level(population, images, TRIALS)
    shares = {(method, score): found[method][score] for method in METHODS for score in SCORES}
    assert max(shares.values()) <= LEVEL + 2 * ERROR, shares


@pytest.mark.parametrize("images", [30, 100])
def test_intervals_contain_the_score_of_the_population(population: Population, images: int) -> None:
    found = measure_coverage(population, images, TRIALS)
    shares = {(system, score): each[score] for system, each in found.items() for score in SCORES}
    assert min(shares.values()) >= 0.93 - 2 * ERROR, shares
    assert max(shares.values()) <= 0.97 + 2 * ERROR, shares
