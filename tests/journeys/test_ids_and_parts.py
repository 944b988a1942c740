"""A researcher has results by file name, of a part of the images, or with other ids than the references."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.installation import User
from tests.journeys.people import People, file_name, get_reference_scores, write_results

RULES: dict[str, Callable[[int], str]] = {
    "numbers equal their decimal text": str,
    "numbers in COCO's file names": file_name,
    "listed file names": lambda image: f"folder/{image}.jpg",
}


@pytest.mark.parametrize("rule", RULES)
def test_ids_in_another_form(user: User, files: Path, people: People, rule: str) -> None:
    content = json.loads((files / "references.json").read_text())
    if rule == "listed file names":
        # Names without the image's id.
        names = {row["id"]: f"{place}.jpg" for place, row in enumerate(content["images"])}
        for row in content["images"]:
            row["file_name"] = names[row["id"]]
        (files / "references.json").write_text(json.dumps(content))
        ids: dict[int, str] = {image: f"pictures/{name}" for image, name in names.items()}
    else:
        ids = {image: RULES[rule](image) for image in people.ours}
    write_results(files / "named.json", {ids[image]: text for image, text in people.ours.items()})
    expected = get_reference_scores(people.references, people.ours)
    done = user.run("capeval score references.json named.json -m CIDEr-D -f json")
    report = json.loads(done.stdout)
    assert report["metrics"] == {"CIDEr-D": pytest.approx(expected["CIDEr-D"], rel=1e-12)}
    assert report["matching"]["rule"] == rule
    table = user.read("capeval score references.json named.json -m CIDEr-D")
    assert rule in table
    assert "valid" in user.read("capeval check named.json --references references.json")
    command = "capeval compare references.json ours.json named.json -m CIDEr-D"
    compared = json.loads(user.read(f"{command} -f json"))
    assert compared["metrics"]["CIDEr-D"]["difference"] == 0
    assert (compared["images"], compared["matching"]) == (100, {"named": report["matching"]})
    assert rule in user.read(command)


def test_unicode_forms_of_a_name(user: User, tmp_path: Path) -> None:
    captions = {"café.jpg": "A cup of coffee.", "menu.jpg": "A menu on a table."}
    write_results(tmp_path / "references.json", captions)
    decomposed = {unicodedata.normalize("NFD", image): text for image, text in captions.items()}
    write_results(tmp_path / "results.json", decomposed)
    report = json.loads(user.read("capeval score references.json results.json -m BLEU-1 -f json"))
    assert report["metrics"]["BLEU-1"] == pytest.approx(1)
    assert report["matching"]["rule"] == "Unicode normalization (NFC)"


def test_results_of_some_images(user: User, files: Path, people: People) -> None:
    some = list(people.ours)[10:60]
    write_results(files / "some.json", {image: people.ours[image] for image in some})
    error = user.run("capeval score references.json some.json", status=2).stderr
    assert "50 images" in error
    assert "--missing skip" in error
    expected = get_reference_scores(people.references, people.ours, some)
    report = json.loads(
        user.read("capeval score references.json some.json --missing skip -m BLEU,ROUGE-L,CIDEr-D -f json")
    )
    assert report["metrics"] == {name: pytest.approx(each, rel=1e-12) for name, each in expected.items()}
    table = user.read("capeval score references.json some.json --missing skip -m CIDEr-D")
    assert "50 of 100 images were scored" in table
    program = """
from capeval import evaluate, load_candidates, load_references
report = evaluate(load_references("references.json"), load_candidates("some.json"), "CIDEr", missing="skip")
print(report["CIDEr"])
"""
    assert float(user.python(program)) == pytest.approx(expected["CIDEr-D"], rel=1e-12)


def test_references_of_some_images(user: User, files: Path, people: People) -> None:
    # As in c40, only a part of the images has references.
    content = json.loads((files / "references.json").read_text())
    some = list(people.references)[:30]
    content["images"] = [row for row in content["images"] if row["id"] in some]
    content["annotations"] = [row for row in content["annotations"] if row["image_id"] in some]
    (files / "c40.json").write_text(json.dumps(content))
    error = user.run("capeval score c40.json ours.json", status=2).stderr
    assert "--extra skip" in error
    expected = get_reference_scores(people.references, people.ours, some)
    report = json.loads(user.read("capeval score c40.json ours.json --extra skip -m CIDEr-D -f json"))
    assert report["metrics"] == {"CIDEr-D": pytest.approx(expected["CIDEr-D"], rel=1e-12)}
    compared = json.loads(
        user.read("capeval compare c40.json ours.json others.json --extra skip -m CIDEr-D -f json")
    )
    assert compared["metrics"]["CIDEr-D"]["a"] == pytest.approx(expected["CIDEr-D"], rel=1e-12)
    assert "70 results" in user.read("capeval check ours.json --references c40.json --extra skip")
