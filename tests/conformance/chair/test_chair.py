"""CHAIR equals the published code, with the words of capeval's list."""

import json
from pathlib import Path

import pytest

from capeval import Chair, evaluate

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))


def write_objects(folder: Path) -> Path:
    """Write the objects of each image as instance annotations, and return the file."""
    names = sorted({name for found in GOLDEN["objects"] for name in found})
    numbers = {name: number for number, name in enumerate(names, start=1)}
    content = {
        "images": [{"id": image} for image in range(len(GOLDEN["objects"]))],
        "categories": [{"id": number, "name": name} for name, number in numbers.items()],
        "annotations": [
            {"image_id": image, "category_id": numbers[name]}
            for image, found in enumerate(GOLDEN["objects"])
            for name in found
        ],
    }
    file = folder / "instances.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


@pytest.mark.parametrize("truth", GOLDEN["scores"])
def test_goldens(truth: str, tmp_path: Path) -> None:
    objects = write_objects(tmp_path) if "objects" in truth else None
    report = evaluate(GOLDEN["references"], GOLDEN["candidates"], [Chair(objects=objects)])
    expected = GOLDEN["scores"][truth]
    assert list(report.corpus.values()) == pytest.approx(expected["corpus"], rel=1e-12)
    for scores, published in zip(report.per_image.values(), expected["per_image"], strict=True):
        assert scores.tolist() == pytest.approx(published, rel=1e-12)
