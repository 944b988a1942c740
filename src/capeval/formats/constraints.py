"""Constraint files: phrases that the captions of images must mention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from capeval._internal.atomic_write import atomic_write
from capeval.data.captions import ImageId
from capeval.errors import FormatError, FormatErrorKind
from capeval.errors.messages import shorten
from capeval.formats.io.json import IMAGE_ID, TEXT, Field, check_row, iterate_rows, read_json, to_json_bytes
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors

__all__ = ["ImageConstraints", "constraints_bytes", "load_constraints", "write_constraints"]

ImageConstraints = dict[str, tuple[str, ...]]
"""The phrases of an image's constraints by constraint name, such as an object class."""

_LIST = Field("a list", lambda value: isinstance(value, list))
_PHRASES = Field(
    "a list of strings, at least one",
    lambda value: isinstance(value, list) and bool(value) and all(type(each) is str for each in value),
)


def load_constraints(file: File, *, name: str = "", limit: int = LIMIT) -> dict[ImageId, ImageConstraints]:
    """Read the constraints of each image, as written by `write_constraints`.

    `capeval baselines constraints --output` also writes such files. The file is a list of objects with
    `image_id` and `constraints`, a list of objects with `name` and `phrases`.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, for error messages.
        limit: The maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file is invalid, or contains an image, or a constraint name of an image, twice.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.constraints import load_constraints
        >>> text = '[{"image_id": 1, "constraints": [{"name": "Dog", "phrases": ["dog", "dogs"]}]}]'
        >>> _ = Path("constraints.json").write_text(text)
        >>> load_constraints("constraints.json")
        {1: {'Dog': ('dog', 'dogs')}}
    """
    images: dict[ImageId, ImageConstraints] = {}
    with add_path_to_errors(file, name):
        for entry, row in iterate_rows(
            read_json(file, limit), None, {"image_id": IMAGE_ID, "constraints": _LIST}
        ):
            found: ImageConstraints = {}
            for at, each in enumerate(row["constraints"]):
                place = f"{entry}.constraints[{at}]"
                checked = check_row(each, place, {"name": TEXT, "phrases": _PHRASES})
                if checked["name"] in found:
                    raise _make_duplicate_error(place, "name", checked["name"])
                found[checked["name"]] = tuple(checked["phrases"])
            if row["image_id"] in images:
                raise _make_duplicate_error(entry, "image_id", row["image_id"])
            images[row["image_id"]] = found
    return images


def _make_duplicate_error(entry: str, field: str, value: object) -> FormatError:
    message = f"duplicate {field} {shorten(value)} in {entry}"
    return FormatError(message, kind=FormatErrorKind.DUPLICATE, entry=entry, field=field)


def constraints_bytes(images: Mapping[ImageId, Mapping[str, Sequence[str]]]) -> bytes:
    """Return the bytes of a constraint file.

    Example:
        >>> import json
        >>> from capeval.formats.constraints import constraints_bytes
        >>> data = constraints_bytes({1: {"Dog": ["dog", "dogs"]}})
        >>> json.loads(data)
        [{'image_id': 1, 'constraints': [{'name': 'Dog', 'phrases': ['dog', 'dogs']}]}]
    """
    return to_json_bytes(
        [
            {
                "image_id": image,
                "constraints": [{"name": name, "phrases": list(phrases)} for name, phrases in found.items()],
            }
            for image, found in images.items()
        ]
    )


def write_constraints(images: Mapping[ImageId, Mapping[str, Sequence[str]]], path: str | Path) -> None:
    """Write a constraint file atomically.

    Raises:
        OSError: The file can't be written.

    Example:
        >>> from capeval.formats.constraints import load_constraints, write_constraints
        >>> write_constraints({1: {"Dog": ["dog", "dogs"], "Tree": ["tree"]}}, "constraints.json")
        >>> load_constraints("constraints.json")
        {1: {'Dog': ('dog', 'dogs'), 'Tree': ('tree',)}}
    """
    with atomic_write(path) as file:
        file.write(constraints_bytes(images))
