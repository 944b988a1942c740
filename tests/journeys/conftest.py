"""An installed capeval, and files of captions to score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capeval.data.held_out import hold_out
from capeval.datasets import coco
from tests.journeys.installation import User, install
from tests.journeys.people import People, file_name, write_results
from tests.once import made_once


@pytest.fixture
def user(tmp_path: Path) -> User:
    """A user of an environment with capeval, its reports and METEOR."""
    cache = made_once("journeys-cache", lambda folder: None)
    return User(environment=install("capeval[coco,report,studies]"), folder=tmp_path, cache=cache)


@pytest.fixture(scope="session")
def people() -> People:
    """References of 100 images of COCO, and two human captions of each image to score."""
    captions = coco.load_captions("val2014")
    captions = captions.select(captions.image_ids[:100])
    captions, ours = hold_out(captions, seed=1)
    captions, others = hold_out(captions, seed=2)
    return People(
        references={int(image): list(captions[image]) for image in captions},
        ours={int(image): ours[image][0] for image in ours},
        others={int(image): others[image][0] for image in others},
    )


@pytest.fixture
def files(people: People, tmp_path: Path) -> Path:
    """A folder with references.json, ours.json and others.json in COCO's format."""
    images = [{"id": image, "file_name": file_name(image)} for image in people.references]
    annotations = [
        {"id": place, "image_id": image, "caption": caption}
        for place, (image, caption) in enumerate(
            (image, caption) for image, captions in people.references.items() for caption in captions
        )
    ]
    content = {"images": images, "annotations": annotations}
    (tmp_path / "references.json").write_text(json.dumps(content))
    for name, captions in (("ours", people.ours), ("others", people.others)):
        write_results(tmp_path / f"{name}.json", captions)
    return tmp_path
