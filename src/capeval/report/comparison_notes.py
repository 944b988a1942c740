"""Footnotes of tables that compare systems: intervals, tests and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capeval.report.comparison_tables import DAGGER, Pairs
from capeval.report.tables import System
from capeval.scoring.comparisons import Comparison, describe_test
from capeval.scoring.grids import BOLD, Grid

__all__ = [
    "describe_differences",
    "describe_level",
    "describe_marks",
    "describe_systems",
    "describe_tests",
    "list_test_notes",
]


def describe_systems(grid: Grid, systems: Sequence[System], pairs: Pairs) -> list[str]:
    """Return the footnotes of a table with one row per system."""
    intervals = [interval.note for interval in systems[0].intervals.values()]
    return [*intervals[:1], *describe_marks(grid, systems[0].name, pairs), *describe_tests({"all": pairs})]


def describe_marks(grid: Grid, first: str, pairs: Pairs) -> list[str]:
    """Return the footnotes on daggers and bold scores of a table with one row per system."""
    level = describe_level(pairs)
    cells = [cell for row in grid.rows for cell in row]
    notes = []
    if any(cell.mark for cell in cells):
        notes.append(f"{DAGGER}: differs from {first} at {level}.")
    if any(cell.best for cell in cells):
        notes.append(f"{BOLD} better than all other systems at {level}.")
    return notes


def describe_differences(grid: Grid, compared: Mapping[str, Pairs], a: str = "A", b: str = "B") -> list[str]:
    """Return the footnotes of a table with one row per pair of systems and score."""
    pairs = next(iter(compared.values()))
    any_of_them = _get_any(pairs)
    percent = f"{100 * (1 - any_of_them.level):g}%"
    level = describe_level(pairs)
    before = ", before correction" if len(pairs) > 1 else ""
    cells = [cell for row in grid.rows for cell in row]
    intervals = f", with {100 * any_of_them.level:g}% bootstrap intervals over images"
    return [
        f"Difference: {a} - {b}{intervals if any(cell.low is not None for cell in cells) else ''}.",
        f"Detectable: only larger differences are significant at {percent} with these images{before}.",
        *describe_tests(compared),
        f"{BOLD} the better score, if the difference is significant at {level}."
        if any(cell.best for cell in cells)
        else f"No difference is significant at {level}.",
    ]


def describe_tests(compared: Mapping[str, Pairs]) -> list[str]:
    """Return the footnote on the test, or one per test if sets of images have different ones."""
    tests: dict[str, list[str]] = {}
    for images, pairs in compared.items():
        tests.setdefault(describe_test(_get_any(pairs)), []).append(images)
    if len(tests) == 1:
        return list(tests)
    return [f"{', '.join(names)}: {test}" for test, names in tests.items()]


def describe_level(pairs: Pairs) -> str:
    """Return the level of the tests, such as `5%`, and the correction for the number of pairs."""
    tests = len(pairs)
    corrected = f", corrected for {tests:,} pairs of systems (Holm)" if tests > 1 else ""
    return f"{100 * (1 - _get_any(pairs).level):g}%{corrected}"


def list_test_notes(compared: Mapping[str, Pairs]) -> list[str]:
    """Return the notes on excluded images and on too few images."""
    notes = (note for pairs in compared.values() for each in pairs.values() for note in each.notes)
    return list(dict.fromkeys(notes))


def _get_any(pairs: Pairs) -> Comparison:
    """Return a comparison; the test is the same for all of them."""
    return next(iter(next(iter(pairs.values())).values()))
