"""Coverage of the intervals of human judgments, simulated.

The last test measures the tables of `docs/explanation/significance.md`.
"""

from __future__ import annotations

import pytest

from tests.simulations.judgments import list_rows, measure_coverage, print_table
from tests.simulations.significance import rows_not_in_page, standard_error

pytestmark = pytest.mark.conformance

# A share of few images has few possible values, so no interval contains the truth in exactly 95 % of samples.
MOST = {30: 0.98}
# The page shows that 30 images with few yes are too few for the interval of alpha.
RARE = "Alpha, nominal, 1 of 10 yes"


def check(found: dict[str, float], images: int, trials: int) -> None:
    error = standard_error(0.95, trials)
    shares = {name: share for name, share in found.items() if name != RARE}
    assert 0.93 - 2 * error <= min(shares.values()), shares
    assert max(shares.values()) <= MOST.get(images, 0.97) + 2 * error, shares


@pytest.mark.parametrize("images", [30, 100])
def test_intervals_contain_the_true_share(images: int) -> None:
    check(measure_coverage("shares", images, 300), images, 300)


def test_intervals_contain_the_true_rating_strength_and_alpha() -> None:
    check(measure_coverage("ratings", 30, 100), 30, 100)


@pytest.mark.parametrize(
    ("quantity", "sizes", "trials"), [("shares", (10, 30, 100, 1000), 2000), ("ratings", (10, 30, 100), 300)]
)
def test_the_tables_of_the_page(quantity: str, sizes: tuple[int, ...], trials: int) -> None:
    measured = {images: measure_coverage(quantity, images, trials) for images in sizes}
    print_table(measured)
    for images, found in measured.items():
        if images >= 30:
            check(found, images, trials)
    assert rows_not_in_page(list_rows(measured)) == []
