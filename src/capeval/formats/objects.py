"""Which objects are in which image, and COCO's annotations of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from capeval.errors import FormatError
from capeval.formats.sources import LIMIT, read_source
from capeval.types import ImageId

__all__ = ["Objects", "load_coco_objects", "naming", "read_json"]

Objects = dict[ImageId, dict[str, int]]
"""The number of instances of each class, by image and the class's name."""


def load_coco_objects(path: str | Path, *, limit: int = LIMIT) -> Objects:
    """The objects of images from a file of COCO instances (`instances_val2017.json`).

    Images without an annotation have no class. A crowd counts as one instance.

    Raises:
        FormatError: The file is something else; the error says which entry.
        OSError: The file can't be read.
    """
    with naming(path):
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
            counts, name = objects[entry["image_id"]], names[entry["category_id"]]
            counts[name] = counts.get(name, 0) + 1
    return objects


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Names the file in what goes wrong."""
    try:
        yield
    except FormatError as error:
        raise error.in_file(path) from None


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
