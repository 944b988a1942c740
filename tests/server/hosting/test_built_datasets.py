"""A challenge of a dataset that `capeval study build` wrote, imported unchanged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from capeval_server.hosting.services.definition_files import import_challenge
from tests.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

PLANS = {
    "train": {"images": 4, "references": None, "training": True},
    "val": {"images": 4},
    "test": {"images": 4, "private": True, "held_out": True, "many": 8, "many_images": 2},
}


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}


def test_a_built_dataset_becomes_a_challenge(tmp_path: Path) -> None:
    collected = {
        "images": [{"id": image, "file_name": f"{image}.jpg", "license": 1} for image in range(12)],
        "licenses": [{"id": 1, "name": "CC BY 4.0"}],
        "annotations": [
            {"id": 10 * image + number, "image_id": image, "caption": f"a dog number {number} near {image}"}
            for image in range(12)
            for number in range(9)
        ],
    }
    (tmp_path / "collected.json").write_text(json.dumps(collected))
    (tmp_path / "plans.json").write_text(json.dumps(PLANS))
    files = (str(tmp_path / "collected.json"), str(tmp_path / "plans.json"))
    command = (
        "study",
        "build",
        *files,
        "--release",
        "1.0",
        "--title",
        "My Dogs",
        "-o",
        str(tmp_path / "out"),
    )
    subprocess.run(
        [sys.executable, "-m", "capeval", *command], check=True, capture_output=True, timeout=PATIENCE
    )
    challenge = import_challenge(tmp_path / "out" / "1.0" / "challenge.toml")
    assert challenge.slug == "my-dogs"
    assert challenge.title == "My Dogs"
    phases = {phase.name: phase for phase in challenge.phases.all()}
    assert {name: {split.name for split in phase.splits.all()} for name, phase in phases.items()} == {
        "validation": {"val"},
        "test": {"val", "test"},
    }
    test = challenge.splits.get(name="test")
    sets = {entry.name: entry for entry in test.reference_sets.all()}
    assert set(sets) == {"c5", "c8"}
    assert all(not entry.public and entry.baselines.count() == 1 for entry in sets.values())
