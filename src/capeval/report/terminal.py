"""Tables for the terminal, by Rich."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from capeval.report.grids import Grid
from capeval.report.texts import printable, shown

__all__ = ["table"]


def table(grid: Grid, title: str | None = None) -> Table:
    """A table with numbers to the right and the best of each column in bold."""
    rich_table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False
    )
    for column, name in enumerate(grid.columns):
        numbers = any(isinstance(row[column].value, float) for row in grid.rows)
        rich_table.add_column(Text(printable(name)), justify="right" if numbers else "left", no_wrap=True)
    for row in grid.rows:
        # Text, so that brackets in a name are not taken for Rich's markup.
        rich_table.add_row(*(Text(shown(cell), style="bold" if cell.best else "") for cell in row))
    return rich_table
