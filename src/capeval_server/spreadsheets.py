"""Text for CSV that people open as spreadsheets."""

from __future__ import annotations

__all__ = ["plain"]

# What a spreadsheet may take for the beginning of a formula, as some versions do with the wide forms too.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - they are meant.


def plain(text: str) -> str:
    """A text that no spreadsheet runs as a formula: one that would be has an apostrophe before it."""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text
