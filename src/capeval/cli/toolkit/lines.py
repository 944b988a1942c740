"""Text files with one caption per line."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["read_text", "split_lines"]


def read_text(file: Path) -> str:
    """Read a UTF-8 file without its byte order mark; `-` is standard input.

    Raises:
        FormatError: The file is not UTF-8; the error includes the position.
        OSError: The file can't be read.
    """
    # Imported lazily, because they import numpy, which `--help` does not need.
    from capeval.formats.io.rows import not_utf8
    from capeval.formats.io.sources import strip_byte_order_mark

    data = strip_byte_order_mark(sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes())
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise not_utf8(data).with_path("standard input" if str(file) == "-" else file) from None


def split_lines(text: str) -> list[str]:
    """Split a text into lines at line feeds; the last line may end without one."""
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines
