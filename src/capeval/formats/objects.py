"""Which objects are in which image: the annotations of Open Images and of COCO."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from capeval.errors import FormatError
from capeval.formats.sources import LIMIT, read_source
from capeval.types import ImageId

__all__ = [
    "Objects",
    "load_class_hierarchy",
    "load_class_names",
    "load_coco_objects",
    "load_open_images_objects",
    "read_json",
]

Objects = dict[ImageId, dict[str, int]]
"""The number of instances of each class, by image and the class's name."""


def load_class_names(path: str | Path, *, limit: int = LIMIT) -> dict[str, str]:
    """The names of Open Images classes by their labels, from `class-descriptions-boxable.csv`.

    The file's columns are the label (`/m/...`) and the name; a first line that names them may be there.

    Raises:
        FormatError: The file is something else; the error says which line.
        OSError: The file can't be read.
    """
    names: dict[str, str] = {}
    with _naming(path):
        for number, row in _rows(path, limit):
            if number == 1 and row[:1] == ["LabelName"]:
                continue
            if len(row) != 2 or not row[0].startswith("/"):
                raise _wrong(number, "a label such as /m/01g317 and a name", row)
            if row[0] in names:
                raise _wrong(number, "another label than the lines before", row)
            names[row[0]] = row[1]
    if not names:
        raise FormatError("the file must name at least one class (got none)", kind="NoClasses", path=path)
    return names


def load_class_hierarchy(
    path: str | Path, names: Mapping[str, str], *, limit: int = LIMIT
) -> dict[str, frozenset[str]]:
    """All classes below each class of Open Images, from `bbox_labels_600_hierarchy.json`.

    Only `Subcategory` counts: a `Part`, such as a person's nose, is not a kind of what it is part of.

    Args:
        path: The file.
        names: The names of the classes by their labels.
        limit: The most bytes that the file may have, also unpacked.

    Returns:
        The names of the classes below, by name; without the root, which has no name.

    Raises:
        FormatError: The file is something else, or has a label without a name.
        OSError: The file can't be read.
    """
    below: dict[str, set[str]] = {}
    stack: list[tuple[Any, tuple[str, ...]]] = []
    with _naming(path):
        root = read_json(path, limit)
        stack += [(child, ()) for child in _children(root)]
        while stack:
            node, above = stack.pop()
            children = _children(node)
            if node["LabelName"] not in names:
                message = f"every label must have a name (got {node['LabelName']!r} without one)"
                raise FormatError(message, kind="UnknownClass")
            name = names[node["LabelName"]]
            below.setdefault(name, set())
            for ancestor in above:
                below[ancestor].add(name)
            stack += [(child, (*above, name)) for child in children]
    return {name: frozenset(classes) for name, classes in below.items()}


def load_open_images_objects(path: str | Path, names: Mapping[str, str], *, limit: int = LIMIT) -> Objects:
    """The objects of images from a file of boxes of Open Images (`validation-annotations-bbox.csv`).

    Of its columns `ImageID` and `LabelName` are read. A box around a group counts as one instance.

    Args:
        path: The file.
        names: The names of the classes by their labels.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else, or a label has no name; the error says which line.
        OSError: The file can't be read.
    """
    objects: Objects = {}
    with _naming(path):
        rows = _rows(path, limit)
        columns = next(rows, (1, []))[1]
        missing = [column for column in ("ImageID", "LabelName") if column not in columns]
        if missing:
            message = f"the file must have the column {missing[0]} (got {', '.join(columns) or 'none'})"
            raise FormatError(message, kind="MissingField", field=missing[0])
        image, label = columns.index("ImageID"), columns.index("LabelName")
        for number, row in rows:
            if len(row) != len(columns):
                raise _wrong(number, f"{len(columns)} columns", row)
            if row[label] not in names:
                raise _wrong(number, "a label that has a name", [row[label]])
            _count(objects, row[image], names[row[label]])
    return objects


def load_coco_objects(path: str | Path, *, limit: int = LIMIT) -> Objects:
    """The objects of images from a file of COCO instances (`instances_val2017.json`).

    Images without an annotation have no class. A crowd counts as one instance.

    Raises:
        FormatError: The file is something else; the error says which entry.
        OSError: The file can't be read.
    """
    with _naming(path):
        content = read_json(path, limit)
        if not isinstance(content, dict):
            raise FormatError("the file must be an object", kind="WrongType")
        names = {entry["id"]: str(entry["name"]) for entry in _entries(content, "categories", ("id", "name"))}
        images = _entries(content, "images", ("id",))
        objects: Objects = {entry["id"]: {} for entry in images}
        annotations = _entries(content, "annotations", ("image_id", "category_id"))
        for position, entry in enumerate(annotations):
            where = f"annotations[{position}]"
            for field, known in (("image_id", objects), ("category_id", names)):
                if entry[field] not in known:
                    message = f"{where}.{field} must be one the file lists (got {entry[field]!r})"
                    raise FormatError(message, kind="UnknownClass", entry=where, field=field)
            _count(objects, entry["image_id"], names[entry["category_id"]])
    return objects


@contextmanager
def _naming(path: str | Path) -> Iterator[None]:
    """Names the file in what goes wrong."""
    try:
        yield
    except FormatError as error:
        raise error.in_file(path) from None


def _count(objects: Objects, image: ImageId, name: str) -> None:
    classes = objects.setdefault(image, {})
    classes[name] = classes.get(name, 0) + 1


def _rows(path: str | Path, limit: int) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with the number of their lines."""
    try:
        text = read_source(path, limit).data.decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""))
        for row in reader:
            yield reader.line_num, row
    except UnicodeDecodeError as error:
        raise FormatError(f"the file is not UTF-8 ({error.reason})", kind="NotUtf8") from None
    except csv.Error as error:
        raise FormatError(f"the file is not CSV ({error})", kind="NotCsv") from None


def read_json(path: str | Path, limit: int = LIMIT) -> Any:
    """What is in a JSON file.

    Raises:
        FormatError: The file is not JSON.
        OSError: The file can't be read.
    """
    try:
        return json.loads(read_source(path, limit).data)
    except (ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"the file is not JSON ({error})", kind="NotJson") from None


def _children(node: Any) -> Sequence[Any]:
    found = node.get("Subcategory", []) if isinstance(node, dict) else None
    if not isinstance(found, list) or not isinstance(node.get("LabelName"), str):
        message = "every class must be an object with LabelName, and Subcategory a list"
        raise FormatError(message, kind="WrongType")
    return found


def _entries(content: dict[str, Any], name: str, fields: Sequence[str]) -> list[Any]:
    entries = content.get(name)
    if not isinstance(entries, list):
        raise FormatError(f"the file must have a list {name!r}", kind="MissingField", field=name)
    for position, entry in enumerate(entries):
        for field in fields:
            if not isinstance(entry, dict) or type(entry.get(field)) not in (int, str):
                where = f"{name}[{position}]"
                message = f"{where}.{field} must be an integer or a string"
                raise FormatError(message, kind="WrongType", entry=where, field=field)
    return entries


def _wrong(line: int, expected: str, row: Sequence[str]) -> FormatError:
    message = f"line {line} must have {expected} (got {', '.join(row)[:60]!r})"
    return FormatError(message, kind="WrongType", line=line)
