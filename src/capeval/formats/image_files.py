"""Files of images in a folder, by image id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from capeval.data.captions import ImageId
from capeval.errors import MismatchError
from capeval.errors.messages import format_images, shorten

__all__ = ["SUFFIXES", "find_image_files", "list_image_files"]

SUFFIXES = (".avif", ".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
"""The suffixes of image files."""

_TRAILING_NUMBER = re.compile(r"\d+$")
# The digits at the end of an Open Images id, such as 0013ea2087020901, are not a number.
_OPEN_IMAGES_ID = re.compile(r"[0-9a-f]{16}")


def list_image_files(folder: Path) -> dict[ImageId, list[Path]]:
    """Return the image files in a folder by each id that their names can match.

    These ids are the name, the name without its suffix, and the number at its end.

    Raises:
        OSError: The folder can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.image_files import list_image_files
        >>> Path("val").mkdir()
        >>> Path("val", "COCO_val2014_000000000042.jpg").touch()
        >>> list(list_image_files(Path("val")))
        ['COCO_val2014_000000000042.jpg', 'COCO_val2014_000000000042', 42]
    """
    found: dict[ImageId, list[Path]] = {}
    for path in sorted(each for each in folder.iterdir() if each.suffix.lower() in SUFFIXES):
        number = None if _OPEN_IMAGES_ID.fullmatch(path.stem) else _TRAILING_NUMBER.search(path.stem)
        ids: list[ImageId] = [path.name, path.stem]
        if number:
            ids.append(int(number[0]))
        for image in ids:
            found.setdefault(image, []).append(path)
    return found


def find_image_files(
    folder: Path, images: Iterable[ImageId], names: Mapping[ImageId, str] | None = None
) -> list[Path]:
    """Return the file of each image, for metrics that read images.

    Args:
        folder: The folder with the files.
        images: The images, such as `references.references` in the kernel of a metric.
        names: The file name of each image, with or without its suffix, such as those of
            `capeval.formats.images.load_image_names`. By default, file names contain the id, as in `42.jpg`
            and `COCO_val2014_000000000042.jpg`.

    Returns:
        The files, in the order of the images.

    Raises:
        MismatchError: An image has no file or several files, or no name in `names`.
        OSError: The folder can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.image_files import find_image_files
        >>> Path("photos").mkdir()
        >>> Path("photos", "photo_7.png").touch()
        >>> [file.name for file in find_image_files(Path("photos"), [7])]
        ['photo_7.png']
    """
    images = list(images)
    found = list_image_files(folder)
    if names is not None:
        unnamed = [image for image in images if image not in names]
        if unnamed:
            raise MismatchError(f"{format_images(unnamed)} without a file name in the list of images")
    keys = images if names is None else [names[image] for image in images]
    missing = [image for image, key in zip(images, keys, strict=True) if key not in found]
    if missing:
        expected = f"{missing[0]}.jpg" if names is None else shorten(names[missing[0]])
        raise MismatchError(f"{folder}: {format_images(missing)} without a file, such as {expected}")
    for image, key in zip(images, keys, strict=True):
        if len(found[key]) > 1:
            files = ", ".join(path.name for path in found[key])
            raise MismatchError(f"{folder}: image {shorten(image)} must have one file (got {files})")
    return [found[key][0] for key in keys]
