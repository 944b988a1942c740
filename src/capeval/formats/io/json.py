"""Strict reading, validation and writing of JSON files."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from capeval import _native
from capeval._internal.atomic_write import atomic_write
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.sources import LIMIT, File, read_source

__all__ = [
    "IMAGE_ID",
    "TEXT",
    "Field",
    "check_row",
    "format_value",
    "iterate_rows",
    "raise_type_error",
    "read_json",
    "read_json_lines",
    "replace_nan",
    "to_json_bytes",
    "write_json",
]

_Value = TypeVar("_Value")

_SHOWN = 40


@dataclass(frozen=True)
class Field:
    """The type of a field of a row.

    Attributes:
        expected: A description that follows "must be" in messages.
        fits: Returns whether a value has this type.
    """

    expected: str
    fits: Callable[[object], bool]


# `type` instead of `isinstance`, because bool is a subclass of int.
IMAGE_ID = Field("an integer or a string", lambda value: type(value) in (int, str))
TEXT = Field("a string", lambda value: isinstance(value, str))


def read_json(file: File, limit: int = LIMIT) -> Any:
    """Parse a JSON file, which may be compressed and contain `NaN` and `Infinity`.

    Raises:
        FormatError: The file is not JSON, repeats a key in one object, or contains a lone surrogate.
        OSError: The file can't be read.
    """
    return _native.read_json(read_source(file, limit).data)


def read_json_lines(file: File, limit: int = LIMIT) -> list[tuple[int, Any]]:
    """Parse a JSON Lines file.

    Returns:
        The number, from 1, and the content of each line that is not blank.

    Raises:
        FormatError: A line is invalid, as in `read_json`.
        OSError: The file can't be read.
    """
    return _native.read_json_lines(read_source(file, limit).data)


def iterate_rows(
    content: object, key: str | None, fields: Mapping[str, Field]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row of a list of objects with its name, such as `images[17]`.

    Args:
        content: The content of the file.
        key: The key of the list in the file's object; None if the file is the list.
        fields: The required fields of a row; other fields are ignored.

    Raises:
        FormatError: There is no such list, or a row lacks a field, or a field has the wrong type.
    """
    if key is not None:
        if not isinstance(content, dict):
            raise_type_error("the file", "an object", content)
        if key not in content:
            message = f"the file must contain a list {key!r}"
            raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, field=key)
        content = content[key]
    if not isinstance(content, list):
        raise_type_error(key or "the file", "a list of objects", content)
    for position, row in enumerate(content):
        entry = f"{key or 'entries'}[{position}]"
        yield entry, check_row(row, entry, fields)


def check_row(row: object, entry: str, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Validate that a row is an object with these fields, and return it.

    Raises:
        FormatError: The row is not an object, a field is missing, or a field has the wrong type.
    """
    if not isinstance(row, dict):
        raise_type_error(entry, "an object", row)
    for name, field in fields.items():
        if name not in row:
            message = f"{entry} must have the key {name!r}"
            raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, entry=entry, field=name)
        if not field.fits(row[name]):
            raise_type_error(entry, field.expected, row[name], field=name)
    return row


def raise_type_error(entry: str, expected: str, found: object, *, field: str | None = None) -> NoReturn:
    """Raise the `FormatError` of a value with the wrong type.

    Args:
        entry: The place of the value, such as `annotations[17]`.
        expected: The expected type, after "must be".
        found: The value.
        field: The field of the entry, if the value is one.
    """
    separator = ": " if entry.startswith("line ") else "."
    place = entry if field is None else f"{entry}{separator}{field}"
    raise FormatError(
        f"{place} must be {expected} (got {format_value(found)})",
        kind=FormatErrorKind.WRONG_TYPE,
        entry=None if entry == "the file" else entry,
        field=field,
    )


def format_value(value: object) -> str:
    """Return a value as JSON, truncated to 40 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def replace_nan(value: _Value) -> _Value | None:
    """Replace NaN, which JSON lacks, with None.

    For example, SPICE of a category is NaN if no reference has a tuple of it.
    """
    return None if isinstance(value, float) and math.isnan(value) else value


def to_json_bytes(content: object) -> bytes:
    """Return the bytes of a JSON file with one line."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def write_json(content: object, path: str | Path) -> None:
    """Write a JSON file atomically.

    Raises:
        OSError: The file can't be written.
    """
    with atomic_write(path) as file:
        file.write(to_json_bytes(content))
