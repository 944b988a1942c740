"""What captions of images shall mention: files of constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from capeval._internal.atomic_write import written_whole
from capeval.data.captions import ImageId
from capeval.errors import FormatError, FormatErrorKind
from capeval.errors.messages import shortened
from capeval.formats.io.json import IMAGE_ID, TEXT, Field, check_row, json_bytes, json_rows, read_json
from capeval.formats.io.sources import LIMIT, File, naming

__all__ = ["ImageConstraints", "constraints_bytes", "load_constraints", "write_constraints"]

ImageConstraints = dict[str, tuple[str, ...]]
"""The phrases of each constraint of an image, by its name, such as the class of an object."""

_LIST = Field("a list", lambda value: isinstance(value, list))
_PHRASES = Field(
    "a list of strings, at least one",
    lambda value: isinstance(value, list) and bool(value) and all(type(each) is str for each in value),
)


def load_constraints(file: File, *, name: str = "", limit: int = LIMIT) -> dict[ImageId, ImageConstraints]:
    """The constraints of each image, from what `capeval baselines constraints --output` writes.

    The file is a list of objects with `image_id` and `constraints`, a list of objects with `name` and
    `phrases`.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, for errors.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else, or has an image or a name of an image twice.
        OSError: The file can't be read.
    """
    images: dict[ImageId, ImageConstraints] = {}
    with naming(file, name):
        for entry, row in json_rows(
            read_json(file, limit), None, {"image_id": IMAGE_ID, "constraints": _LIST}
        ):
            found: ImageConstraints = {}
            for at, each in enumerate(row["constraints"]):
                place = f"{entry}.constraints[{at}]"
                checked = check_row(each, place, {"name": TEXT, "phrases": _PHRASES})
                if checked["name"] in found:
                    raise _repeated(place, "name", checked["name"])
                found[checked["name"]] = tuple(checked["phrases"])
            if row["image_id"] in images:
                raise _repeated(entry, "image_id", row["image_id"])
            images[row["image_id"]] = found
    return images


def _repeated(entry: str, field: str, value: object) -> FormatError:
    message = f"{entry}.{field} must be another one than before (got {shortened(value)} again)"
    return FormatError(message, kind=FormatErrorKind.DUPLICATE, entry=entry, field=field)


def constraints_bytes(images: Mapping[ImageId, Mapping[str, Sequence[str]]]) -> bytes:
    """The bytes of a file of constraints."""
    return json_bytes(
        [
            {
                "image_id": image,
                "constraints": [{"name": name, "phrases": list(phrases)} for name, phrases in found.items()],
            }
            for image, found in images.items()
        ]
    )


def write_constraints(images: Mapping[ImageId, Mapping[str, Sequence[str]]], path: str | Path) -> None:
    """Writes a file of constraints, whole or not at all.

    Raises:
        OSError: The file can't be written.
    """
    with written_whole(path) as file:
        file.write(constraints_bytes(images))
