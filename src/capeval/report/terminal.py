"""Tables for the terminal.

They are not drawn with Rich, because importing it takes 40 ms.
"""

from __future__ import annotations

from collections.abc import Sequence

from capeval.scoring.grid_formats import escape_controls, find_number_columns, format_cell
from capeval.scoring.grids import Cell, Grid

__all__ = ["format_table"]

_BOLD, _ITALIC, _PLAIN = "\x1b[1m", "\x1b[3m", "\x1b[0m"


# Spaces between columns.
_GAP = 3
# Tables with more rows are never transposed.
_MOST_ROWS = 6
# Tables with more rows are never divided, since the parts of a row would be far from each other.
_MOST_DIVIDED_ROWS = 40


def format_table(
    grid: Grid, title: str | None = None, *, styled: bool = False, width: int | None = None
) -> str:
    """Format a table with right-aligned numbers.

    Args:
        grid: The table.
        title: A line above the table.
        styled: Whether the header and the best of each column are bold, and the title italic.
        width: The width of the terminal. A wider table of a few rows is transposed if that is narrower. If it
            is still wider, it is divided into tables with some of the columns each.
    """
    if width is not None and len(grid.rows) <= _MOST_ROWS and _measure_table(grid) > width:
        transposed = _transpose(grid)
        grid = min(grid, transposed, key=_measure_table)
    parts = [grid] if width is None or len(grid.rows) > _MOST_DIVIDED_ROWS else _divide(grid, width)
    text = "\n".join(_format_grid(part, styled=styled) for part in parts)
    if title is None:
        return text
    return (f"{_ITALIC}{title}{_PLAIN}" if styled else title) + f"\n{text}"


def _format_grid(grid: Grid, *, styled: bool) -> str:
    right = find_number_columns(grid)
    header = [escape_controls(name) for name in grid.columns]
    texts = [[format_cell(cell) for cell in row] for row in grid.rows]
    widths = [max(map(_measure_width, column)) for column in zip(header, *texts, strict=True)]
    lines = [
        _format_line(header, widths, right, [styled] * len(header)),
        "─" * (sum(widths) + _GAP * (len(widths) - 1)),
    ]
    for row, cells in zip(grid.rows, texts, strict=True):
        lines.append(_format_line(cells, widths, right, [styled and cell.best for cell in row]))
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _transpose(grid: Grid) -> Grid:
    """Return the table with one row per column, and one column per row."""
    first, *names = grid.columns
    columns = (first, *(format_cell(row[0]) for row in grid.rows))
    rows = (
        (Cell(value=name), *(row[place] for row in grid.rows)) for place, name in enumerate(names, start=1)
    )
    return Grid(columns=columns, rows=tuple(rows), notes=grid.notes)


def _divide(grid: Grid, width: int) -> list[Grid]:
    """Return tables that fit a width, each with the first columns of text and at least one other."""
    widths = _measure_columns(grid)
    labels = _count_labels(grid, widths, width)
    start = sum(widths[:labels]) + _GAP * (labels - 1)
    parts: list[list[int]] = []
    total = width + 1
    for column in range(labels, len(widths)):
        total += widths[column] + _GAP
        if total > width:
            parts.append(list(range(labels)))
            total = start + _GAP + widths[column]
        parts[-1].append(column)
    if len(parts) <= 1:
        return [grid]
    return [
        Grid(
            columns=tuple(grid.columns[column] for column in part),
            rows=tuple(tuple(row[column] for column in part) for row in grid.rows),
        )
        for part in parts
    ]


def _count_labels(grid: Grid, widths: Sequence[int], width: int) -> int:
    """Return the number of columns of text at the start, which identify a row; 1 if they are wide."""
    numbers = find_number_columns(grid)
    labels = next((column for column in range(len(widths)) if column in numbers), 1)
    is_narrow = sum(widths[:labels]) + _GAP * (labels - 1) <= width // 2
    return labels if 0 < labels < len(widths) and is_narrow else 1


def _measure_table(grid: Grid) -> int:
    widths = _measure_columns(grid)
    return sum(widths) + _GAP * (len(widths) - 1)


def _measure_columns(grid: Grid) -> list[int]:
    columns = zip(grid.columns, *([format_cell(cell) for cell in row] for row in grid.rows), strict=True)
    return [max(map(_measure_width, column)) for column in columns]


def _format_line(texts: Sequence[str], widths: Sequence[int], right: set[int], bold: Sequence[bool]) -> str:
    cells = []
    for column, (text, width) in enumerate(zip(texts, widths, strict=True)):
        space = " " * (width - _measure_width(text))
        written = f"{_BOLD}{text}{_PLAIN}" if bold[column] and text else text
        cells.append(space + written if column in right else written + space)
    return (" " * _GAP).join(cells)


def _measure_width(text: str) -> int:
    """Return the width in columns: 2 for a Chinese character, 0 for an accent."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
