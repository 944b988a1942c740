"""Escaping of text in CSV files against spreadsheet formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["escape_cell", "escape_row", "is_number", "unescape_cell"]

# Characters that can start a formula; some spreadsheets also accept the full-width forms.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - they are meant.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def is_number(text: str) -> bool:
    """Return whether spreadsheets read a text as a number, such as `-1` or `2.5e-3`."""
    return _NUMBER.fullmatch(text) is not None


def escape_cell(text: str) -> str:
    """Add an apostrophe to a text cell if a spreadsheet would run it as a formula.

    Numbers, including negative ones, are not formulas and remain unchanged.
    """
    return f"'{text}" if _needs_escape(text) and not is_number(text) else text


def unescape_cell(text: str) -> str:
    """Reverse `plain`, also for files of older versions, which escaped numbers."""
    return text[1:] if text.startswith("'") and _needs_escape(text) else text


def escape_row(cells: Iterable[object]) -> list[object]:
    """Escape the text cells of a row; other cells remain unchanged."""
    return [escape_cell(cell) if isinstance(cell, str) else cell for cell in cells]


def _needs_escape(text: str) -> bool:
    # Text that begins with an apostrophe and a formula gets a second apostrophe, so `original` can reverse
    # it.
    return text.lstrip(" '").startswith(_FORMULA)
