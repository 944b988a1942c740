"""Named, missed and invented objects of Open Images, with values computed by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capeval import OpenObjects, evaluate
from capeval.errors import MismatchError, OptionError
from tests.capeval.cli.test_cli import output

CLASSES = {"/m/1": "Dog", "/m/2": "Animal", "/m/3": "Raccoon", "/m/4": "Bed", "/m/5": "Accordion"}
REFERENCES = {1: ["A dog on grass.", "A puppy."], 2: ["Raccoons on a bed.", "An animal sleeps."]}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "classes.csv").write_text("".join(f"{label},{name}\n" for label, name in CLASSES.items()))
    (tmp_path / "boxes.csv").write_text("ImageID,LabelName\n3f,/m/1\n3f,/m/5\n7a,/m/3\n7a,/m/3\n")
    below = [{"LabelName": "/m/1"}, {"LabelName": "/m/3"}]
    others = [{"LabelName": "/m/4"}, {"LabelName": "/m/5"}]
    root = {"LabelName": "/m/0", "Subcategory": [{"LabelName": "/m/2", "Subcategory": below}, *others]}
    (tmp_path / "hierarchy.json").write_text(json.dumps(root))
    names = {1: "3f.jpg", 2: "7a.jpg"}
    images = [{"id": image, "file_name": name} for image, name in names.items()]
    (tmp_path / "images.json").write_text(json.dumps({"images": images}))
    (tmp_path / "references.json").write_text(json.dumps(REFERENCES))
    (tmp_path / "results.json").write_text(json.dumps({1: "A dog and accordions.", 2: "Two raccoons."}))
    (tmp_path / "domains.json").write_text(json.dumps({"near": [1], "out": [2]}))
    return tmp_path


def full() -> OpenObjects:
    return OpenObjects(
        boxes=Path("boxes.csv"),
        class_names=Path("classes.csv"),
        hierarchy=Path("hierarchy.json"),
        image_info=Path("images.json"),
    )


def test_references_only() -> None:
    candidates = {1: "A dog and accordions.", 2: "Two raccoons."}
    report = evaluate(REFERENCES, candidates, [OpenObjects()])
    # Image 1: dog is right, and accordion is invented. Image 2: raccoon is right; bed and animal are missed.
    precision, recall = 2 / 3, 2 / 4
    assert report.corpus == {
        "Objects": pytest.approx(2 * precision * recall / (precision + recall)),
        "Objects-P": pytest.approx(precision),
        "Objects-R": recall,
        # Seen: dog named and right; dog and bed expected. Novel: one of two named, one of two expected.
        "Objects-Seen": pytest.approx(2 * 1 * 0.5 / 1.5),
        "Objects-Novel": 0.5,
    }
    assert report.per_image["Objects-P"].tolist() == [0.5, 1]
    assert report.per_image["Objects-R"].tolist() == [1, pytest.approx(1 / 3)]


def test_boxes_and_higher_classes(files: Path) -> None:
    # The boxes contain the accordion, and a raccoon is an animal: only the bed is missed.
    report = evaluate(REFERENCES, {1: "A dog and accordions.", 2: "Two raccoons."}, [full()])
    assert report["Objects-P"] == 1
    assert report["Objects-R"] == 3 / 4
    # An animal is in both images, but it does not tell that there is a raccoon.
    report = evaluate(REFERENCES, {1: "An animal.", 2: "An animal."}, [full()])
    assert report["Objects-P"] == 1
    assert report["Objects-R"] == 1 / 4


def test_counts_of_classes() -> None:
    counts = OpenObjects().count_classes(REFERENCES, {1: "A dog and an accordion.", 2: "A dog."})
    assert list(counts) == ["accordion", "animal", "bed", "dog", "raccoon"]
    dog, bed = counts["dog"], counts["bed"]
    assert (dog.is_seen, dog.right, dog.invented, dog.found, dog.missed) == (True, 1, 1, 1, 0)
    assert (dog.precision, dog.recall) == (0.5, 1)
    assert dog.f1 == pytest.approx(2 / 3)
    assert (bed.precision, bed.recall, bed.f1, bed.missed) == (0, 0, 0, 1)
    assert not counts["raccoon"].is_seen


@pytest.mark.parametrize(
    ("reference", "caption", "precision"),
    [
        # The longest phrase counts: a hot dog is no dog.
        ("a dog", "a hot dog", 0),
        ("two hot dogs", "a hot dog", 1),
        # A plane can be an aircraft or an airplane.
        ("an airplane", "a plane", 1),
        ("an aircraft", "planes", 1),
        ("a dog", "a dog, a dog, a cat", 0.5),
        ("a dog", "nothing", 0),
        ("nothing", "a dog", 0),
    ],
)
def test_phrases(reference: str, caption: str, precision: float) -> None:
    assert evaluate({1: [reference]}, {1: caption}, [OpenObjects()])["Objects-P"] == precision


def test_the_command_line_by_domain(files: Path) -> None:
    options = "boxes=boxes.csv,class_names=classes.csv,hierarchy=hierarchy.json,image_info=images.json"
    score = ("score", "references.json", "results.json", "-f", "json", "-m", f"Objects({options})")
    report = json.loads(output(*score, "--subset", "domains.json"))
    assert report["metrics"]["Objects-R"] == 0.75
    assert report["subsets"]["out"]["Objects-R"] == pytest.approx(2 / 3)
    signed = ",".join(each.partition("-")[0] for each in report["signatures"]["Objects"]["options"])
    assert signed == options


def test_errors(files: Path) -> None:
    with pytest.raises(OptionError, match="'boxes' and 'hierarchy' need 'class_names'"):
        OpenObjects(boxes=Path("boxes.csv"))
    with pytest.raises(MismatchError, match=r"boxes.csv: 2 images \(1, 2\) are without boxes"):
        OpenObjects(boxes=Path("boxes.csv"), class_names=Path("classes.csv")).prepare(REFERENCES)
    (files / "classes.csv").write_text("/m/1,Unicorn\n")
    with pytest.raises(OptionError, match="unknown class 'Unicorn'"):
        OpenObjects(class_names=Path("classes.csv")).prepare(REFERENCES)
