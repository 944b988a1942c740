"""Tables of items: CSV, TSV, JSON Lines, Parquet, and JSON in COCO's formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from capeval.errors import DependencyError, FormatError
from capeval.formats.captions.tables import limit_size, read_batches, read_schema
from capeval.formats.io.json import read_json
from capeval.formats.io.rows import parse_rows
from capeval.formats.io.sources import LIMIT, Source, read_source
from capeval_server.core.errors import CampaignError, CampaignFilesError

__all__ = ["ENDINGS", "MOST_ROWS", "ItemTable", "Row", "read_item_table", "read_json_lines"]

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
"""Endings of the names of tables."""

MOST_ROWS = 1_000_000
"""Maximum number of rows of a table."""

_PARQUET = b"PAR1"
_DELIMITERS = "\t,;|"

Row = tuple[str, object]
"""The place of a row, such as `line 3`, and its content."""


@dataclass(frozen=True, kw_only=True)
class ItemTable:
    """Rows of a table, by the names of its columns.

    Attributes:
        columns: Names of the columns.
        rows: Place and content of each row. An empty cell is an empty text or None.
        is_native: Whether the rows are JSON objects with the parts of items, so that no columns are mapped.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, dict[str, Any]], ...]
    is_native: bool = False


def read_item_table(name: str, data: bytes, *, by_image: bool = False, limit: int = LIMIT) -> ItemTable:
    r"""Read a table of items; its format is recognized by its content.

    Args:
        name: Name of the file.
        data: Content of the file, which may be compressed with gzip or xz.
        by_image: Return one row per image of a file in COCO's format, instead of one per caption.
        limit: Maximum size of the decompressed file, in bytes.

    Raises:
        CampaignError: The file is no table or has no rows, or Parquet requires pyarrow, which is not
            installed.
        CampaignFilesError: Rows are invalid. The error contains all of them.

    Example:
        >>> from capeval_server.annotation.campaigns.item_tables import read_item_table
        >>> table = read_item_table("items.csv", b"image,text\n1.jpg,A dog.\n")
        >>> table.columns, table.rows
        (('image', 'text'), (('line 2', {'image': '1.jpg', 'text': 'A dog.'}),))
    """
    try:
        source = read_source(data, limit, name=name)
        found = _read(source, by_image, limit)
    except CampaignFilesError as error:
        raise CampaignFilesError(name, error.problems) from None
    except (CampaignError, FormatError, DependencyError) as error:
        raise CampaignError(f"{name}: {error}") from None
    if not found.rows:
        raise CampaignError(f"{name}: the file contains no items")
    return found


def _read(source: Source, by_image: bool, limit: int) -> ItemTable:
    if source.data.startswith(_PARQUET):
        return _make_table(_read_parquet(source.data, limit))
    start = source.data.lstrip()[:1]
    if start == b"[" or (start == b"{" and _is_one_object(source.data)):
        return _make_table(_read_coco(read_json(source.data), by_image))
    if start == b"{":
        return _make_table(read_json_lines(source.data.splitlines()), is_json=True)
    return _make_table(_read_csv(source))


def _is_one_object(data: bytes) -> bool:
    """Return whether a file is one JSON object, instead of one per line."""
    first = next(line for line in data.splitlines() if line.strip())
    try:
        return bool({"images", "annotations"} & json.loads(first).keys())
    except (ValueError, RecursionError):
        # The first line of JSON Lines may be invalid, too; but then the file has no list of COCO.
        return b'"images"' in data or b'"annotations"' in data


def _make_table(rows: Iterable[Row], *, is_json: bool = False) -> ItemTable:
    """Check all rows, and return them with the names of all columns in order."""
    columns: dict[str, None] = {}
    good: list[tuple[str, dict[str, Any]]] = []
    problems: list[str] = []
    for number, (place, row) in enumerate(rows):
        if number == MOST_ROWS:
            raise CampaignError(f"the file must have at most {MOST_ROWS:,} rows")
        if isinstance(row, dict):
            columns |= dict.fromkeys(row)
            good.append((place, row))
        else:
            problems.append(f"{place}: {row}")
    if problems:
        raise CampaignFilesError("", problems)
    is_native = is_json and bool(good) and "key" in good[0][1]
    return ItemTable(columns=tuple(columns), rows=tuple(good), is_native=is_native)


def read_json_lines(lines: Iterable[bytes]) -> Iterator[Row]:
    """Yield the place and the object of each line that is not blank; the problem of invalid lines."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield f"line {number}", _parse_object(line)


def _parse_object(line: bytes) -> object:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"an item must be a JSON object ({error})"
    return found if isinstance(found, dict) else f"an item must be a JSON object (got {type(found).__name__})"


def _read_csv(source: Source) -> Iterator[Row]:
    header = source.first_line
    delimiter = max(_DELIMITERS, key=header.count)
    body = parse_rows(source.data, delimiter)
    _, names = next(body, (1, []))
    names = [name.strip() for name in names]
    if len(names) != len(set(names)) or not all(names):
        raise CampaignError(f"line 1: the names of the columns must be unique and not empty (got {header!r})")
    for line, row in body:
        if len(row) == len(names):
            yield f"line {line}", dict(zip(names, row, strict=True))
        elif any(cell.strip() for cell in row):
            yield f"line {line}", f"the row must have {len(names)} columns (got {len(row)}); quote commas"


def _read_parquet(data: bytes, limit: int) -> Iterator[Row]:
    try:
        import pyarrow as pa
    except ImportError:
        command = 'pip install "capeval-server[parquet]"'
        raise DependencyError(f"Parquet files need pyarrow: {command}", name="pyarrow") from None
    try:
        names = read_schema(data).names
        number = 0
        for batch in limit_size(read_batches(data, names), names, limit):
            for row in batch.to_pylist():
                number += 1
                yield f"row {number}", row
    except (pa.ArrowException, OSError) as error:
        raise CampaignError(f"cannot read the file as Parquet ({str(error).splitlines()[0]})") from None


def _read_coco(content: object, by_image: bool) -> Iterator[Row]:
    """Yield the captions of annotations or results, or the images of annotations."""
    if isinstance(content, list):
        yield from _list_objects("entries", content)
        return
    parts: Mapping[str, Any] = content if isinstance(content, dict) else {}
    images, captions = (parts.get(name, []) for name in ("images", "annotations"))
    if not isinstance(images, list) or not isinstance(captions, list) or not (images or captions):
        raise CampaignError("the file must be a list of objects, or have a list 'images' or 'annotations'")
    described = list(_list_objects("images", images, _describe_image))
    if by_image or not captions:
        yield from described
        return
    known = {row["image_id"]: row for _, row in described if isinstance(row, dict)}
    for place, row in _list_objects("annotations", captions):
        image = row.get("image_id") if isinstance(row, dict) else None
        about = known.get(image, {}) if isinstance(image, int | str) else {}
        yield place, {**about, **row} if isinstance(row, dict) else row


def _describe_image(row: dict[str, Any]) -> object:
    if not isinstance(row.get("id"), int | str):
        return "'id' must be an integer or a text"
    return {"image_id": row["id"], **{name: value for name, value in row.items() if name != "id"}}


def _list_objects(
    name: str, rows: list[Any], convert: Callable[[dict[str, Any]], object] = lambda row: row
) -> Iterator[Row]:
    for number, row in enumerate(rows):
        is_object = isinstance(row, dict)
        yield (
            f"{name}[{number}]",
            convert(row) if is_object else f"the row must be an object (got {type(row).__name__})",
        )
