"""Object boxes of Open Images: ground truth and detections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any, Literal

import numpy as np

from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.json import IMAGE_ID, Field, check_row, iterate_rows, read_json
from capeval.formats.io.rows import read_columns
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors
from capeval.toolkit import validate_choice

__all__ = ["FORMS", "BoxForm", "Boxes", "load_detections", "load_ground_truth"]

BoxForm = Literal["corners", "size"]

FORMS: tuple[BoxForm, ...] = ("corners", "size")
"""Meaning of the four numbers of a detection box: X1, Y1, X2, Y2 (corners), or X, Y, width, height (size)."""

_COLUMNS = ("ImageID", "LabelName", "Confidence", "XMin", "XMax", "YMin", "YMax")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


_NUMBER = Field("a finite number", _is_number)
_POSITIVE = Field(
    "a number above 0", lambda value: _is_number(value) and isinstance(value, int | float) and value > 0
)
_BOX = Field(
    "a list of four finite numbers",
    lambda value: isinstance(value, list) and len(value) == 4 and all(map(_is_number, value)),
)
# Tolerance in pixels: detectors clip boxes at the edges of a resized image, which causes rounding errors.
_TOLERANCE = 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Boxes:
    """The boxes of an image.

    Attributes:
        classes: Class name of each box.
        corners: X1, Y1, X2, Y2 of each box, in pixels or as fractions of the image's width and height.
        scores: Confidence of each box; 1 for ground truth.
    """

    classes: tuple[str, ...]
    corners: FloatArray
    scores: FloatArray


@dataclass(frozen=True, kw_only=True)
class _Box:
    """A parsed box, with its place in the file."""

    entry: str
    name: str
    corners: tuple[float, float, float, float]
    score: float


def load_ground_truth(file: File, names: Mapping[str, str], *, limit: int = LIMIT) -> dict[ImageId, Boxes]:
    """Load the ground-truth boxes of each image from an Open Images file.

    Args:
        file: Path or bytes of the file, such as `validation-annotations-bbox.csv`.
        names: Class names by label.
        limit: Maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file has a different format, a class has no name, or a box is outside of its image or
            has its corners in the wrong order; the error names the line.
        OSError: The file can't be read.

    Example:
        >>> from capeval.datasets.open_images import load_class_names
        >>> from capeval_decoding.boxes import load_ground_truth
        >>> boxes = load_ground_truth("boxes.csv", load_class_names("classes.csv"))
        >>> boxes["3f"].classes
        ('Dog', 'Animal', 'Fire hydrant', 'Tree')
        >>> boxes["3f"].corners[2].tolist()
        [0.8, 0.5, 0.9, 0.9]
    """
    images: dict[ImageId, list[_Box]] = {}
    with add_path_to_errors(file):
        for line, (image, label, *texts) in read_columns(file, _COLUMNS, limit):
            if label not in names:
                message = f"line {line}: 'LabelName' must be a label with a class name (got {label!r})"
                raise FormatError(message, kind=FormatErrorKind.UNKNOWN_CLASS, line=line, field="LabelName")
            numbers = [
                _parse_fraction(text, name, line) for text, name in zip(texts, _COLUMNS[2:], strict=True)
            ]
            score, left, right, top, bottom = numbers
            for low, high, axis in ((left, right, "X"), (top, bottom, "Y")):
                if low > high:
                    message = f"line {line}: {axis}Min must be at most {axis}Max (got {low:g} and {high:g})"
                    raise FormatError(
                        message, kind=FormatErrorKind.WRONG_VALUE, line=line, field=f"{axis}Min"
                    )
            box = _Box(
                entry=f"line {line}", name=names[label], corners=(left, top, right, bottom), score=score
            )
            images.setdefault(image, []).append(box)
        if not images:
            raise FormatError("the file contains no boxes", kind=FormatErrorKind.EMPTY)
    return {image: _join_boxes(boxes) for image, boxes in images.items()}


def load_detections(file: File, *, form: BoxForm = "corners", limit: int = LIMIT) -> dict[ImageId, Boxes]:
    """Load the detected boxes of each image from JSON in COCO's instances format.

    Scores are optional; a box without a score has the score 1.

    Args:
        file: Path or bytes of the file.
        form: Meaning of the four numbers of a box; see `FORMS`. A file of the other form is rejected if a box
            has its corners in the wrong order or extends beyond its image.
        limit: Maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file has a different format, a class or image is not listed, or a box is outside of
            its image or has its corners in the wrong order; the error names the entry.
        OSError: The file can't be read.

    Example:
        >>> import json
        >>> from capeval_decoding.boxes import load_detections
        >>> image = {"id": 7, "width": 640, "height": 480}
        >>> box = {"image_id": 7, "category_id": 1, "bbox": [20, 40, 300, 200], "score": 0.9}
        >>> content = {"categories": [{"id": 1, "name": "Dog"}], "images": [image], "annotations": [box]}
        >>> boxes = load_detections(json.dumps(content).encode(), form="size")
        >>> boxes[7].classes, boxes[7].corners.tolist(), boxes[7].scores.tolist()
        (('Dog',), [[20.0, 40.0, 320.0, 240.0]], [0.9])
    """
    validate_choice("form", form, FORMS)
    with add_path_to_errors(file):
        content = read_json(file, limit)
        names = {
            row["id"]: str(row["name"]) for _, row in iterate_rows(content, "categories", _CATEGORY_FIELDS)
        }
        sizes = {
            row["id"]: (float(row["width"]), float(row["height"]))
            for _, row in iterate_rows(content, "images", _IMAGE_FIELDS)
        }
        images: dict[ImageId, list[_Box]] = {image: [] for image in sizes}
        for entry, row in iterate_rows(content, "annotations", _ANNOTATION_FIELDS):
            for field, known in (("image_id", sizes), ("category_id", names)):
                if row[field] not in known:
                    message = f"{entry}.{field} must be an id that is listed in the file (got {row[field]!r})"
                    raise FormatError(message, kind=FormatErrorKind.UNKNOWN_CLASS, entry=entry, field=field)
            corners = _parse_corners(row["bbox"], entry, form, sizes[row["image_id"]])
            images[row["image_id"]].append(
                _Box(
                    entry=entry,
                    name=names[row["category_id"]],
                    corners=corners,
                    score=_get_score(row, entry),
                )
            )
    return {image: _join_boxes(boxes) for image, boxes in images.items()}


_CATEGORY_FIELDS = {"id": IMAGE_ID, "name": IMAGE_ID}
_IMAGE_FIELDS = {"id": IMAGE_ID, "width": _POSITIVE, "height": _POSITIVE}
_ANNOTATION_FIELDS = {"image_id": IMAGE_ID, "category_id": IMAGE_ID, "bbox": _BOX}


def _get_score(row: dict[str, Any], entry: str) -> float:
    """Return the score of a box, or 1 if missing (ground truth in published files)."""
    return float(check_row({"score": 1.0, **row}, entry, {"score": _NUMBER})["score"])


def _parse_fraction(text: str, name: str, line: int) -> float:
    """Parse a number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not 0 <= value <= 1:
        message = f"line {line}: {name!r} must be a number from 0 to 1 (got {text[:40]!r})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, line=line, field=name)
    return value


