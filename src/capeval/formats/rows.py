"""The rows of CSV files, also in gzip."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.sources import LIMIT, File, read_source

__all__ = ["columns", "rows"]


def columns(file: File, names: Sequence[str], limit: int = LIMIT) -> Iterator[tuple[int, list[str]]]:
    """The fields of the columns that are named, with the number of their line."""
    lines = rows(file, limit)
    header = next(lines, (1, []))[1]
    for name in names:
        if name not in header:
            found = ",".join(header)[:80]
            message = f"the first line must name the column {name!r} (got {found!r})"
            raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, field=name, line=1)
    places = [header.index(name) for name in names]
    for line, row in lines:
        if len(row) != len(header):
            message = f"line {line} must have {len(header)} fields (got {len(row)})"
            raise FormatError(message, kind=FormatErrorKind.WRONG_LENGTH, line=line)
        yield line, [row[place] for place in places]


def rows(file: File, limit: int = LIMIT) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with the number of their line."""
    try:
        # Line by line: all of the text at once would take the memory of the file several times over.
        text = io.TextIOWrapper(io.BytesIO(read_source(file, limit).data), encoding="utf-8-sig", newline="")
        reader = csv.reader(text)
        for row in reader:
            yield reader.line_num, row
    except UnicodeDecodeError as error:
        raise FormatError(f"the file is not UTF-8 ({error.reason})", kind=FormatErrorKind.NOT_UTF8) from None
    except csv.Error as error:
        raise FormatError(f"the file is not CSV ({error})", kind=FormatErrorKind.NOT_CSV) from None
