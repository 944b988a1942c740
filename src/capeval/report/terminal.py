"""Tables for the terminal.

They are not drawn with Rich, because importing it takes 40 ms.
"""

from __future__ import annotations

from collections.abc import Sequence

from capeval.report.exporters import escape_controls, find_number_columns, format_cell
from capeval.report.tables import Cell, Grid

__all__ = ["format_table"]

_BOLD, _ITALIC, _PLAIN = "\x1b[1m", "\x1b[3m", "\x1b[0m"


# Tables with more rows are never transposed.
_MOST_ROWS = 6


def format_table(
    grid: Grid, title: str | None = None, *, styled: bool = False, width: int | None = None
) -> str:
    """Format a table with right-aligned numbers.

    Args:
        grid: The table.
        title: A line above the table.
        styled: Whether the header and the best of each column are bold, and the title italic.
        width: The width of the terminal. A wider table of a few rows is transposed if that is narrower.
    """
    if width is not None and len(grid.rows) <= _MOST_ROWS and _measure_table(grid) > width:
        transposed = _transpose(grid)
        grid = min(grid, transposed, key=_measure_table)
    right = find_number_columns(grid)
    header = [escape_controls(name) for name in grid.columns]
    texts = [[format_cell(cell) for cell in row] for row in grid.rows]
    widths = [max(map(_measure_width, column)) for column in zip(header, *texts, strict=True)]
    lines = [
        _format_line(header, widths, right, [styled] * len(header)),
        "─" * (sum(widths) + 3 * len(widths) - 3),
    ]
    for row, cells in zip(grid.rows, texts, strict=True):
        lines.append(_format_line(cells, widths, right, [styled and cell.best for cell in row]))
    if title is not None:
        lines.insert(0, f"{_ITALIC}{title}{_PLAIN}" if styled else title)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _transpose(grid: Grid) -> Grid:
    """Return the table with one row per column, and one column per row."""
    first, *names = grid.columns
    columns = (first, *(format_cell(row[0]) for row in grid.rows))
    rows = (
        (Cell(value=name), *(row[place] for row in grid.rows)) for place, name in enumerate(names, start=1)
    )
    return Grid(columns=columns, rows=tuple(rows), notes=grid.notes)


def _measure_table(grid: Grid) -> int:
    columns = zip(grid.columns, *([format_cell(cell) for cell in row] for row in grid.rows), strict=True)
    widths = [max(map(_measure_width, column)) for column in columns]
    return sum(widths) + 3 * len(widths) - 3


def _format_line(texts: Sequence[str], widths: Sequence[int], right: set[int], bold: Sequence[bool]) -> str:
    cells = []
    for column, (text, width) in enumerate(zip(texts, widths, strict=True)):
        space = " " * (width - _measure_width(text))
        written = f"{_BOLD}{text}{_PLAIN}" if bold[column] and text else text
        cells.append(space + written if column in right else written + space)
    return "   ".join(cells)


def _measure_width(text: str) -> int:
    """Return the width in columns: 2 for a Chinese character, 0 for an accent."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
