"""Open Images files: boxes, image rotations, class names and the class hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.coco_objects import Objects
from capeval.formats.images import ImageInfo
from capeval.formats.io.json import read_json
from capeval.formats.io.rows import read_columns, read_rows
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors

__all__ = [
    "ObjectAnnotations",
    "load_boxes",
    "load_class_hierarchy",
    "load_class_names",
    "load_image_sources",
    "load_parts",
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

    Example:
        An image with two dogs and a tree, and an image with four trees:

        >>> import numpy as np
        >>> from capeval.datasets.open_images import ObjectAnnotations
        >>> annotations = ObjectAnnotations(
        ...     image_ids=("3f", "7a"),
        ...     classes=("Dog", "Tree"),
        ...     image=np.array([0, 0, 1]),
        ...     label=np.array([0, 1, 1]),
        ...     instances=np.array([2, 1, 4]),
        ... )
        >>> annotations.by_image()
        {'3f': {'Dog': 2, 'Tree': 1}, '7a': {'Tree': 4}}
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
    r"""Read a file of boxes, such as `test-annotations-bbox.csv`.

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

    Example:
        >>> from pathlib import Path
        >>> from capeval.datasets.open_images import load_boxes
        >>> text = "ImageID,LabelName\n3f,/m/0bt9lr\n3f,/m/0bt9lr\n3f,/m/07j7r\n7a,/m/07j7r\n"
        >>> _ = Path("boxes.csv").write_text(text)
        >>> boxes = load_boxes("boxes.csv", {"/m/0bt9lr": "Dog", "/m/07j7r": "Tree"})
        >>> boxes.by_image()
        {'3f': {'Tree': 1, 'Dog': 2}, '7a': {'Tree': 1}}
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
    r"""Read a file of image rotations, such as `test-images-with-rotation.csv`.

    The required columns are `ImageID` and `Rotation`.

    Returns:
        The rotation of each image in degrees; None if unknown.

    Raises:
        FormatError: The file is invalid, a rotation is not a number, or an image occurs twice; the error
            names the line.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.datasets.open_images import load_rotations
        >>> _ = Path("rotations.csv").write_text("ImageID,Rotation\n3f,0.0\n7a,90.0\nb2,\n")
        >>> load_rotations("rotations.csv")
        {'3f': 0.0, '7a': 90.0, 'b2': None}
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


def load_image_sources(file: File, *, limit: int = LIMIT) -> dict[str, ImageInfo]:
    r"""Read addresses, licenses and authors of images from a file such as `test-images-with-rotation.csv`.

    The required column is `ImageID`. The optional ones are `OriginalURL`, `License` and `Author`.

    Returns:
        The file name, address, license and author of each image; empty if unknown.

    Raises:
        FormatError: The file is invalid; the error names the line.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.datasets.open_images import load_image_sources
        >>> text = "ImageID,OriginalURL,License,Author\n3f,https://x.org/3.jpg,https://x.org/by,A. B.\n"
        >>> _ = Path("images.csv").write_text(text)
        >>> image = load_image_sources("images.csv")["3f"]
        >>> image.file_name, image.url, image.license, image.author
        ('3f.jpg', 'https://x.org/3.jpg', 'https://x.org/by', 'A. B.')
    """
    with add_path_to_errors(file):
        rows = read_columns(file, ("ImageID",), limit, optional=("OriginalURL", "License", "Author"))
        return {
            image: ImageInfo(
                id=image,
                file_name=f"{image}.jpg",
                url=url,
                license=license_url,
                license_url=license_url,
                author=author,
            )
            for _, (image, url, license_url, author) in rows
        }


def load_class_names(file: File, *, limit: int = LIMIT) -> dict[str, str]:
    r"""Read the names of Open Images classes from `class-descriptions-boxable.csv`.

    The columns are the label (`/m/...`) and the name; a header is optional.

    Returns:
        The name of each class by label.

    Raises:
        FormatError: The file is invalid; the error names the line.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.datasets.open_images import load_class_names
        >>> _ = Path("classes.csv").write_text("/m/0bt9lr,Dog\n/m/07j7r,Tree\n")
        >>> load_class_names("classes.csv")
        {'/m/0bt9lr': 'Dog', '/m/07j7r': 'Tree'}
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

    Example:
        >>> import json
        >>> from pathlib import Path
        >>> from capeval.datasets.open_images import load_class_hierarchy
        >>> animal = {"LabelName": "/m/0jbk", "Subcategory": [{"LabelName": "/m/0bt9lr"}]}
        >>> root = {"LabelName": "/m/0bl9f", "Subcategory": [animal]}
        >>> _ = Path("hierarchy.json").write_text(json.dumps(root))
        >>> load_class_hierarchy("hierarchy.json", {"/m/0jbk": "Animal", "/m/0bt9lr": "Dog"})
        {'Animal': frozenset({'Dog'}), 'Dog': frozenset()}
    """
    below: dict[str, set[str]] = {}
    stack: list[tuple[Any, tuple[str, ...]]] = []
    with add_path_to_errors(file):
        root = read_json(file, limit)
        stack += [(child, ()) for child in subcategories(root)]
        while stack:
            node, above = stack.pop()
            children = subcategories(node)
            name = _get_name(node, names)
            below.setdefault(name, set())
            for ancestor in above:
                below[ancestor].add(name)
            stack += [(child, (*above, name)) for child in children]
    return {name: frozenset(classes) for name, classes in below.items()}


def subcategories(node: Any) -> Sequence[Any]:
    """Return the direct children of a class in the hierarchy file.

    Raises:
        FormatError: The class is invalid.

    Example:
        >>> from capeval.datasets.open_images import subcategories
        >>> dog, cat = {"LabelName": "/m/0bt9lr"}, {"LabelName": "/m/01yrx"}
        >>> animal = {"LabelName": "/m/0jbk", "Subcategory": [dog, cat]}
        >>> [child["LabelName"] for child in subcategories(animal)]
        ['/m/0bt9lr', '/m/01yrx']
    """
    return _get_children(node, "Subcategory")


def _get_children(node: Any, key: str) -> Sequence[Any]:
    children = node.get(key, []) if isinstance(node, dict) else None
    if not isinstance(children, list) or not isinstance(node.get("LabelName"), str):
        message = f"every class must be an object with 'LabelName', and {key!r} must be a list"
        raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE)
    return children


def _get_name(node: Any, names: Mapping[str, str]) -> str:
    """Return the name of a class in the hierarchy file."""
    subcategories(node)
    if node["LabelName"] not in names:
        message = f"every label must have a name (got {node['LabelName']!r} without one)"
        raise FormatError(message, kind=FormatErrorKind.UNKNOWN_CLASS)
    return names[node["LabelName"]]


def load_parts(file: File, names: Mapping[str, str], *, limit: int = LIMIT) -> frozenset[str]:
    """Read the classes that are parts of other classes from `bbox_labels_600_hierarchy.json`.

    Args:
        file: The path of the file, or its bytes.
        names: The names of the classes by label.
        limit: The maximum size of the file in bytes, also after decompression.

    Returns:
        The names of the classes listed as `Part` of another class, such as a nose. Subcategories of these
        classes are not included.

    Raises:
        FormatError: The file is invalid, or contains a label without a name.
        OSError: The file can't be read.

    Example:
        >>> import json
        >>> from pathlib import Path
        >>> from capeval.datasets.open_images import load_parts
        >>> person = {"LabelName": "/m/01g317", "Part": [{"LabelName": "/m/0k0pj"}]}
        >>> root = {"LabelName": "/m/0bl9f", "Subcategory": [person]}
        >>> _ = Path("hierarchy.json").write_text(json.dumps(root))
        >>> load_parts("hierarchy.json", {"/m/01g317": "Person", "/m/0k0pj": "Human nose"})
        frozenset({'Human nose'})
    """
    parts: set[str] = set()
    with add_path_to_errors(file):
        stack = [read_json(file, limit)]
        while stack:
            node = stack.pop()
            below = _get_children(node, "Part")
            parts.update(_get_name(child, names) for child in below)
            stack += [*subcategories(node), *below]
    return frozenset(parts)
