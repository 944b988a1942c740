"""Picture URLs of images, from a pattern or from the files in a folder."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Formatter
from urllib.parse import quote, unquote, urlsplit

from capeval.data.captions import ImageId
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import format_images, shorten
from capeval.formats.image_files import SUFFIXES, list_image_files

__all__ = ["embed_pictures", "find_picture_urls", "needs_file_names"]

_FIELDS = ("id", "file_name")
# The formats of browsers, which do not show TIFF.
_ENDINGS = tuple(ending for ending in SUFFIXES if ending not in (".tif", ".tiff"))
_TYPES = {".jpg": "jpeg"}


def needs_file_names(place: str) -> bool:
    """Return whether the file names of images help to find their pictures."""
    return not _is_pattern(place) or "file_name" in _parse_fields(place)


def find_picture_urls(
    place: str, images: Sequence[ImageId], page: Path, *, file_names: Mapping[ImageId, str]
) -> dict[ImageId, str]:
    """Return the URL of each image's picture; a folder may not contain all pictures.

    Args:
        place: A pattern of URLs or paths with `{id}` or `{file_name}`, or a folder with pictures. `{id}` may
            include a format for integers, such as `{id:012}`.
        images: The images.
        page: The path of the page; paths of pictures are relative to it.
        file_names: The known file names of images.

    Raises:
        MismatchError: The pattern needs the file name of an image without one, or the folder contains no
            picture of any image, or several pictures of one image.
        OptionError: `place` is neither a pattern nor a folder.
        OSError: The folder can't be read.
    """
    if _is_pattern(place):
        return _format_addresses(place, images, page, file_names)
    if not Path(place).is_dir():
        raise OptionError(
            f"pictures must be a folder, or a pattern with {{id}} or {{file_name}} (got {shorten(place)})"
        )
    return _find_in_folder(Path(place), images, page, file_names)


def embed_pictures(addresses: Mapping[ImageId, str], page: Path) -> dict[ImageId, str]:
    """Return data URLs that contain the pictures, in place of URLs of files.

    Args:
        addresses: The URLs of files, relative to the page.
        page: The path of the page.

    Raises:
        OptionError: A URL does not refer to a file, or its suffix is not a picture format.
        OSError: A file can't be read.
    """
    made: dict[ImageId, str] = {}
    for image, address in addresses.items():
        path = page.parent / unquote(address)
        ending = path.suffix.lower()
        if urlsplit(address).scheme or ending not in _ENDINGS:
            raise OptionError(
                f"a picture in a page must be a file with the suffix {', '.join(_ENDINGS)}"
                f" (got {shorten(address)})"
            )
        kind = _TYPES.get(ending, ending[1:])
        made[image] = f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
    return made


def _is_pattern(place: str) -> bool:
    return "{" in place


def _parse_fields(pattern: str) -> set[str]:
    """Return the field names in a pattern."""
    try:
        fields = {name for _, name, _, _ in Formatter().parse(pattern) if name is not None}
    except ValueError as error:
        raise OptionError(f"invalid braces in the pattern of pictures ({error})") from None
    if not fields or not fields <= set(_FIELDS):
        raise OptionError(
            f"a pattern of pictures must contain {{id}} or {{file_name}} and no other field"
            f" (got {shorten(pattern)})"
        )
    return fields


def _format_addresses(
    pattern: str, images: Sequence[ImageId], page: Path, file_names: Mapping[ImageId, str]
) -> dict[ImageId, str]:
    missing = [image for image in images if image not in file_names]
    if "file_name" in _parse_fields(pattern) and missing:
        raise MismatchError(f"{format_images(missing)} without a 'file_name' among the references")
    formatted = any(name == "id" and form for _, name, form, _ in Formatter().parse(pattern))
    if formatted and isinstance(images[0], str):
        raise OptionError(
            f"{{id}} can have a format only if ids are integers"
            f" (got {shorten(pattern)} and image {shorten(images[0])})"
        )
    elsewhere = bool(urlsplit(pattern).scheme)
    addresses = {}
    for image in images:
        name = file_names.get(image, "")
        # Values from files are quoted, so that they can't change the rest of the URL.
        shown = image if isinstance(image, int) or not elsewhere else quote(image)
        try:
            made = pattern.format(id=shown, file_name=quote(name) if elsewhere else name)
        except ValueError as error:
            raise OptionError(
                f"the pattern {shorten(pattern)} is invalid for image {image} ({error})"
            ) from None
        addresses[image] = made if elsewhere else _make_relative(Path(made), page)
    return addresses


def _find_in_folder(
    folder: Path, images: Sequence[ImageId], page: Path, file_names: Mapping[ImageId, str]
) -> dict[ImageId, str]:
    files = list_image_files(folder)
    addresses = {}
    for image in images:
        named = file_names.get(image)
        found = [path.name for path in files.get(image, ()) if path.suffix.lower() in _ENDINGS]
        names = [named] if named is not None and (folder / named).is_file() else found
        if len(names) > 1:
            raise MismatchError(
                f"{folder}: image {shorten(image)} must have one picture (got {', '.join(names)})"
            )
        if names:
            addresses[image] = _make_relative(folder / names[0], page)
    if not addresses:
        raise MismatchError(
            f"{folder}: no picture is named after an image, such as {images[0]}.jpg or"
            f" {file_names.get(images[0], f'anything_{images[0]}.jpg')}"
        )
    return addresses


def _make_relative(path: Path, page: Path) -> str:
    return quote(Path(os.path.relpath(path, page.parent)).as_posix())
