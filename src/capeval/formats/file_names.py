"""The file names of images, which COCO annotations give."""

from __future__ import annotations

from contextlib import suppress

from capeval.errors import FormatError
from capeval.formats.json import IMAGE_ID, TEXT, json_rows, read_json
from capeval.formats.sources import File
from capeval.types import ImageId

__all__ = ["load_file_names"]


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
