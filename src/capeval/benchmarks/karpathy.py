"""The Karpathy splits of COCO (Karpathy and Fei-Fei 2015): 5,000 images of val2014 each for val and test."""

from __future__ import annotations

from pathlib import Path

from capeval.benchmarks import coco
from capeval.errors import FormatError, MismatchError
from capeval.formats.sources import LIMIT, read_source
from capeval.types import References

__all__ = ["load_images", "references"]


def load_images(path: str | Path) -> list[int]:
    """The ids of the images that a list names.

    Each line has an image's path and its id: `val2014/COCO_val2014_000000391895.jpg 391895`.

    Raises:
        FormatError: The file is something else, or names an image twice; the error says which line.
        OSError: The file can't be read.
    """
    images: dict[int, None] = {}
    text = read_source(path, LIMIT).data.decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        identifier = line.rpartition(" ")[2]
        if " " not in line or not (identifier.isascii() and identifier.isdigit() and len(identifier) < 19):
            message = f"line {number} must have an image's path and its id (got {line[:60]!r})"
            raise FormatError(message, kind="WrongType", line=number, path=path)
        if int(identifier) in images:
            message = f"line {number} must name another image than the lines before (got {line[:60]!r})"
            raise FormatError(message, kind="DuplicateImage", line=number, path=path)
        images[int(identifier)] = None
    if not images:
        raise FormatError("the file must name at least one image (got none)", kind="NoImages", path=path)
    return list(images)


def references(path: str | Path) -> References:
    """The references of the images that a list names, from the installed `pycocoevalcap`.

    Raises:
        FormatError: The file is not such a list.
        MismatchError: An image is not one of val2014.
        ResourceError: `pycocoevalcap` is not installed, or its file is damaged.
        OSError: The file can't be read.
    """
    images = load_images(path)
    captions = coco.captions("val2014")
    unknown = [image for image in images if image not in captions]
    if unknown:
        raise MismatchError(f"{path}: image {unknown[0]} must be of val2014 ({len(unknown):,} are not)")
    return captions.select(images)
