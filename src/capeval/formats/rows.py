"""The rows of CSV files and the lines of text files, also in gzip."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.sources import LIMIT, File, read_source

__all__ = ["column", "columns", "read_table", "rows", "text_lines", "wrong_line"]


def columns(file: File, names: Sequence[str], limit: int = LIMIT) -> Iterator[tuple[int, list[str]]]:
    """The line number of each row of a table, and its fields in the named columns.

    Raises:
        FormatError: A column is missing, or as in `read_table`.
        OSError: The file can't be read.
    """
    header, body = read_table(file, limit)
    places = [column(header, name) for name in names]
    for line, row in body:
        yield line, [row[place] for place in places]


def read_table(file: File, limit: int = LIMIT) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The names of a table's columns, and its other rows with their line numbers.

    Raises:
        FormatError: A row has more or fewer fields than there are columns, or the file is not CSV.
        OSError: The file can't be read.
    """
    body = rows(file, limit)
    header = next(body, (1, []))[1]

    def checked() -> Iterator[tuple[int, list[str]]]:
        for line, row in body:
            if len(row) != len(header):
                message = f"line {line} must have {len(header)} columns (got {len(row)})"
                raise FormatError(message, kind=FormatErrorKind.WRONG_LENGTH, line=line)
            yield line, row

    return header, checked()


def column(header: Sequence[str], name: str) -> int:
    """The position of a column.

    Raises:
        FormatError: There is no such column.
    """
    if name not in header:
        message = f"the first line must name the column {name!r} (got {','.join(header)[:80]!r})"
        raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, field=name, line=1)
    return header.index(name)


def rows(file: File, limit: int = LIMIT) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with their line numbers; blank lines are left out.

    Commas separate the columns, or tabs where the first line has a tab.
    """
    data = read_source(file, limit).data
    delimiter = "\t" if b"\t" in data[: data.find(b"\n")] else ","
    with _decoding():
        # Line by line: the whole text at once would take several times the memory of the file.
        text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
        reader = csv.reader(text, delimiter=delimiter)
        try:
            yield from ((reader.line_num, row) for row in reader if row)
        except csv.Error as error:
            message = f"the file must be CSV ({error})"
            raise FormatError(message, kind=FormatErrorKind.NOT_CSV) from None


def text_lines(file: File, limit: int = LIMIT) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, from 1."""
    data = io.BytesIO(read_source(file, limit).data)
    with _decoding():
        for number, line in enumerate(io.TextIOWrapper(data, encoding="utf-8-sig"), 1):
            yield number, line.removesuffix("\n")


def wrong_line(line: int, expected: str, found: str) -> FormatError:
    """The error for a line that must have something else."""
    message = f"line {line} must have {expected} (got {found})"
    return FormatError(message, kind=FormatErrorKind.WRONG_TYPE, line=line)


@contextmanager
def _decoding() -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        message = f"the file must be UTF-8 ({error.reason})"
        raise FormatError(message, kind=FormatErrorKind.NOT_UTF8) from None
