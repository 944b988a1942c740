"""Reading captions that are a line each."""

from __future__ import annotations

import sys
from pathlib import Path

from capeval.errors import FormatError

__all__ = ["read_text", "split_lines"]


def read_text(file: Path) -> str:
    """The text of a file in UTF-8; `-` is standard input.

    Raises:
        FormatError: It is not UTF-8; the error says where.
        OSError: It can't be read.
    """
    data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        column = 1 + len(data[data.rfind(b"\n", 0, error.start) + 1 : error.start].decode())
        message = (
            f"line {line} column {column}: the byte 0x{data[error.start]:02x} is not UTF-8 here; "
            "expected plain UTF-8"
        )
        path = "standard input" if str(file) == "-" else file
        raise FormatError(message, kind="NotUtf8", line=line, column=column, path=path) from None


def split_lines(text: str) -> list[str]:
    """The lines of a text: a line feed alone ends one, and the last need not have it."""
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines
