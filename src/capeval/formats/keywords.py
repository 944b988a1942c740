"""Keywords of images, as shown to annotators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from capeval.data.captions import ImageId
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.images import load_image_fields
from capeval.formats.io.json import TEXT, Field, check_row, read_json_lines
from capeval.formats.io.sources import File, add_path_to_errors

__all__ = ["load_keywords"]


def _are_keywords(value: object) -> bool:
    return isinstance(value, list) and all(type(each) is str and each.strip() for each in value)


_KEYWORDS = {"keywords": Field("a list of words or phrases", _are_keywords)}


def load_keywords(file: File) -> dict[ImageId, tuple[str, ...]]:
    r"""Read the keywords of images, from the items of a campaign or from a release of its captions.

    Each line of a file of items has a `key`, the image id, and may have `keywords` (`items.jsonl`). In a
    release, which is a file in COCO's format, images may have `keywords`.

    Args:
        file: The path of the file, or its bytes.

    Returns:
        The keywords of each image that has some.

    Raises:
        FormatError: The file is invalid, contains an image twice, or has no keywords.
        OSError: The file can't be read.

    Example:
        >>> from capeval.formats.keywords import load_keywords
        >>> load_keywords(b'{"key": "3f", "image": "3f.jpg", "keywords": ["Red panda", "Tree"]}\n')
        {'3f': ('Red panda', 'Tree')}
    """
    found: dict[ImageId, tuple[str, ...]] = {}
    with add_path_to_errors(file):
        images, _ = load_image_fields(file)
        rows = ((f"image {image!r}", image, row) for image, row in images.items())
        for entry, image, row in rows if images else _iterate_items(file):
            if image in found:
                message = f"{entry}: duplicate key {image!r}"
                raise FormatError(message, kind=FormatErrorKind.DUPLICATE_IMAGE, entry=entry)
            if row.get("keywords", []) != []:
                found[image] = tuple(check_row(row, entry, _KEYWORDS)["keywords"])
        if not found:
            raise FormatError(
                "the file must contain 'keywords' of at least one image (got none)",
                kind=FormatErrorKind.EMPTY,
            )
    return found


def _iterate_items(file: File) -> Iterator[tuple[str, ImageId, Mapping[str, Any]]]:
    for number, value in read_json_lines(file):
        row = check_row(value, f"line {number}", {"key": TEXT})
        yield f"line {number}", row["key"], row
