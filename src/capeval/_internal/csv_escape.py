"""Escaping of text in CSV files against spreadsheet formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["is_number", "original", "plain", "plain_row"]

# Characters with which a formula may begin; some spreadsheets accept the full-width forms too.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - they are meant.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def is_number(text: str) -> bool:
    """Return whether a spreadsheet reads the text as a decimal number, such as `-1` or `2.5e-3`."""
    return _NUMBER.fullmatch(text) is not None


def plain(text: str) -> str:
    """Escape a text cell: an apostrophe goes before text that a spreadsheet would run as a formula.

    A number, also a negative one, is no formula and stays as it is.
    """
    return f"'{text}" if _is_guarded(text) and not is_number(text) else text


def original(text: str) -> str:
    """Undo `plain`, also for files of versions that escaped numbers."""
    return text[1:] if text.startswith("'") and _is_guarded(text) else text


def plain_row(cells: Iterable[object]) -> list[object]:
    """Escape the text cells of a row, and leave the other cells as they are."""
    return [plain(cell) if isinstance(cell, str) else cell for cell in cells]


def _is_guarded(text: str) -> bool:
    # Text that begins with an apostrophe and a formula gets another one, so that `original` can undo it.
    return text.lstrip(" '").startswith(_FORMULA)
