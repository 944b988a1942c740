"""Rows of CSV files and lines of text files, also compressed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.sources import LIMIT, File, read_source

__all__ = [
    "UTF16",
    "column",
    "dialect",
    "make_line_error",
    "not_utf8",
    "parse_lines",
    "parse_rows",
    "read_columns",
    "read_rows",
    "read_table",
    "text_lines",
]

UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""The byte order marks of UTF-16."""


def read_columns(
    file: File, names: Sequence[str], limit: int = LIMIT, *, optional: Sequence[str] = ()
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row's line number, and its fields in the named columns.

    Args:
        file: The path of the file, or its bytes.
        names: The columns.
        limit: The maximum size of the file in bytes, also after decompression.
        optional: More columns. Their fields are empty if the file lacks them.

    Raises:
        FormatError: A column is missing, or the table is invalid, as in `read_table`.
        OSError: The file can't be read.
    """
    header, body = read_table(file, limit)
    places = [column(header, name) for name in names]
    places += [header.index(name) if name in header else -1 for name in optional]
    for line, row in body:
        yield line, ["" if place < 0 else row[place] for place in places]


def read_table(file: File, limit: int = LIMIT) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the column names of a table, and its other rows with their line numbers.

    Raises:
        FormatError: A row has more or fewer fields than there are columns, or the file is not CSV.
        OSError: The file can't be read.
    """
    body = read_rows(file, limit)
    header = next(body, (1, []))[1]

    def checked() -> Iterator[tuple[int, list[str]]]:
        for line, row in body:
            if len(row) != len(header):
                message = f"line {line} must have {len(header)} columns (got {len(row)})"
                raise FormatError(message, kind=FormatErrorKind.WRONG_LENGTH, line=line)
            yield line, row

    return header, checked()


def column(header: Sequence[str], name: str) -> int:
    """Return the position of a column.

    Raises:
        FormatError: There is no such column.
    """
    if name not in header:
        message = f"the header must contain the column {name!r} (got {','.join(header)[:80]!r})"
        raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, field=name, line=1)
    return header.index(name)


def read_rows(file: File, limit: int = LIMIT) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file with their line numbers, without blank lines.

    The delimiter is a tab if the first line contains one, otherwise a comma.
    """
    data = read_source(file, limit).data
    yield from parse_rows(data, "\t" if b"\t" in data[: data.find(b"\n")] else ",")


def parse_rows(data: bytes, delimiter: str, *, quotes: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table with their line numbers, without blank lines.

    Args:
        data: The bytes of the table.
        delimiter: The delimiter of the columns.
        quotes: Whether fields may be quoted.

    Raises:
        FormatError: The bytes are not UTF-8, or a quotation mark is not closed.
    """
    with _report_encoding_errors(data):
        # Decode line by line: the whole text would need several times the memory of the file.
        text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
        reader = csv.reader(text, dialect=dialect(delimiter, quotes=quotes))
        try:
            yield from ((reader.line_num, row) for row in reader if row)
        except csv.Error as error:
            raise _make_csv_error(error, reader.line_num, delimiter) from None


def dialect(delimiter: str, *, quotes: bool = True) -> type[csv.Dialect]:
    """Return the CSV dialect for a delimiter.

    It is strict: otherwise, after an unclosed quotation mark the rest of the file would become one field.
    """
    return type(
        "Dialect",
        (csv.Dialect,),
        {
            "delimiter": delimiter,
            "doublequote": True,
            "lineterminator": "\n",
            "quotechar": '"' if quotes else None,
            "quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
            "strict": True,
        },
    )


def _make_csv_error(error: csv.Error, line: int, delimiter: str) -> FormatError:
    reason = str(error)
    if "field larger" in reason:
        message = f"line {line}: a field must have at most {csv.field_size_limit():,} characters (got more)"
        return FormatError(message, kind=FormatErrorKind.TOO_LARGE, line=line)
    if "expected after" in reason or "unexpected end" in reason:
        reason = "a field that starts with a quotation mark must end with one; double those inside the field"
    return FormatError(
        f"line {line}: the file must be CSV with the delimiter {delimiter!r} ({reason})",
        kind=FormatErrorKind.NOT_CSV,
        line=line,
    )


def text_lines(file: File, limit: int = LIMIT) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers, from 1."""
    yield from parse_lines(read_source(file, limit).data)


def parse_lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers, from 1.

    Raises:
        FormatError: The bytes are not UTF-8.
    """
    with _report_encoding_errors(data):
        for number, line in enumerate(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"), 1):
            yield number, line.removesuffix("\n")


def make_line_error(line: int, expected: str, found: str) -> FormatError:
    """Return the error for an invalid line."""
    message = f"line {line} must have {expected} (got {found})"
    return FormatError(message, kind=FormatErrorKind.WRONG_TYPE, line=line)


@contextmanager
def _report_encoding_errors(data: bytes) -> Iterator[None]:
    if data.startswith(UTF16):
        message = "the file looks like UTF-16; expected plain UTF-8"
        raise FormatError(message, kind=FormatErrorKind.UTF16)
    try:
        yield
    except UnicodeDecodeError:
        raise not_utf8(data) from None


def not_utf8(data: bytes) -> FormatError:
    """Return the error for bytes that are not UTF-8, with their line and column."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        place = error.start
    line = 1 + data.count(b"\n", 0, place)
    column = 1 + len(data[data.rfind(b"\n", 0, place) + 1 : place].decode())
    message = (
        f"line {line} column {column}: the byte 0x{data[place]:02x} is not UTF-8 here; expected plain UTF-8"
    )
    return FormatError(message, kind=FormatErrorKind.NOT_UTF8, line=line, column=column)
