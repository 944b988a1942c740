"""HTML tables for notebooks, in the colors of a light or dark page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["html_table"]

_CELL = "padding: 0.2em 0.8em; border-bottom: 1px solid rgba(128, 128, 128, 0.4); color: inherit"
_TABLE = "border-collapse: collapse; color: inherit; background: none; font-variant-numeric: tabular-nums"


def html_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, notes: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Return an HTML table with text in the first column and numbers in the others.

    Args:
        columns: The column headers.
        rows: The text of each cell.
        notes: Lines below the table by title; a click on the title expands them.
    """
    head = "".join(_render_cell("th", name, place) for place, name in enumerate(columns))
    body = "".join(
        f"<tr>{''.join(_render_cell('td', text, place) for place, text in enumerate(row))}</tr>"
        for row in rows
    )
    below = "".join(_render_note(title, lines) for title, lines in (notes or {}).items())
    table = f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f"<div>{table}{below}</div>"


def _render_note(title: str, lines: Sequence[str]) -> str:
    from html import escape

    content = "".join(f"<div>{escape(line)}</div>" for line in lines)
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _render_cell(tag: str, text: str, place: int) -> str:
    from html import escape

    side = "right" if place else "left"
    return f'<{tag} style="{_CELL}; text-align: {side}; background: none">{escape(text)}</{tag}>'
