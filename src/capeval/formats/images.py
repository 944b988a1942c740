"""Lists of images: COCO's `image_info` files, as nocaps has them too, and the file names in annotations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from capeval.data.captions import ImageId
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.json import IMAGE_ID, TEXT, Field, check_row, json_rows, read_json
from capeval.formats.io.sources import LIMIT, File, naming

__all__ = ["ImageInfo", "image_info", "load_file_names", "load_images"]

# Where an image can be had: COCO's own copy first.
_ADDRESSES = ("coco_url", "url", "flickr_url")
_SIZE = Field("an integer of at least 1", lambda value: type(value) is int and value >= 1)


@dataclass(frozen=True, kw_only=True)
class ImageInfo:
    """An image to caption.

    Attributes:
        id: Its id.
        file_name: The name of its file; empty where it is not known.
        url: Where it can be had; empty where that is not known.
        width: Its width in pixels.
        height: Its height in pixels.
        license: The name of its license.
        license_url: The license's text.
    """

    id: ImageId
    file_name: str = ""
    url: str = ""
    width: int | None = None
    height: int | None = None
    license: str = ""
    license_url: str = ""


def load_images(file: File, *, name: str = "", limit: int = LIMIT) -> list[ImageInfo]:
    """The images of an `image_info` file, in order (`image_info_test2014.json` of COCO, nocaps's likewise).

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, which errors have.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else, or has annotations, or an image twice.
        OSError: The file can't be read.
    """
    with naming(file, name):
        content = read_json(file, limit)
        if isinstance(content, dict) and content.get("annotations"):
            message = (
                "a list of images must have no 'annotations': they may be captions that nobody should see"
            )
            raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, field="annotations")
        licenses = _licenses(content)
        images: dict[ImageId, ImageInfo] = {}
        for entry, row in json_rows(content, "images", {"id": IMAGE_ID}):
            if row["id"] in images:
                message = f"{entry}.id must occur once (got {row['id']!r} again)"
                raise FormatError(message, kind=FormatErrorKind.DUPLICATE, entry=entry, field="id")
            images[row["id"]] = _image(entry, row, licenses)
    return list(images.values())


def load_file_names(file: File) -> dict[ImageId, str]:
    """The `file_name` of each of the `images` of COCO annotations; none where the file has no such list.

    Args:
        file: The path of a file of references, or its bytes.

    Raises:
        OSError: The file can't be read.
    """
    # Captions come in other formats too, which have no names of files.
    with suppress(FormatError):
        content = read_json(file)
        if isinstance(content, dict) and isinstance(content.get("images"), list):
            rows = json_rows(content, "images", {"id": IMAGE_ID})
            return {row["id"]: row["file_name"] for _, row in rows if TEXT.fits(row.get("file_name"))}
    return {}


def _licenses(content: Any) -> dict[object, dict[str, Any]]:
    if not isinstance(content, dict) or "licenses" not in content:
        return {}
    return {row["id"]: row for _, row in json_rows(content, "licenses", {"id": IMAGE_ID, "name": TEXT})}


def _image(entry: str, row: dict[str, Any], licenses: dict[object, dict[str, Any]]) -> ImageInfo:
    texts = [name for name in ("file_name", *_ADDRESSES) if row.get(name) is not None]
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
    )


def image_info(images: Sequence[ImageInfo]) -> dict[str, Any]:
    """The content of an `image_info` file of some images; what is not known is left out."""
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
        }
        return {name: value for name, value in known.items() if value not in ("", None)}

    return {
        "images": [row(image) for image in images],
        "licenses": [{"id": number, "name": name, "url": url} for (name, url), number in numbers.items()],
    }
