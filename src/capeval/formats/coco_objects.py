"""Objects in images, from COCO's instance annotations."""

from __future__ import annotations

from capeval.data.captions import ImageId
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.json import IMAGE_ID, iterate_rows, read_json
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors

__all__ = ["Objects", "load_coco_objects"]

Objects = dict[ImageId, dict[str, int]]
"""The number of instances of each class, by image and class name."""


def load_coco_objects(file: File, *, limit: int = LIMIT) -> Objects:
    """Read the objects in images from COCO's `instances_val2017.json` or similar.

    Images without annotations have no classes. A crowd counts as one instance.

    Args:
        file: The path of the file, or its bytes.
        limit: The maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file is invalid; the error names the entry.
        OSError: The file can't be read.

    Example:
        >>> import json
        >>> from capeval.formats.coco_objects import load_coco_objects
        >>> content = {"categories": [{"id": 18, "name": "dog"}], "images": [{"id": 1}, {"id": 2}]}
        >>> content["annotations"] = [{"image_id": 1, "category_id": 18}, {"image_id": 1, "category_id": 18}]
        >>> load_coco_objects(json.dumps(content).encode())
        {1: {'dog': 2}, 2: {}}
    """
    with add_path_to_errors(file):
        content = read_json(file, limit)
        categories = iterate_rows(content, "categories", {"id": IMAGE_ID, "name": IMAGE_ID})
        names = {row["id"]: str(row["name"]) for _, row in categories}
        objects: Objects = {row["id"]: {} for _, row in iterate_rows(content, "images", {"id": IMAGE_ID})}
        annotations = iterate_rows(content, "annotations", {"image_id": IMAGE_ID, "category_id": IMAGE_ID})
        for entry, row in annotations:
            for field, known in (("image_id", objects), ("category_id", names)):
                if row[field] not in known:
                    message = f"{entry}.{field} must be an id defined in the file (got {row[field]!r})"
                    raise FormatError(message, kind=FormatErrorKind.UNKNOWN_CLASS, entry=entry, field=field)
            counts, name = objects[row["image_id"]], names[row["category_id"]]
            counts[name] = counts.get(name, 0) + 1
    return objects
