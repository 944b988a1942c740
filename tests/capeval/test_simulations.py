"""Levels of tests and coverage of intervals, simulated on COCO val2014.

The last test measures the tables of `docs/explanation/significance.md`.
"""

from __future__ import annotations

import pytest

from tests.shared_data import shared_data
from tests.simulations.significance import (
    Population,
    list_rows,
    load_population,
    measure_coverage,
    measure_level,
    print_table,
    rows_not_in_page,
    standard_error,
)

pytestmark = pytest.mark.conformance

LEVEL = 0.05
SCORES = ("BLEU-4", "ROUGE-L", "CIDEr-D")
TRIALS = 300
# The bootstrap does not keep its level with few images: the page shows 8.2 % for BLEU-4 with 10 images.
LEVELS = {"randomization": LEVEL, "bootstrap": 0.082}


@pytest.fixture(scope="module")
def population() -> Population:
    return load_population(["BLEU", "ROUGE-L", "CIDEr-D"])


@pytest.mark.parametrize("images", [5, 10, 30])
def test_equal_systems_are_rarely_found_to_differ(population: Population, images: int) -> None:
    found = measure_level(population, images, TRIALS)
    for method, level in LEVELS.items():
        shares = {score: found[method][score] for score in SCORES}
        assert max(shares.values()) <= level + 2 * standard_error(level, TRIALS), (method, shares)


@pytest.mark.parametrize("images", [30, 100])
def test_intervals_contain_the_score_of_the_population(population: Population, images: int) -> None:
    found = measure_coverage(population, images, TRIALS)
    shares = {(system, score): each[score] for system, each in found.items() for score in SCORES}
    error = standard_error(1 - LEVEL, TRIALS)
    assert 0.93 - 2 * error <= min(shares.values()) <= max(shares.values()) <= 0.97 + 2 * error, shares


def test_the_tables_of_the_page() -> None:
    trials = 2000
    population = load_population(results=shared_data("systems_val2014") / "Mun-et-al-2017.json.gz")
    levels = {images: measure_level(population, images, trials) for images in (5, 10, 30, 100)}
    print_table(levels)
    coverage = {images: measure_coverage(population, images, trials) for images in (10, 30, 100, 1000)}
    print_table(coverage)
    for found in levels.values():
        shares = found["randomization"]
        assert max(shares.values()) <= LEVEL + 2 * standard_error(LEVEL, trials), shares
    for images, systems in coverage.items():
        for system, shares in systems.items():
            assert images < 30 or 0.93 <= min(shares.values()) <= max(shares.values()) <= 0.97, (
                system,
                shares,
            )
    assert rows_not_in_page(list_rows(levels) + list_rows(coverage)) == []
