"""Studies of results with other forms of image ids, or of a part of the images."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from capeval.formats.judgments.human_scores import HumanScore, render_human_scores
from tests.capeval.cli.test_cli import output, refusal

DOMAINS = ("in-domain", "in-domain", "near-domain", "near-domain", "out-domain", "out-domain")
WORDS = ("red", "blue", "green", "black", "white", "brown")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    references = [
        {
            "image_id": image,
            "domain": domain,
            "caption": [f"A {word} horse.", f"A horse, {word}.", f"One {word} animal."],
        }
        for image, (domain, word) in enumerate(zip(DOMAINS, WORDS, strict=True), start=1)
    ]
    captions = {image: f"a {word} horse" for image, word in enumerate(WORDS, start=1)}
    kinds: dict[str, dict[int, str] | dict[str, str]] = {
        "plain": captions,
        "named": {f"val/{image}.jpg": text for image, text in captions.items()},
        "part": {image: text for image, text in captions.items() if image not in (2, 4)},
    }
    for name, results in kinds.items():
        rows = [{"image_id": image, "caption": text} for image, text in results.items()]
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    (tmp_path / "references.json").write_text(json.dumps(references))
    return tmp_path


def read_rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        # Without the name of the system.
        return [row[1:] for row in csv.reader(file)]


def test_domains(files: Path) -> None:
    study: list[str | Path] = ["study", "domains", files / "references.json"]
    options = ["--metrics", "BLEU-1,CIDEr-D", "-o"]
    output(*study, files / "plain.json", *options, files / "plain")
    text = output(*study, files / "named.json", *options, files / "named")
    assert "Image ids were matched by a rule (base names without extension)" in text
    assert read_rows(files / "named" / "domains.csv") == read_rows(files / "plain" / "domains.csv")
    assert "--missing skip" in refusal(*study, files / "part.json", *options, files / "part")
    text = output(*study, files / "part.json", "--missing", "skip", *options, files / "part")
    assert "4 of 6 images were scored" in text
    counts = {row[0]: row[1] for row in read_rows(files / "part" / "domains.csv")[1:]}
    assert counts == {"in-domain": "1", "near-domain": "1", "out-domain": "2", "overall": "4"}


def test_correlation_of_systems(files: Path) -> None:
    human = [
        HumanScore(system=name, question="M1", value=value, low=0, high=1, images=6, votes=6)
        for name, value in (("a", 0.4), ("b", 0.5), ("c", 0.7))
    ]
    (files / "human.csv").write_text(render_human_scores(human))
    tables = {}
    for kind in ("plain", "named"):
        for place, name in enumerate("abc"):
            content = json.loads((files / f"{kind}.json").read_text())
            # The systems differ in some captions.
            for row in content[place + 1 :]:
                row["caption"] = "a dog"
            (files / f"{name}.json").write_text(json.dumps(content))
        results = [files / f"{name}.json" for name in "abc"]
        study: list[str | Path] = [
            "study",
            "correlation",
            files / "references.json",
            files / "human.csv",
            *results,
        ]
        tables[kind] = output(*study, "--metrics", "BLEU-1,ROUGE-L")
    assert tables["plain"] == tables["named"]
    assert "1.000" in tables["plain"]


def test_gaming(files: Path) -> None:
    study: list[str | Path] = ["study", "gaming", "--references", files / "references.json", "--results"]
    plain = output(*study, files / "plain.json")
    assert output(*study, files / "named.json") == plain
    assert "--missing skip" in refusal(*study, files / "part.json")
    some = [
        row for row in json.loads((files / "references.json").read_text()) if row["image_id"] not in (2, 4)
    ]
    (files / "some.json").write_text(json.dumps(some))
    expected = output(
        "study", "gaming", "--references", files / "some.json", "--results", files / "part.json"
    )
    assert output(*study, files / "part.json", "--missing", "skip") == expected


def test_plans_with_results_of_some_images(files: Path) -> None:
    study: list[str | Path] = ["study", "plan", files / "references.json"]
    for name in ("named", "part"):
        output(*study, files / f"{name}.json", "--pairs", "HM=3", "-o", files / name)
        pairs = (files / name / "pairs.csv").read_text()
        assert name in pairs
