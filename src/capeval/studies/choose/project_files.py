"""Files of chosen images for the next steps: collecting captions, and captioning."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from capeval._internal.atomic_write import atomic_write
from capeval.datasets.open_images import ObjectAnnotations
from capeval.formats.images import ImageInfo, image_info

__all__ = ["create_items", "write_project_files"]


def create_items(
    annotations: ObjectAnnotations, positions: Sequence[int], *, parts: Collection[str] = ()
) -> list[dict[str, object]]:
    r"""Return the items of a campaign that collects captions, one per image.

    Workers see the names of the classes as keywords, except parts of objects (nocaps, section 3.1).

    Args:
        annotations: The objects in each image, with the names of classes.
        positions: The positions of the chosen images.
        parts: The names of classes to leave out.

    Example:
        >>> from capeval.datasets.open_images import load_boxes
        >>> from capeval.studies.choose.project_files import create_items
        >>> boxes = load_boxes(b"ImageID,LabelName\na,Tire\na,Car\nb,Dog")
        >>> create_items(boxes, [0], parts=["Tire"])
        [{'key': 'a', 'image': 'a.jpg', 'keywords': ['Car']}]
    """
    objects = annotations.by_image()
    items: list[dict[str, object]] = []
    for position in positions:
        image = annotations.image_ids[position]
        keywords = sorted(name for name in objects[image] if name not in parts)
        items.append({"key": image, "image": f"{image}.jpg", "keywords": keywords})
    return items


def write_project_files(
    folder: Path, items: Sequence[Mapping[str, object]], images: Sequence[ImageInfo]
) -> list[Path]:
    """Write the items of a campaign and the list of images, and return the paths.

    Args:
        folder: The folder.
        items: The items (`create_items`); empty to write none.
        images: The addresses and licenses of the images; empty to write none.

    Example:
        >>> from pathlib import Path
        >>> from capeval.studies.choose.project_files import write_project_files
        >>> items = [{"key": "a", "image": "a.jpg", "keywords": ["Car"]}]
        >>> [path.name for path in write_project_files(Path("."), items, [])]
        ['items.jsonl']
    """
    contents = {}
    if items:
        contents["items.jsonl"] = "".join(f"{json.dumps(item)}\n" for item in items)
    if images:
        contents["image_info.json"] = json.dumps(image_info(images))
    for name, text in contents.items():
        with atomic_write(folder / name) as file:
            file.write(text.encode())
    return [folder / name for name in contents]
