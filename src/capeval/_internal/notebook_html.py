"""HTML tables for notebooks, which take their colors from the page: light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["html_table"]

_CELL = "padding: 0.2em 0.8em; border-bottom: 1px solid rgba(128, 128, 128, 0.4); color: inherit"
_TABLE = "border-collapse: collapse; color: inherit; background: none; font-variant-numeric: tabular-nums"


def html_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, notes: Mapping[str, Sequence[str]] | None = None
) -> str:
    """A table whose first column is text, and whose other columns are numbers.

    Args:
        columns: The names of the columns.
        rows: The text of each cell.
        notes: Lines below the table that are shown when their title is clicked, by title.
    """
    head = "".join(_cell("th", name, place) for place, name in enumerate(columns))
    body = "".join(
        f"<tr>{''.join(_cell('td', text, place) for place, text in enumerate(row))}</tr>" for row in rows
    )
    below = "".join(_note(title, lines) for title, lines in (notes or {}).items())
    table = f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f"<div>{table}{below}</div>"


def _note(title: str, lines: Sequence[str]) -> str:
    from html import escape

    content = "".join(f"<div>{escape(line)}</div>" for line in lines)
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _cell(tag: str, text: str, place: int) -> str:
    from html import escape

    side = "right" if place else "left"
    return f'<{tag} style="{_CELL}; text-align: {side}; background: none">{escape(text)}</{tag}>'
