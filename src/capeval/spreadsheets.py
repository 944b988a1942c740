"""Text for CSV that people open as spreadsheets."""

from __future__ import annotations

__all__ = ["original", "plain"]

# What a spreadsheet may take for the beginning of a formula, as some versions do with the wide forms too.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - they are meant.


def plain(text: str) -> str:
    """A text that no spreadsheet runs as a formula: one that would be has an apostrophe before it."""
    # A text that has such an apostrophe already gets another, so that `original` can tell them apart.
    return f"'{text}" if text.lstrip(" '").startswith(_FORMULA) else text


def original(text: str) -> str:
    """The text that `plain` made this one of."""
    return text[1:] if text.startswith("'") and plain(text) != text else text
