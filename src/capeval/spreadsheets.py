"""Text for CSV that people open as spreadsheets."""

from __future__ import annotations

__all__ = ["original", "plain"]

# Characters with which a formula may begin; some spreadsheets accept the full-width forms too.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - they are meant.


def plain(text: str) -> str:
    """Text that no spreadsheet runs as a formula: an apostrophe goes before text that would be one."""
    # Text that begins with an apostrophe and a formula gets another one, so that `original` can undo it.
    return f"'{text}" if text.lstrip(" '").startswith(_FORMULA) else text


def original(text: str) -> str:
    """The text from which `plain` made this one."""
    return text[1:] if text.startswith("'") and plain(text) != text else text
