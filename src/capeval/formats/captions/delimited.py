"""Delimited text: CSV, TSV, and columns separated by `|` or semicolons."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Sequence
from typing import TypeVar

from capeval.data.captions import Candidates, References
from capeval.data.columns import find_columns, has_columns
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.base import CaptionFormat, ReadOptions, SplitFilter, build_captions, parse_ids
from capeval.formats.io.json import read_json
from capeval.formats.io.rows import dialect, parse_rows
from capeval.formats.io.sources import Source

__all__ = ["KIND"]

_Captions = TypeVar("_Captions", References, Candidates)

_ENDINGS = (".csv", ".tsv", ".psv")
_DELIMITERS = ("\t", ",", "|", ";")
# Files with `|` do not quote fields: Flickr30k's results.csv has captions that begin with a quotation mark.
_UNQUOTED = "|"


def _recognize(source: Source, options: ReadOptions) -> bool:
    names = _parse_header(source.first_line)[1]
    return source.name.endswith(_ENDINGS) or (len(names) > 1 and has_columns(names, options.columns))


def _parse_header(line: str) -> tuple[str, list[str]]:
    """Return the delimiter that yields the most columns, and their names."""
    headers = [(delimiter, _split_names(line, delimiter)) for delimiter in _DELIMITERS]
    return max(headers, key=lambda header: len(header[1]))


def _split_names(line: str, delimiter: str) -> list[str]:
    try:
        names = next(csv.reader([line], dialect(delimiter, quotes=delimiter != _UNQUOTED)), [])
    except csv.Error:
        return []
    return [name.strip() for name in names]


def _read(kind: type[_Captions], source: Source, options: ReadOptions) -> _Captions:
    delimiter, names = _parse_header(source.first_line)
    if not names:
        # If the file is not UTF-8, this raises that error instead of one about missing columns.
        next(_rows(source, delimiter, 0), None)
    fields = find_columns(names, options.columns)
    wanted = SplitFilter(names, options)
    columns = [names.index(field) for field in fields]
    places, ids, captions = [], [], []
    for line, row in _rows(source, delimiter, len(names)):
        if not wanted.takes(row):
            continue
        image, caption = (row[column] for column in columns)
        if not image:
            message = f"line {line}: {fields[0]} must be an image id (got an empty field)"
            raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, line=line, field=fields[0])
        places.append(f"line {line}")
        ids.append(image)
        captions.append(caption)
    rows = zip(places, parse_ids(ids), _parse_lists(places, captions, fields[1]), strict=True)
    return build_captions(kind, rows, fields)


def _rows(source: Source, delimiter: str, count: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows below the header; check that each has `count` fields."""
    rows = parse_rows(source.data, delimiter, quotes=delimiter != _UNQUOTED)
    for line, row in itertools.islice(rows, 1, None):
        if len(row) != count:
            message = f"line {line} must have {count} columns (got {len(row)})"
            raise FormatError(message, kind=FormatErrorKind.WRONG_LENGTH, line=line)
        # Flickr30k's results.csv has a space after each `|`.
        yield line, [field.strip(" ") for field in row] if delimiter == _UNQUOTED else row


def _parse_lists(places: Sequence[str], captions: Sequence[str], field: str) -> Sequence[object]:
    """Parse captions as JSON lists if all of them look like lists.

    The file `flickr_annotations_30k.csv` has such captions.
    """
    if not all(text.startswith("[") and text.endswith("]") for text in captions):
        return captions
    return [_parse_list(place, text, field) for place, text in zip(places, captions, strict=True)]


def _parse_list(place: str, text: str, field: str) -> object:
    try:
        return read_json(text.encode())
    except FormatError:
        message = (
            f"{place}: {field} must be a JSON list, because every {field} has brackets (got {text[:40]!r})"
        )
        raise FormatError(message, kind=FormatErrorKind.NOT_JSON, entry=place, field=field) from None


KIND = CaptionFormat(
    name="a table",
    form="CSV or TSV with a header row",
    priority=90,
    example=lambda: b"image_id,caption\n1,A dog.\n2,Two cats.\n",
    recognize=_recognize,
    references=lambda source, options: _read(References, source, options),
    candidates=lambda source, options: _read(Candidates, source, options),
    has_columns=True,
    has_splits=True,
)
