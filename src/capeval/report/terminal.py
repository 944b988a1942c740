"""Tables for the terminal.

They are not drawn with Rich, because importing it takes 40 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
# The least width to which labels are shortened.
_SHORTEST_LABEL = 8


def format_table(
    grid: Grid, title: str | None = None, *, styled: bool = False, width: int | None = None
) -> str:
    """Format a table with right-aligned numbers.

    Args:
        grid: The table.
        title: A line above the table.
        styled: Whether the header and the best of each column are bold, and the title italic.
        width: The width of the terminal. A wider table of a few rows is transposed if that is narrower. If it
            is still wider, it is divided into tables with some of the columns each. They repeat the labels of
            rows, shortened if they are wide.
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
    if sum(widths) + _GAP * (len(widths) - 1) <= width:
        return [grid]
    labels = _count_labels(grid)
    if labels > 1:
        grid = _shorten_labels(grid, labels, width // 2)
        widths = _measure_columns(grid)
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


def _count_labels(grid: Grid) -> int:
    """Return the number of columns of text at the start, which identify a row; 1 if there are no others."""
    numbers = find_number_columns(grid)
    return max(1, min(numbers, default=1))


def _shorten_labels(grid: Grid, labels: int, width: int) -> Grid:
    """Return the table with labels that fit a width, if they stay different."""
    widths = _measure_columns(grid)[:labels]
    while sum(widths) + _GAP * (labels - 1) > width and max(widths) > _SHORTEST_LABEL:
        widths[widths.index(max(widths))] -= 1
    texts = [[format_cell(cell) for cell in row[:labels]] for row in grid.rows]
    shortened = [[_shorten_text(*each) for each in zip(row, widths, strict=True)] for row in texts]
    pairs = zip(zip(*texts, strict=True), zip(*shortened, strict=True), strict=True)
    if any(len(set(after)) < len(set(before)) for before, after in pairs):
        return grid
    rows = (
        (*(Cell(value=text) for text in label), *row[labels:])
        for label, row in zip(shortened, grid.rows, strict=True)
    )
    return replace(grid, rows=tuple(rows))


def _shorten_text(text: str, width: int) -> str:
    """Return the text, cut in the middle to fit a width."""
    shortened, kept = text, len(text)
    while _measure_width(shortened) > width:
        kept -= 1
        shortened = f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"
    return shortened


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
