"""Columns of item tables: recognition by their names, and conversion of rows to items."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any

from capeval.errors.messages import format_names
from capeval.formats.image_files import SUFFIXES
from capeval.toolkit import unescape_cell
from capeval_server.annotation.campaigns.item_tables import ItemTable, Row
from capeval_server.annotation.task_types import TaskType
from capeval_server.core.errors import CampaignError, ColumnsError

__all__ = [
    "COMMON_PARTS",
    "ColumnMap",
    "Part",
    "build_rows",
    "check_columns",
    "find_images",
    "is_by_image",
    "list_parts",
    "recognize_columns",
    "validate_columns",
]

ColumnMap = Mapping[str, str | Mapping[str, str]]
"""The column of each part of an item, or `{"text": ...}` for a text that all rows share.

An empty name ignores a recognized column."""

_IMAGE = ("file_name", "filename", "file", "image_file", "image_name", "img", "picture", "path", "image_path")
_IMAGE_IDS = ("image_id", "imageid", "img_id", "imgid", "cocoid", "coco_id")
# Other names of the parts that items of all task types have. Files of captions have the id of an image.
_ALIASES: dict[str, tuple[str, ...]] = {
    "image": (*_IMAGE, *_IMAGE_IDS, "id"),
    "image_id": _IMAGE_IDS[1:],
    "key": ("item", "item_id", "id", *_IMAGE_IDS),
    "group": ("pair",),
    "category": ("class", "domain", "split"),
    "expected": ("answer", "gold"),
}
COMMON_PARTS = ("key", "group", "category", "expected", "training", "explanation")
"""Optional parts of the items of all task types."""

_FLAGS = {"": False, "false": False, "no": False, "0": False, "true": True, "yes": True, "1": True}
_LAST_NUMBER = re.compile(r"(?:^|_)0*(\d+)$")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of an item, which a column can contain.

    Attributes:
        name: Name of the part in item files.
        is_required: Whether each item has the part.
        aliases: Names of columns that contain the part, its own name first.
    """

    name: str
    is_required: bool
    aliases: tuple[str, ...]


def list_parts(task: TaskType) -> list[Part]:
    """Return the parts of the items of a task type, required ones first."""
    names = ["image"] if task.needs_image else []
    names += [name for name in task.example if name not in COMMON_PARTS]
    names += [name for name in (*task.optional_parts, *COMMON_PARTS) if name not in names]
    optional = {*task.optional_parts, *COMMON_PARTS}
    aliases = {**_ALIASES, **task.aliases}
    found = [
        Part(name=name, is_required=name not in optional, aliases=(name, *aliases.get(name, ())))
        for name in names
    ]
    return sorted(found, key=lambda part: not part.is_required)


def is_by_image(task: TaskType) -> bool:
    """Return whether an image alone can be an item of a task type."""
    return all(part.name == "image" for part in list_parts(task) if part.is_required)


def recognize_columns(task: TaskType, table: ItemTable, file_name: str) -> dict[str, str | Mapping[str, str]]:
    """Return the column of each part that is recognized by its name.

    A column of keys must be unique and not empty; otherwise, keys are created.

    Args:
        task: Task type of the items.
        table: The table.
        file_name: Name of the table's file, for parts that default to it.
    """
    columns: dict[str, str] = {}
    for name in table.columns:
        columns.setdefault("_".join(name.casefold().replace("-", " ").split()), name)
    stem = PurePosixPath(file_name).name.partition(".")[0]
    found: dict[str, str | Mapping[str, str]] = {name: {"text": stem} for name in task.file_parts}
    for part in list_parts(task):
        for alias in part.aliases:
            column = columns.get(alias)
            if column is not None and (part.name != "key" or _is_unique(table, column)):
                found[part.name] = column
                break
    return found


def _is_unique(table: ItemTable, column: str) -> bool:
    values = [str(row.get(column) or "").strip() for _, row in table.rows]
    return all(values) and len(set(values)) == len(values)


def check_columns(name: str, found: Mapping[str, Any]) -> ColumnMap:
    """Return the part `columns` of a campaign's file.

    Raises:
        CampaignError: A value is neither a text nor `{text = ...}`.
    """
    for part, column in found.items():
        is_text = isinstance(column, dict) and column.keys() == {"text"} and isinstance(column["text"], str)
        if not isinstance(column, str) and not is_text:
            raise CampaignError(
                f'{name}: columns.{part} must be the name of a column, or {{ text = "..." }} (got {column!r})'
            )
    return found


def validate_columns(task: TaskType, table: ItemTable, columns: ColumnMap) -> None:
    """Check that each required part has a column, and that all parts and columns exist.

    Raises:
        ColumnsError: A part or a column is unknown, or a required part has no column.
    """
    parts = {part.name: part for part in list_parts(task)}
    known = f"(columns: {format_names(table.columns)})"
    for name, column in columns.items():
        if name not in parts:
            raise ColumnsError(f"unknown part {name!r} of an item (allowed: {', '.join(parts)})")
        if isinstance(column, str) and column not in table.columns:
            raise ColumnsError(f"no column {column!r} for {name!r} {known}")
    missing = [name for name, part in parts.items() if part.is_required and name not in columns]
    if missing:
        raise ColumnsError(f"no column for {format_names(missing)} {known}; assign it in 'columns'")


