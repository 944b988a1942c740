"""Image lists: `image_info` files of COCO and nocaps, and names of image files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from capeval.data.captions import ImageId
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.json import IMAGE_ID, TEXT, Field, check_row, iterate_rows, read_json
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors

__all__ = [
    "ImageInfo",
    "image_info",
    "load_file_names",
    "load_image_fields",
    "load_image_names",
    "load_images",
    "load_listed_fields",
]

# Fields with the name of an image.
_NAMES = ("file_name", "open_images_id")
# Fields with the URL of an image, COCO's own copy first.
_ADDRESSES = ("coco_url", "url", "flickr_url")
_SIZE = Field("an integer of at least 1", lambda value: type(value) is int and value >= 1)


@dataclass(frozen=True, kw_only=True)
class ImageInfo:
    """An image to caption.

    Attributes:
        id: The id.
        file_name: The name of the file; empty if unknown.
        url: The URL of the image; empty if unknown.
        width: The width in pixels; None if unknown.
        height: The height in pixels; None if unknown.
        license: The name of the license; empty if unknown.
        license_url: The URL of the license's text; empty if unknown.
        author: The author. Licenses such as CC BY require this name. Empty if unknown.
    """

    id: ImageId
    file_name: str = ""
    url: str = ""
    width: int | None = None
    height: int | None = None
    license: str = ""
    license_url: str = ""
    author: str = ""


def load_images(file: File, *, name: str = "", limit: int = LIMIT) -> list[ImageInfo]:
    """Read the images of an `image_info` file, in order.

    COCO (such as `image_info_test2014.json`) and nocaps publish such files.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, for error messages.
        limit: The maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file is invalid, contains annotations, or contains an image twice.
        OSError: The file can't be read.
    """
    with add_path_to_errors(file, name):
        content = read_json(file, limit)
        if isinstance(content, dict) and content.get("annotations"):
            message = "an image list must not have 'annotations', which may be private captions; remove them"
            raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, field="annotations")
        licenses = _read_licenses(content)
        images: dict[ImageId, ImageInfo] = {}
        for entry, row in iterate_rows(content, "images", {"id": IMAGE_ID}):
            if row["id"] in images:
                message = f"duplicate image id {row['id']!r} in {entry}.id"
                raise FormatError(message, kind=FormatErrorKind.DUPLICATE, entry=entry, field="id")
            images[row["id"]] = _parse_image(entry, row, licenses)
    return list(images.values())


def load_file_names(file: File) -> dict[ImageId, str]:
    """Return the `file_name` of each image of COCO annotations, if the file has them.

    Args:
        file: The path of a reference file, or its bytes.

    Raises:
        OSError: The file can't be read.
    """
    # Other formats of captions have no file names.
    with suppress(FormatError):
        content = read_json(file)
        if isinstance(content, dict) and isinstance(content.get("images"), list):
            rows = iterate_rows(content, "images", {"id": IMAGE_ID})
            return {row["id"]: row["file_name"] for _, row in rows if TEXT.fits(row.get("file_name"))}
    return {}


def load_image_names(file: File) -> dict[ImageId, str]:
    """Return the file name of each image of an `image_info` file, or its Open Images id.

    Args:
        file: The path of the file, or its bytes.

    Raises:
        FormatError: The file is invalid, contains no image, or an image has no name.
        OSError: The file can't be read.

    Example:
        >>> from capeval.formats.images import load_image_names
        >>> load_image_names(b'{"images": [{"id": 17, "file_name": "0013ea2087020901.jpg"}]}')
        {17: '0013ea2087020901.jpg'}
    """
    names: dict[ImageId, str] = {}
    with add_path_to_errors(file):
        for entry, row in iterate_rows(read_json(file), "images", {"id": IMAGE_ID}):
            key = next((name for name in _NAMES if name in row), _NAMES[0])
            check_row(row, entry, {key: TEXT})
            names[row["id"]] = row[key]
        if not names:
            raise FormatError(
                "the file must contain at least one image (got none)", kind=FormatErrorKind.NO_IMAGES
            )
    return names


def load_image_fields(file: File) -> tuple[dict[ImageId, dict[str, Any]], list[dict[str, Any]]]:
    """Return all fields of each image, and the licenses, of a file in COCO's format.

    Args:
        file: The path of a reference file, or its bytes.

    Returns:
        The fields of each image except its id, and the rows of `licenses`. Both are empty for other formats,
        which have no such fields.

    Raises:
        FormatError: The images or licenses of a file in COCO's format are invalid.
        OSError: The file can't be read.
    """
    try:
        content = read_json(file)
    except FormatError:
        return {}, []
    if not isinstance(content, dict) or not {"images", "annotations"} <= content.keys():
        return {}, []
    return _read_fields(file, content)


def load_listed_fields(file: File) -> tuple[dict[ImageId, dict[str, Any]], list[dict[str, Any]]]:
    """Return all fields of each image, and the licenses, of an `image_info` file.

    Args:
        file: The path of the file, or its bytes.

    Returns:
        The fields of each image except its id, and the rows of `licenses`.

    Raises:
        FormatError: The file is invalid.
        OSError: The file can't be read.

    Example:
        >>> from capeval.formats.images import load_listed_fields
        >>> load_listed_fields(b'{"images": [{"id": 17, "file_name": "0013ea2087020901.jpg"}]}')
        ({17: {'file_name': '0013ea2087020901.jpg'}}, [])
    """
    with add_path_to_errors(file):
        content = read_json(file)
    return _read_fields(file, content)


def _read_fields(file: File, content: Any) -> tuple[dict[ImageId, dict[str, Any]], list[dict[str, Any]]]:
    with add_path_to_errors(file):
        rows = list(iterate_rows(content, "images", {"id": IMAGE_ID}))
        licenses = list(_read_licenses(content).values())
    return {row["id"]: {name: row[name] for name in row if name != "id"} for _, row in rows}, licenses


def _read_licenses(content: Any) -> dict[object, dict[str, Any]]:
    if not isinstance(content, dict) or "licenses" not in content:
        return {}
    return {row["id"]: row for _, row in iterate_rows(content, "licenses", {"id": IMAGE_ID, "name": TEXT})}


def _parse_image(entry: str, row: dict[str, Any], licenses: dict[object, dict[str, Any]]) -> ImageInfo:
    texts = [name for name in ("file_name", "author", *_ADDRESSES) if row.get(name) is not None]
    sizes = [name for name in ("width", "height") if row.get(name) is not None]
    check_row(row, entry, dict.fromkeys(texts, TEXT) | dict.fromkeys(sizes, _SIZE))
    found = licenses.get(row.get("license"), {})
    return ImageInfo(
        id=row["id"],
        file_name=row.get("file_name") or "",
        url=next((row[name] for name in _ADDRESSES if row.get(name)), ""),
        width=row.get("width"),
        height=row.get("height"),
        license=found.get("name", ""),
        license_url=str(found.get("url") or ""),
        author=row.get("author") or "",
    )


def image_info(images: Sequence[ImageInfo]) -> dict[str, Any]:
    """Return the content of an `image_info` file, without unknown fields."""
    licenses = list(dict.fromkeys((image.license, image.license_url) for image in images if image.license))
    numbers = {pair: number for number, pair in enumerate(licenses, start=1)}

    def row(image: ImageInfo) -> dict[str, Any]:
        known = {
            "id": image.id,
            "file_name": image.file_name,
            "coco_url": image.url,
            "width": image.width,
            "height": image.height,
            "license": numbers.get((image.license, image.license_url)),
            "author": image.author,
        }
        return {name: value for name, value in known.items() if value not in ("", None)}

    return {
        "images": [row(image) for image in images],
        "licenses": [{"id": number, "name": name, "url": url} for (name, url), number in numbers.items()],
    }