def _parse_corners(
    box: list[Any], entry: str, form: BoxForm, size: tuple[float, float]
) -> tuple[float, float, float, float]:
    """Return the corners of a box after checking that it is inside of its image."""
    left, top, right, bottom = map(float, box)
    if form == "size":
        right, bottom = left + right, top + bottom
    expected = "[X1, Y1, X2, Y2]" if form == "corners" else "[X, Y, width, height]"
    other = FORMS[form == "corners"]
    low_enough = right <= size[0] + _TOLERANCE and bottom <= size[1] + _TOLERANCE
    high_enough = left >= -_TOLERANCE and top >= -_TOLERANCE
    if not (left <= right and top <= bottom and low_enough and high_enough):
        raise FormatError(
            f"{entry}.bbox must be {expected} inside of an image of {size[0]:g} x {size[1]:g} (got {box});"
            f" if the boxes have the other form, set the form to {other!r}",
            kind=FormatErrorKind.WRONG_VALUE,
            entry=entry,
            field="bbox",
        )
    return left, top, right, bottom


def _join_boxes(boxes: list[_Box]) -> Boxes:
    return Boxes(
        classes=tuple(box.name for box in boxes),
        corners=np.array([box.corners for box in boxes], dtype=np.float64).reshape(-1, 4),
        scores=np.array([box.score for box in boxes], dtype=np.float64),
    )
