"""Parts of objects, and addresses and licenses of images, in files of Open Images."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capeval.datasets.open_images import (
    load_class_hierarchy,
    load_class_names,
    load_image_sources,
    load_parts,
)
from capeval.errors import FormatError
from tests.shared_data import shared_data

NAMES = {"/m/person": "Person", "/m/body": "Human body", "/m/nose": "Human nose", "/m/dog": "Dog"}


def write(path: Path, person: dict[str, object]) -> Path:
    root = {"LabelName": "/m/0bl9f", "Subcategory": [{"LabelName": "/m/person", **person}]}
    path.write_text(json.dumps(root))
    return path


def test_parts_of_parts(tmp_path: Path) -> None:
    body = {"LabelName": "/m/body", "Part": [{"LabelName": "/m/nose"}]}
    path = write(tmp_path / "hierarchy.json", {"Part": [body], "Subcategory": [{"LabelName": "/m/dog"}]})
    assert load_parts(path, NAMES) == {"Human body", "Human nose"}


def test_invalid_hierarchies(tmp_path: Path) -> None:
    for person, message in (
        ({"Part": {"LabelName": "/m/nose"}}, "'Part' must be a list"),
        ({"Part": [{"LabelName": "/m/unicorn"}]}, "every label must have a name"),
        ({"Part": ["/m/nose"]}, "every class must be an object"),
    ):
        with pytest.raises(FormatError, match=message):
            load_parts(write(tmp_path / "hierarchy.json", person), NAMES)  # type: ignore[arg-type]


def test_files_without_addresses(tmp_path: Path) -> None:
    path = tmp_path / "rotations.csv"
    path.write_text("ImageID,Rotation\n3f,0.0\n")
    image = load_image_sources(path)["3f"]
    assert (image.file_name, image.url, image.license) == ("3f.jpg", "", "")


def test_parts_of_open_images() -> None:
    folder = shared_data("openimages")
    names = load_class_names(folder / "class-descriptions-boxable.csv")
    parts = load_parts(folder / "bbox_labels_600_hierarchy.json", names)
    assert len(parts) == 38
    assert {"Human hand", "Door handle", "Laptop"} <= parts
    # A subcategory of a part is not listed as a part.
    below = load_class_hierarchy(folder / "bbox_labels_600_hierarchy.json", names)
    assert "Auto part" in parts
    assert "Tire" not in parts
    assert "Auto part" in below
