"""Open Images files: boxes, image rotations, class names and the class hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capeval.datasets.coco_objects import Objects
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.json import read_json
from capeval.formats.io.rows import read_columns, read_rows
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors

__all__ = [
    "ObjectAnnotations",
    "load_boxes",
    "load_class_hierarchy",
    "load_class_names",
    "load_rotations",
    "subcategories",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectAnnotations:
    """The objects in each image.

    Attributes:
        image_ids: The images with at least one box.
        classes: The labels of classes, such as `/m/01g317`, or their names.
        image: For each pair of an image and a class in it, the position of the image in `image_ids`.
        label: For each pair, the position of the class in `classes`.
        instances: For each pair, the number of boxes. A box around a group counts as one.
    """

    image_ids: tuple[str, ...]
    classes: tuple[str, ...]
    image: NDArray[np.int64]
    label: NDArray[np.int64]
    instances: NDArray[np.int64]

    def by_image(self) -> Objects:
        """Return the number of instances of each class, by image."""
        objects: Objects = {image: {} for image in self.image_ids}
        pairs = zip(self.image.tolist(), self.label.tolist(), self.instances.tolist(), strict=True)
        for image, label, instances in pairs:
            counts = objects[self.image_ids[image]]
            name = self.classes[label]
            counts[name] = counts.get(name, 0) + instances
        return objects


def load_boxes(
    file: File, names: Mapping[str, str] | None = None, *, limit: int = LIMIT
) -> ObjectAnnotations:
    """Read a file of boxes, such as `test-annotations-bbox.csv`.

    The required columns are `ImageID` and `LabelName`. In the result, images are in the order of the file,
    classes in alphabetical order of their labels, and pairs sorted by image and class.

    Args:
        file: The path of the file, or its bytes.
        names: The names of the classes by label; by default, classes are labels.
        limit: The maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file is invalid, a label has no name, or there are no boxes; the error names the
            line.
        OSError: The file can't be read.
    """
    images: dict[str, int] = {}
    labels: dict[str, int] = {}
    image_labels = []
    with add_path_to_errors(file):
        for line, (image, label) in read_columns(file, ("ImageID", "LabelName"), limit):
            if names is not None and label not in names:
                message = f"line {line}: 'LabelName' must be a label with a name (got {label!r})"
                raise FormatError(message, kind=FormatErrorKind.UNKNOWN_CLASS, line=line, field="LabelName")
            image_labels.append(
                (images.setdefault(image, len(images)), labels.setdefault(label, len(labels)))
            )
        if not image_labels:
            raise FormatError("the file must have at least one box (got none)", kind=FormatErrorKind.EMPTY)
    classes = sorted(labels)
    place = np.empty(len(labels), dtype=np.int64)
    place[[labels[name] for name in classes]] = np.arange(len(labels))
    boxes = np.array(image_labels, dtype=np.int64)
    pairs, instances = np.unique(boxes[:, 0] * len(labels) + place[boxes[:, 1]], return_counts=True)
    return ObjectAnnotations(
        image_ids=tuple(images),
        classes=tuple(classes if names is None else (names[label] for label in classes)),
        image=pairs // len(labels),
        label=pairs % len(labels),
        instances=instances.astype(np.int64),
    )


def load_rotations(file: File, *, limit: int = LIMIT) -> dict[str, float | None]:
    """Read a file of image rotations, such as `test-images-with-rotation.csv`.

    The required columns are `ImageID` and `Rotation`.

    Returns:
        The rotation of each image in degrees; None if unknown.

    Raises:
        FormatError: The file is invalid, a rotation is not a number, or an image occurs twice; the error
            names the line.
        OSError: The file can't be read.
    """
    rotations: dict[str, float | None] = {}
    with add_path_to_errors(file):
        for line, (image, text) in read_columns(file, ("ImageID", "Rotation"), limit):
            if image in rotations:
                message = f"line {line}: duplicate 'ImageID' {image!r}"
                raise FormatError(message, kind=FormatErrorKind.DUPLICATE, line=line)
            try:
                rotations[image] = float(text) if text else None
            except ValueError:
                message = f"line {line}: 'Rotation' must be a number of degrees or empty (got {text!r})"
                raise FormatError(
                    message, kind=FormatErrorKind.WRONG_TYPE, field="Rotation", line=line
                ) from None
    return rotations


def load_class_names(file: File, *, limit: int = LIMIT) -> dict[str, str]:
    """Read the names of Open Images classes from `class-descriptions-boxable.csv`.

    The columns are the label (`/m/...`) and the name; a header is optional.

    Returns:
        The name of each class by label.

    Raises:
        FormatError: The file is invalid; the error names the line.
        OSError: The file can't be read.
    """
    names: dict[str, str] = {}
    with add_path_to_errors(file):
        for line, row in read_rows(file, limit):
            if line == 1 and row[:1] == ["LabelName"]:
                continue
            if len(row) != 2 or not row[0].startswith("/") or row[0] in names:
                message = (
                    f"line {line} must be a new label such as /m/01g317 and its name"
                    f" (got {','.join(row)[:60]!r})"
                )
                raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, line=line)
            names[row[0]] = row[1]
        if not names:
            raise FormatError("the file must have at least one class (got none)", kind=FormatErrorKind.EMPTY)
    return names


def load_class_hierarchy(
    file: File, names: Mapping[str, str], *, limit: int = LIMIT
) -> dict[str, frozenset[str]]:
    """Read the class hierarchy of Open Images from `bbox_labels_600_hierarchy.json`.

    Only `Subcategory` counts, not `Part`: a person's nose, for example, is not a kind of person.

    Args:
        file: The path of the file, or its bytes.
        names: The names of the classes by label.
        limit: The maximum size of the file in bytes, also after decompression.

    Returns:
        The names of the classes below each class, by its name. The root has no name and is excluded.

    Raises:
        FormatError: The file is invalid, or contains a label without a name.
        OSError: The file can't be read.
    """
    below: dict[str, set[str]] = {}
    stack: list[tuple[Any, tuple[str, ...]]] = []
    with add_path_to_errors(file):
        root = read_json(file, limit)
        stack += [(child, ()) for child in subcategories(root)]
        while stack:
            node, above = stack.pop()
            children = subcategories(node)
            if node["LabelName"] not in names:
                message = f"every label must have a name (got {node['LabelName']!r} without one)"
                raise FormatError(message, kind=FormatErrorKind.UNKNOWN_CLASS)
            name = names[node["LabelName"]]
            below.setdefault(name, set())
            for ancestor in above:
                below[ancestor].add(name)
            stack += [(child, (*above, name)) for child in children]
    return {name: frozenset(classes) for name, classes in below.items()}


def subcategories(node: Any) -> Sequence[Any]:
    """Return the direct children of a class in the hierarchy file.

    Raises:
        FormatError: The class is invalid.
    """
    children = node.get("Subcategory", []) if isinstance(node, dict) else None
    if not isinstance(children, list) or not isinstance(node.get("LabelName"), str):
        message = "every class must be an object with 'LabelName', and 'Subcategory' must be a list"
        raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE)
    return children
