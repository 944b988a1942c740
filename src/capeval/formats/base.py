"""Caption file formats: detection and parsing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from capeval.data.captions import Candidates, ImageId, References
from capeval.data.columns import Columns
from capeval.errors import CaptionError, FormatError, FormatErrorKind
from capeval.errors.messages import format_names
from capeval.formats.io.json import format_value, raise_type_error
from capeval.formats.io.sources import LIMIT, Source

__all__ = [
    "SPLIT",
    "CaptionFormat",
    "Captions",
    "ReadOptions",
    "Row",
    "SplitFilter",
    "build_captions",
    "parse_ids",
]

Captions = TypeVar("Captions", References, Candidates)

SPLIT = "split"
"""The column with the split of each row."""

Row = tuple[str, object, object]
"""A row of a file: its place, such as `line 3`, its image id, and its caption or captions."""

# Only canonical integers: `007`, `+7` and `1.0` are text.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options for reading a caption file.

    Attributes:
        columns: The role of the captions, and the columns that the caller names.
        splits: The splits to read; empty for all.
        limit: The maximum size of the decompressed file, in bytes.
    """

    columns: Columns
    splits: tuple[str, ...] = ()
    limit: int = LIMIT


@dataclass(frozen=True, kw_only=True)
class CaptionFormat:
    """A caption file format.

    Other distributions add formats through entry points of the group `capeval.formats`.

    Attributes:
        name: The name in messages.
        form: A one-line description of the structure.
        priority: The position in the order of detection, lowest first. Formats that accept any remaining
            file, such as any other JSON object, come last.
        example: Returns a small file with captions of two images, for tests.
        recognize: Returns whether a file has this format.
        references: Reads references; None if the format does not support them.
        candidates: Reads candidates; None if the format does not support them.
        has_columns: Whether the caller can name columns.
        has_splits: Whether the caller can name splits.
    """

    name: str
    form: str
    priority: int
    example: Callable[[], bytes]
    recognize: Callable[[Source, ReadOptions], bool]
    references: Callable[[Source, ReadOptions], References] | None = None
    candidates: Callable[[Source, ReadOptions], Candidates] | None = None
    has_columns: bool = False
    has_splits: bool = False


class SplitFilter:
    """A filter for the rows of the splits that the caller names.

    Raises:
        FormatError: The caller names splits, but the table has no column `split`.
    """

    def __init__(self, names: Sequence[str], options: ReadOptions) -> None:
        self._splits = options.splits
        if self._splits and SPLIT not in names:
            message = f"the file must have a column {SPLIT!r} (got {format_names(names)})"
            raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, field=SPLIT)
        self._place = names.index(SPLIT) if self._splits else 0

    def takes(self, row: Sequence[object]) -> bool:
        """Return whether a row belongs to the splits to read."""
        return not self._splits or row[self._place] in self._splits


def build_captions(kind: type[Captions], rows: Iterable[Row], fields: tuple[str, str]) -> Captions:
    """Create references or candidates from rows.

    The references of an image may be in any number of rows, its candidate in one row.

    Args:
        kind: The class to create, `References` or `Candidates`.
        rows: The rows.
        fields: The names of the image id field and the caption field, for messages.

    Raises:
        FormatError: A row is invalid, or there are no rows.
    """
    id_field, caption_field = fields
    captions: dict[ImageId, list[str]] = {}
    places: dict[ImageId, str] = {}
    first: tuple[str, ImageId] = ("", 0)
    for place, image, value in rows:
        # `type` instead of `isinstance`, because bool is a subclass of int.
        if type(image) is not int and type(image) is not str:
            raise_type_error(place, "an integer or a string", image, field=id_field)
        if not captions:
            first = (place, image)
        if type(image) is not type(first[1]):
            raise _make_mixed_ids_error(place, image, first, id_field)
        texts = [value] if type(value) is str else _parse_texts(place, value, caption_field)
        if kind is Candidates:
            _check_candidate(place, image, texts, places, fields)
            places[image] = place
        captions.setdefault(image, []).extend(texts)
    if not captions:
        message = "the file must have at least one caption (got none)"
        raise FormatError(message, kind=FormatErrorKind.NO_CAPTIONS)
    try:
        return kind(captions)
    except CaptionError as error:
        raise FormatError(str(error), kind=FormatErrorKind.WRONG_TYPE) from None


def parse_ids(ids: Sequence[str]) -> Sequence[ImageId]:
    """Convert the ids of a text file to integers if all are in canonical form."""
    if all(map(_INTEGER.fullmatch, ids)) and all(-(2**63) <= int(image) < 2**63 for image in ids):
        return [int(image) for image in ids]
    return ids


def _parse_texts(place: str, value: object, field: str) -> list[str]:
    if not isinstance(value, list):
        raise_type_error(place, "a string or a list of strings", value, field=field)
    for position, text in enumerate(value):
        if not isinstance(text, str):
            raise_type_error(place, "a string", text, field=f"{field}[{position}]")
    if not value:
        message = f"{place} must have at least one caption (got an empty list)"
        raise FormatError(message, kind=FormatErrorKind.NO_REFERENCES, entry=place, field=field)
    return value


def _check_candidate(
    place: str, image: ImageId, texts: list[str], places: dict[ImageId, str], fields: tuple[str, str]
) -> None:
    if len(texts) != 1:
        message = f"{place} must have one caption (got a list of {len(texts)})"
        raise FormatError(message, kind=FormatErrorKind.SEVERAL_CAPTIONS, entry=place, field=fields[1])
    if image in places:
        found = f"{fields[0]} {format_value(image)}"
        message = f"{place}: duplicate {found} (first seen in {places[image]})"
        raise FormatError(message, kind=FormatErrorKind.DUPLICATE_IMAGE, entry=place, field=fields[0])


def _make_mixed_ids_error(place: str, image: ImageId, first: tuple[str, ImageId], field: str) -> FormatError:
    message = (
        "image ids must be all integers or all strings"
        f" ({field} is {format_value(first[1])} in {first[0]}, but"
        f" {format_value(image)} in {place})"
    )
    return FormatError(message, kind=FormatErrorKind.MIXED_IDS, entry=place, field=field)
