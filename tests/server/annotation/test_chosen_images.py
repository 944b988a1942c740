"""Files of chosen images are those of a campaign that collects captions."""

from __future__ import annotations

import json

from capeval.datasets.open_images import load_boxes
from capeval.formats.images import ImageInfo
from capeval.studies.choose.project_files import create_items, create_texts
from capeval_server.annotation.campaigns.definition import read_definition, read_items
from capeval_server.annotation.task_types import TASKS


def test_items_of_chosen_images() -> None:
    boxes = load_boxes(b"ImageID,LabelName\n3f,Car\n3f,Tire\n7a,Dog\n7a,Car\nb2,Tire\n")
    items = create_items(boxes, [1, 0, 2], parts=["Tire"])
    texts = {name: text.encode() for name, text in create_texts("Some images", items=items).items()}
    found = list(read_items("items.jsonl", texts["items.jsonl"].splitlines(), TASKS["write"]))
    assert [(item.key, item.image, item.payload["keywords"]) for item in found] == [
        ("7a", "7a.jpg", ["Car", "Dog"]),
        ("3f", "3f.jpg", ["Car"]),
        # All objects of this image are parts.
        ("b2", "b2.jpg", []),
    ]


def test_the_definition_of_a_campaign_fits_the_plan() -> None:
    image = ImageInfo(id="3f", file_name="3f.jpg", url="https://x.org/3f.jpg", license="CC BY 2.0")
    items: list[dict[str, object]] = [{"key": "3f", "image": "3f.jpg", "keywords": ["Car"]}]
    texts = create_texts('Cars & "more"', items=items, images=[image])
    found = read_definition("campaign.toml", lambda name: texts[name].encode())
    assert (found.slug, found.title, found.images) == ("cars-more", 'Cars & "more"', "images")
    assert found.sources["3f.jpg"].url == "https://x.org/3f.jpg"
    plan = json.loads(texts["plans.json"])["test"]
    # The human baseline is one more caption.
    assert found.options.answers == plan["references"] + 1
