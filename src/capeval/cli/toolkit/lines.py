"""Reading captions that are a line each."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["read_text", "split_lines"]


def read_text(file: Path) -> str:
    """The text of a file in UTF-8, without a byte order mark; `-` is standard input.

    Raises:
        FormatError: It is not UTF-8; the error says where.
        OSError: It can't be read.
    """
    # Here, as they import numpy, which help does without.
    from capeval.formats.io.rows import not_utf8
    from capeval.formats.io.sources import without_mark

    data = without_mark(sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes())
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise not_utf8(data).in_file("standard input" if str(file) == "-" else file) from None


def split_lines(text: str) -> list[str]:
    """The lines of a text: a line feed alone ends one, and the last need not have it."""
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines
