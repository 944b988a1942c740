"""The CSV files of Open Images: boxes, image rotations, names of classes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from capeval.errors import FormatError, MismatchError

__all__ = ["ObjectAnnotations", "load_boxes", "load_class_names", "load_rotations"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectAnnotations:
    """The objects in each image.

    Attributes:
        image_ids: The images with at least one box.
        classes: The labels of classes, such as `/m/01g317`, or their names.
        image: The position, in `image_ids`, of the image of each pair of an image and a class in it.
        label: The position, in `classes`, of the class of each pair.
        instances: The boxes of each pair. A box around a group counts as one.
    """

    image_ids: tuple[str, ...]
    classes: tuple[str, ...]
    image: NDArray[np.int64]
    label: NDArray[np.int64]
    instances: NDArray[np.int64]

    def called(self, names: Mapping[str, str]) -> tuple[str, ...]:
        """The names of the classes.

        Raises:
            MismatchError: A class has no name.
        """
        unknown = [label for label in self.classes if label not in names]
        if unknown:
            raise MismatchError(f"every class must have a name ({unknown[0]!r} has none)")
        return tuple(names[label] for label in self.classes)


def load_boxes(path: str | Path) -> ObjectAnnotations:
    """Reads a file of boxes, such as `test-annotations-bbox.csv`: columns `ImageID` and `LabelName`.

    Images are in the order of the file, classes in alphabetical order, and pairs by image, then class.

    Raises:
        FormatError: The file has no such columns, or a row is too short, or there is no box.
        OSError: The file can't be read.
    """
    images: dict[str, int] = {}
    labels: dict[str, int] = {}
    rows = [
        (images.setdefault(image, len(images)), labels.setdefault(label, len(labels)))
        for image, label in _columns(path, ("ImageID", "LabelName"))
    ]
    if not rows:
        raise FormatError("a file of boxes must have at least one (got none)", kind="Empty", path=path)
    classes = sorted(labels)
    place = np.empty(len(labels), dtype=np.int64)
    place[[labels[name] for name in classes]] = np.arange(len(labels))
    boxes = np.array(rows, dtype=np.int64)
    pairs, instances = np.unique(boxes[:, 0] * len(labels) + place[boxes[:, 1]], return_counts=True)
    return ObjectAnnotations(
        image_ids=tuple(images),
        classes=tuple(classes),
        image=pairs // len(labels),
        label=pairs % len(labels),
        instances=instances.astype(np.int64),
    )


def load_rotations(path: str | Path) -> dict[str, float | None]:
    """Reads a file of images, such as `test-images-with-rotation.csv`: columns `ImageID` and `Rotation`.

    Returns:
        Image to its right rotation in degrees, or None where that is not known.

    Raises:
        FormatError: The file has no such columns, a row is too short, a rotation is no number, or an image is
            there twice.
        OSError: The file can't be read.
    """
    rotations: dict[str, float | None] = {}
    for line, (image, text) in enumerate(_columns(path, ("ImageID", "Rotation")), start=2):
        if image in rotations:
            raise FormatError(
                f"an image must be there once (got {image!r} again in row {line})",
                kind="Duplicate",
                line=line,
                path=path,
            )
        try:
            rotations[image] = float(text) if text else None
        except ValueError:
            raise FormatError(
                f"'Rotation' must be degrees or empty (got {text!r} in row {line})",
                kind="WrongType",
                field="Rotation",
                line=line,
                path=path,
            ) from None
    return rotations


def load_class_names(path: str | Path) -> dict[str, str]:
    """Reads `class-descriptions-boxable.csv`: label and name on each line, with or without a header.

    Raises:
        FormatError: A line is something else, or a label is there twice.
        OSError: The file can't be read.
    """
    names: dict[str, str] = {}
    with Path(path).open(encoding="utf-8", newline="") as file:
        for line, row in enumerate(csv.reader(file), start=1):
            if line == 1 and row == ["LabelName", "DisplayName"]:
                continue
            if len(row) != 2 or row[0] in names:
                raise FormatError(
                    f"line {line} must be a label, there once, and its name (got {','.join(row)!r})",
                    kind="WrongType",
                    line=line,
                    path=path,
                )
            names[row[0]] = row[1]
    return names


def _columns(path: str | Path, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        missing = [name for name in names if name not in header]
        if missing:
            raise FormatError(
                f"the first line must name the column {missing[0]!r} (got {','.join(header)[:80]!r})",
                kind="MissingField",
                field=missing[0],
                line=1,
                path=path,
            )
        places = [header.index(name) for name in names]
        for line, row in enumerate(rows, start=2):
            if len(row) != len(header):
                raise FormatError(
                    f"row {line} must have {len(header)} fields (got {len(row)})",
                    kind="WrongLength",
                    line=line,
                    path=path,
                )
            yield tuple(row[place] for place in places)
