"""Contents of tables, independent of the output format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from capeval.data.captions import ImageId
from capeval.data.scores import TIMES_100

if TYPE_CHECKING:
    from capeval.scoring.bootstrap import Interval

__all__ = ["BOLD", "Cell", "Grid", "create_score_cell", "remove_intervals", "replace_bold", "scale_table"]

BOLD = "Bold:"
"""The start of the footnote on bold scores."""

_SCALED = "Scores are times 100."


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of a table.

    Attributes:
        value: Text, an image id, or a number; `None` for an empty cell.
        low: The lower end of the number's interval, if it has one.
        high: The upper end of the interval.
        best: Whether the number is the best in its column.
        digits: The number of displayed decimals.
        text: The displayed text instead of the number, such as `<0.001`; empty to display the number.
        mark: Text after the number, such as a dagger.
    """

    value: ImageId | float | None
    low: float | None = None
    high: float | None = None
    best: bool = False
    digits: int = 3
    text: str = ""
    mark: str = ""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table.

    Attributes:
        columns: The names of the columns.
        rows: The cells of each row.
        notes: Footnotes, which are shown below the table.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


def create_score_cell(value: float, interval: Interval | None, *, best: bool = False, mark: str = "") -> Cell:
    """Return the cell of a score with the interval that is known for it."""
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return Cell(value=value, low=low, high=high, best=best, mark=mark)


def scale_table(grid: Grid) -> Grid:
    """Return a table with scores times 100, as papers often print them, with two decimals less.

    p-values, counts and ids are unchanged.

    Args:
        grid: A table of scores or of comparisons.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.report import System, create_score_table, scale_table
        >>> report = evaluate({1: ["A big red bus."]}, {1: "A red bus."}, ["ROUGE-1"])
        >>> grid = scale_table(create_score_table([System(name="Ours", report=report)]))
        >>> [cell.value for cell in grid.rows[0]], grid.rows[0][1].digits
        (['Ours', 75.0], 1)
    """
    rows = tuple(
        tuple(
            cell if name.startswith("p-value") else _scale_cell(cell)
            for name, cell in zip(grid.columns, row, strict=True)
        )
        for row in grid.rows
    )
    notes = tuple(note.replace(TIMES_100, _SCALED) for note in grid.notes)
    if notes == grid.notes:
        notes = (*notes, _SCALED)
    return replace(grid, rows=rows, notes=notes)


def remove_intervals(grid: Grid) -> Grid:
    """Return a table without intervals, which is narrower."""
    rows = tuple(tuple(replace(cell, low=None, high=None) for cell in row) for row in grid.rows)
    return replace(grid, rows=rows)


def replace_bold(grid: Grid) -> Grid:
    """Return a table for plain text: asterisks instead of bold scores, if a footnote explains these."""
    if not any(note.startswith(BOLD) for note in grid.notes):
        return grid
    rows = tuple(
        tuple(replace(cell, mark=f"{cell.mark}*") if cell.best else cell for cell in row) for row in grid.rows
    )
    notes = tuple(f"*:{note.removeprefix(BOLD)}" if note.startswith(BOLD) else note for note in grid.notes)
    return replace(grid, rows=rows, notes=notes)


def _scale_cell(cell: Cell) -> Cell:
    if not isinstance(cell.value, float):
        return cell
    low, high = (None if end is None else 100 * end for end in (cell.low, cell.high))
    return replace(cell, value=100 * cell.value, low=low, high=high, digits=cell.digits - 2)
