"""The contents of tables, without their format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from typing import TYPE_CHECKING

from capeval.data.captions import ImageId
from capeval.errors import MismatchError
from capeval.scoring.report import Report

if TYPE_CHECKING:
    from capeval.scoring.significance import Comparison, Interval

__all__ = ["Cell", "Grid", "System", "comparison", "per_image", "scores"]


@dataclass(frozen=True, kw_only=True, eq=False)
class System:
    """A captioning system and its scores.

    Attributes:
        name: Its name.
        report: Its scores.
        intervals: The interval of each corpus score, where they were asked for.
    """

    name: str
    report: Report
    intervals: Mapping[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One place in a table.

    Attributes:
        value: Text, an image id, or a number; `None` where there is none.
        low: The lower end of the number's interval, if it has one.
        high: The upper end.
        best: Whether it is the best of its column.
        digits: The number's decimals, for people.
    """

    value: ImageId | float | None
    low: float | None = None
    high: float | None = None
    best: bool = False
    digits: int = 3


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table.

    Attributes:
        columns: The names of the columns.
        rows: The cells of each row.
        notes: Lines for people, which are shown below the table.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


def scores(
    systems: Sequence[System],
    published: Mapping[str, Mapping[str, float]] | None = None,
    *,
    source: str = "",
) -> Grid:
    """The corpus scores: a row for each system, then for each subset a row for each system.

    Args:
        systems: The systems, all scored with the same metrics and subsets.
        published: Rows to show beside them: names to scores, which need not be of every metric.
        source: What to call the references in the notes, such as the name of their file.

    Raises:
        MismatchError: The systems have different metrics or subsets.
    """
    names = _names(systems)
    subsets = tuple(systems[0].report.subsets)
    if any(tuple(system.report.subsets) != subsets for system in systems):
        raise MismatchError("systems in one table must have the same subsets")
    lower = systems[0].report.lower_is_better
    whole = [(system.name, system.report.corpus, system.intervals) for system in systems]
    rows = _ranked(names, lower, whole)
    for name, values in (published or {}).items():
        rows.append((Cell(value=name), *(Cell(value=values.get(metric)) for metric in names)))
    notes = (*systems[0].report.notes(source, unscored=False), *_of_intervals(systems), *_unscored(systems))
    if not subsets:
        return Grid(columns=("System", *names), rows=tuple(rows), notes=notes)
    rows = [(row[0], Cell(value="all"), *row[1:]) for row in rows]
    for subset in subsets:
        part = _ranked(names, lower, [(each.name, each.report.subsets[subset], {}) for each in systems])
        rows += [(row[0], Cell(value=subset), *row[1:]) for row in part]
    return Grid(columns=("System", "Images", *names), rows=tuple(rows), notes=notes)


def _of_intervals(systems: Sequence[System]) -> Iterator[str]:
    """What the brackets of a table are, where it has some."""
    for interval in (each for system in systems for each in system.intervals.values()):
        yield (
            f"In brackets: {100 * interval.level:g}% bootstrap intervals over images"
            f" ({interval.samples:,} samples, seed {interval.seed})."
        )
        return


def _unscored(systems: Sequence[System]) -> Iterator[str]:
    """Return the notes on images that a metric could not score, of each system."""
    for system in systems:
        named = f"{system.name}: " if len(systems) > 1 else ""
        yield from (f"{named}{note}" for note in system.report.unscored_notes())


def per_image(systems: Sequence[System]) -> Grid:
    """The scores of each image: a row for each system and image.

    Raises:
        MismatchError: The systems have different metrics.
    """
    names = _names(systems)
    rows = []
    for system in systems:
        columns = [system.report.per_image[name].tolist() for name in names]
        for image, *values in zip(system.report.image_ids, *columns, strict=True):
            rows.append(tuple(Cell(value=value) for value in (system.name, image, *values)))
    notes = tuple(_unscored(systems))
    return Grid(columns=("System", "image_id", *names), rows=tuple(rows), notes=notes)


def comparison(comparisons: Mapping[str, Comparison], a: str, b: str, *, notes: Sequence[str] = ()) -> Grid:
    """Two systems beside each other: a row for each score.

    Args:
        comparisons: The comparison of each score, by its name.
        a: The name of the first system.
        b: The name of the second.
        notes: What to say below the table, such as the `notes` of a report.
    """
    rows = tuple(
        (
            Cell(value=name),
            Cell(value=each.a, best=each.better == "a"),
            Cell(value=each.b, best=each.better == "b"),
            Cell(value=each.difference, low=each.low, high=each.high, digits=4),
            Cell(value=each.p_value, digits=4),
        )
        for name, each in comparisons.items()
    )
    return Grid(columns=("Metric", a, b, "Difference", "p-value"), rows=rows, notes=tuple(notes))


def _names(systems: Sequence[System]) -> tuple[str, ...]:
    if not systems:
        raise MismatchError("a table must have at least one system (got none)")
    names = tuple(systems[0].report.corpus)
    if any(tuple(system.report.corpus) != names for system in systems):
        raise MismatchError("systems in one table must have the same metrics")
    return names


def _ranked(
    names: Sequence[str],
    lower: Collection[str],
    systems: Sequence[tuple[str, Mapping[str, float], Mapping[str, Interval]]],
) -> list[tuple[Cell, ...]]:
    """A row for each system, with the best of every column marked where there are several."""
    best = {}
    for name in names:
        known = [score for _, values, _ in systems if not isnan(score := values[name])]
        # NaN, which equals nothing, if no system has the score.
        best[name] = (min if name in lower else max)(known, default=nan)
    rows = []
    for label, values, intervals in systems:
        cells = [Cell(value=label)]
        for name in names:
            interval = intervals.get(name)
            cells.append(
                Cell(
                    value=values[name],
                    low=interval.low if interval else None,
                    high=interval.high if interval else None,
                    best=len(systems) > 1 and values[name] == best[name],
                )
            )
        rows.append(tuple(cells))
    return rows
