"""Named subsets of images."""

from __future__ import annotations

from typing import Any

from capeval.data.captions import ImageId
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.json import (
    IMAGE_ID,
    TEXT,
    check_row,
    format_value,
    iterate_rows,
    raise_type_error,
    read_json,
)
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors

__all__ = ["load_subsets"]

_LABELS = ("domain", "split", "subset")


def load_subsets(file: File, *, name: str = "", limit: int = LIMIT) -> dict[str, list[ImageId]]:
    """Read subsets from a JSON file, which may be compressed.

    The file has one of these forms:

    - a mapping of subset names to lists of image ids;
    - a list of `{"image_id", "domain"}`, as in the captions of nocaps, with one subset per domain. The key
      may also be `split` or `subset`. In COCO form, `images` is such a list, with `id`.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, for error messages.
        limit: The maximum size of the file in bytes, also after decompression.

    Returns:
        The image ids of each subset by name.

    Raises:
        FormatError: The file has none of these forms, or is invalid.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats import load_subsets
        >>> _ = Path("subsets.json").write_text('{"animals": [1, 2], "vehicles": [3]}')
        >>> load_subsets("subsets.json")
        {'animals': [1, 2], 'vehicles': [3]}

        The captions of nocaps contain the domain of each image:

        >>> load_subsets(b'[{"image_id": 7, "domain": "in-domain"}, {"image_id": 8, "domain": "out-domain"}]')
        {'in-domain': [7], 'out-domain': [8]}
    """
    with add_path_to_errors(file, name):
        content = read_json(file, limit)
        if isinstance(content, dict) and isinstance(content.get("images"), list):
            images = content["images"]
            # COCO's `images` is a list of objects; a subset named "images" is a list of ids.
            if images and isinstance(images[0], dict):
                return _group_by_label(content, "images", "id")
        if isinstance(content, dict):
            return {name: _parse_image_ids(name, ids) for name, ids in _require_some(content).items()}
        if not isinstance(content, list):
            raise_type_error("the file", "a mapping of names to image ids, or a list of objects", content)
        return _group_by_label(content, None, "image_id")


def _require_some(content: dict[str, Any]) -> dict[str, Any]:
    if not content:
        raise FormatError(
            "the file must have at least one subset (got none)", kind=FormatErrorKind.WRONG_TYPE
        )
    return content


def _parse_image_ids(name: str, ids: object) -> list[ImageId]:
    if not isinstance(ids, list) or not ids:
        raise_type_error(format_value(name), "a list of image ids, at least one", ids)
    seen: set[ImageId] = set()
    for position, image in enumerate(ids):
        entry = f"{format_value(name)}[{position}]"
        if not IMAGE_ID.fits(image):
            raise_type_error(entry, IMAGE_ID.expected, image)
        if image in seen:
            message = f"duplicate image id {format_value(image)} in {entry}"
            raise FormatError(message, kind=FormatErrorKind.DUPLICATE_IMAGE, entry=entry)
        seen.add(image)
    return ids


def _group_by_label(content: object, key: str | None, id_key: str) -> dict[str, list[ImageId]]:
    subsets: dict[str, dict[ImageId, None]] = {}
    for entry, row in iterate_rows(content, key, {id_key: IMAGE_ID}):
        label_key = next((label for label in _LABELS if label in row), None)
        if label_key is None:
            message = f"{entry} must have one of the keys {', '.join(map(repr, _LABELS))}"
            raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, entry=entry)
        check_row(row, entry, {label_key: TEXT})
        # An image may have one entry per caption.
        subsets.setdefault(row[label_key], {})[row[id_key]] = None
    return {name: list(images) for name, images in _require_some(subsets).items()}