def build_rows(
    task: TaskType,
    table: ItemTable,
    columns: ColumnMap,
    images: Collection[str] | None,
    taken: Collection[str] = (),
) -> list[Row]:
    """Return the items of a table as in an item file, or the problem of each invalid row.

    Args:
        task: Task type of the items.
        table: The table.
        columns: The column of each part.
        images: Names of the image files, to which the names or ids of the table are matched; None if unknown.
        taken: Keys that created keys must differ from.
    """
    matched = _match_images(images) if images is not None else {}
    rows: list[Row] = []
    for place, cells in table.rows:
        try:
            item = _build_item(task, cells, columns)
            if "image" in item and images is not None:
                item["image"] = _find_image(item["image"], images, matched)
        except CampaignError as error:
            rows.append((place, str(error)))
        else:
            rows.append((place, item))
    if "key" not in columns:
        _add_keys(rows, taken)
    return rows


def _build_item(task: TaskType, cells: Mapping[str, Any], columns: ColumnMap) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for name, column in columns.items():
        value = column["text"] if isinstance(column, Mapping) else _clean(cells.get(column))
        if value in (None, "", [], {}):
            continue
        item[name] = _convert(task, name, value)
    if item.get("training") is False:
        del item["training"]
    for part in list_parts(task):
        if part.is_required and part.name not in item:
            raise CampaignError(f"{part.name!r} must not be empty (column {columns[part.name]!r})")
    return item


def _clean(value: object) -> object:
    """Return a cell without white space at its ends, and without the escape of formulas."""
    if isinstance(value, str):
        return unescape_cell(value).strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


def _convert(task: TaskType, name: str, value: object) -> object:
    if name == "training" and isinstance(value, str):
        if value.casefold() not in _FLAGS:
            raise CampaignError(f"'training' must be true or false (got {value!r})")
        return _FLAGS[value.casefold()]
    if name == "expected" and isinstance(value, str):
        return _parse_expected(task, value)
    if isinstance(task.example.get(name), list) and isinstance(value, str):
        if value.startswith("["):
            return _parse_json(name, value)
        return [word.strip() for word in re.split("[;,|]", value) if word.strip()]
    return value


def _parse_expected(task: TaskType, text: str) -> object:
    if text.startswith("{"):
        return _parse_json("expected", text)
    names = [task.written] if task.written else list(task.choices)
    if len(names) != 1:
        raise CampaignError(f"'expected' must be a JSON object with {', '.join(names)} (got {text[:40]!r})")
    return {names[0]: text}


def _parse_json(name: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise CampaignError(f"{name!r} must be valid JSON (got {text[:40]!r})") from None


def _match_images(names: Collection[str]) -> dict[str, str]:
    """Return the image of each base name, stem, and number at the end of a stem, if it is unambiguous."""
    found: dict[str, set[str]] = {}
    for name in names:
        path = PurePosixPath(name)
        number = _LAST_NUMBER.search(path.stem)
        for text in {path.name, path.stem, *([number[1]] if number else [])}:
            found.setdefault(text, set()).add(name)
    return {text: next(iter(images)) for text, images in found.items() if len(images) == 1}


def _find_image(value: object, images: Collection[str], matched: Mapping[str, str]) -> str:
    if not isinstance(value, str):
        raise CampaignError(f"'image' must be the name of an image file (got {value!r})")
    base = PurePosixPath(value.replace("\\", "/")).name
    for name in (value, matched.get(base), matched.get(base.lstrip("0"))):
        if name is not None and name in images:
            return name
    near = get_close_matches(value, images, n=1) if len(images) <= 5000 else []
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise CampaignError(f"no image file {value[:200]!r}{hint}")


def _add_keys(rows: list[Row], taken: Collection[str]) -> None:
    """Add a key to each item: the stem of its image, with a number if it occurs again."""
    stems = [
        PurePosixPath(str(item["image"])).stem if isinstance(item, dict) and "image" in item else "item"
        for _, item in rows
    ]
    total, so_far = Counter(stems), Counter[str]()
    for (_, item), stem in zip(rows, stems, strict=True):
        numbered = total[stem] > 1 or stem == "item" or stem[:100] in taken
        so_far[stem] += 1
        while numbered and f"{stem[:80]}-{so_far[stem]}" in taken:
            so_far[stem] += 1
        if isinstance(item, dict):
            item["key"] = f"{stem[:80]}-{so_far[stem]}" if numbered else stem[:100]


def find_images(names: Iterable[str]) -> list[str]:
    """Return the names that are those of images, by their endings, in natural order."""
    found = [name for name in names if PurePosixPath(name).suffix.lower() in SUFFIXES]
    return sorted(found, key=_natural)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    parts = [part for part in re.split(r"([0-9]+)", name) if part]
    return [(False, int(part), "") if part.isdecimal() else (True, 0, part) for part in parts]
