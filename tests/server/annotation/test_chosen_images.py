"""Items of chosen images are items of a campaign that collects captions."""

from __future__ import annotations

from pathlib import Path

from capeval.datasets.open_images import load_boxes
from capeval.studies.choose.project_files import create_items, write_project_files
from capeval_server.annotation.campaigns.definition import read_items
from capeval_server.annotation.task_types import TASKS


def test_items_of_chosen_images(tmp_path: Path) -> None:
    boxes = load_boxes(b"ImageID,LabelName\n3f,Car\n3f,Tire\n7a,Dog\n7a,Car\nb2,Tire\n")
    items = create_items(boxes, [1, 0, 2], parts=["Tire"])
    (path,) = write_project_files(tmp_path, items, [])
    with path.open("rb") as file:
        found = list(read_items(path.name, file, TASKS["write"]))
    assert [(item.key, item.image, item.payload["keywords"]) for item in found] == [
        ("7a", "7a.jpg", ["Car", "Dog"]),
        ("3f", "3f.jpg", ["Car"]),
        # All objects of this image are parts.
        ("b2", "b2.jpg", []),
    ]
