"""CHAIR: words, objects and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capeval import Chair, evaluate
from capeval.errors import FormatError, MismatchError, OptionError
from capeval.metrics.chair import ObjectWords, load_object_words
from tests.capeval.cli.test_cli import output, refusal

LIST = b"person, woman, man\ntennis racket, racket\nbus\ntoilet\nchair, seat\nhot dog\ndog\n"


@pytest.mark.parametrize(
    ("caption", "code", "words"),
    [
        ("two women and a dog", ["person", "dog"], ["person", "dog"]),
        ("a bus and buses", ["bus"], ["bus", "bus"]),
        ("a tennis racket", ["tennis racket"], ["tennis racket"]),
        ("hot dogs", ["hot dog"], ["hot dog"]),
        ("hot , dog", ["dog"], ["dog"]),
        ("a baby dog", ["dog"], ["dog"]),
        ("the seat of the toilet", ["toilet"], ["toilet"]),
        ("a seat", ["chair"], ["chair"]),
        ("", [], []),
    ],
)
def test_mentions(caption: str, code: list[str], words: list[str]) -> None:
    classes = load_object_words(LIST)
    assert ObjectWords(classes=classes).find_objects(caption.split()) == code
    assert ObjectWords(classes=classes, form="words").find_objects(caption.split()) == words


def write_instances(folder: Path, objects: dict[int, list[str]]) -> Path:
    names = sorted({name for found in objects.values() for name in found})
    content = {
        "images": [{"id": image} for image in objects],
        "categories": [{"id": names.index(name), "name": name} for name in names],
        "annotations": [
            {"image_id": image, "category_id": names.index(name)}
            for image, found in objects.items()
            for name in found
        ],
    }
    file = folder / "instances.json"
    file.write_text(json.dumps(content))
    return file


def test_objects_of_a_file(tmp_path: Path) -> None:
    references, candidates = {1: ["A dog."], 2: ["A bed."]}, {1: "A dog and a cat.", 2: "A cat on a bed."}
    alone = evaluate(references, candidates, [Chair()])
    assert alone.corpus == {"CHAIR-i": 0.5, "CHAIR-s": 1.0}
    metric = Chair(objects=write_instances(tmp_path, {1: ["cat", "cat"], 2: [], 3: ["dog"]}))
    report = evaluate(references, candidates, [metric])
    assert report.corpus == {"CHAIR-i": 0.25, "CHAIR-s": 0.5}
    assert str(report.signatures["CHAIR"]).startswith("CHAIR|objects=instances.json-")


def test_errors(tmp_path: Path) -> None:
    captions: dict[int, list[str]] = {7: ["A dog."]}
    with pytest.raises(MismatchError, match=r"instances.json: image 7 is not among the images of the file"):
        Chair(objects=write_instances(tmp_path, {1: ["cat"]})).prepare(captions)
    with pytest.raises(MismatchError, match="the list of words has no class 'piano'; add it"):
        Chair(objects=write_instances(tmp_path, {7: ["piano"]})).prepare(captions)
    with pytest.raises(FormatError, match="at least one word"):
        load_object_words(b"\n")
    with pytest.raises(FormatError, match="line 2 must be words separated by commas"):
        load_object_words(b"dog\ncat, , kitten\n")
    with pytest.raises(OptionError, match="'objects' must be a Path"):
        Chair(objects="instances.json")  # type: ignore[arg-type]


def test_the_command_line_reads_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_instances(tmp_path, {1: ["cat"], 2: []})
    Path("words.txt").write_text("dog\ncat\n")
    Path("references.json").write_text(json.dumps({"1": ["A dog."], "2": ["A bed."]}))
    Path("results.json").write_text(json.dumps({"1": "A dog and a cat.", "2": "A cat on a bed."}))
    score = ("score", "references.json", "results.json", "--format", "json", "-m")
    found = json.loads(output(*score, "CHAIR(objects=instances.json,words=words.txt),Length"))
    assert found["metrics"] == {"CHAIR-i": 1 / 3, "CHAIR-s": 0.5, "Length": 5.0}
    assert [each.partition("-")[0] for each in found["signatures"]["CHAIR"]["options"]] == [
        "objects=instances.json",
        "words=words.txt",
        "form=code",
    ]
    Path("report.json").write_text(json.dumps(found))
    verify = ("verify", "report.json", "--references", "references.json", "--results", "results.json")
    assert "'objects' is the file instances.json-" in refusal(*verify)
    assert "missing.json" in refusal(*score, "CHAIR(objects=missing.json)")
    assert "CHAIR(objects=instances.json): " in output("metrics", "CHAIR(objects=instances.json)")
