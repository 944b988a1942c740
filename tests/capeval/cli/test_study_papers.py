"""The studies of whole papers."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.capeval.cli.test_studies_people_and_building import CAPTIONS, output, refusal


def read_results(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    with (folder / "values.csv").open(encoding="utf-8", newline="") as file:
        return {(row["Part"], row["Quantity or statement"]): row for row in csv.DictReader(file)}


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    path = tmp_path / "captions.json"
    path.write_text(json.dumps(CAPTIONS), encoding="utf-8")
    return path


def test_coco_paper(captions: Path, tmp_path: Path) -> None:
    human = tmp_path / "human.json"
    human.write_text(
        json.dumps([{"image_id": image, "caption": texts[0]} for image, texts in CAPTIONS.items()])
    )
    printed = output("coco-paper", captions, "--human", human, "--many", captions, "-o", tmp_path / "paper")
    assert "Figure 3" in printed
    results = read_results(tmp_path / "paper")
    images = results["Section 2", "Images"]
    assert (images["Published"], images["Computed"], images["Result"]) == ("40504", "6", "not met")
    # The captions are among their own references.
    assert float(results["Table 1", "BLEU-1, c5"]["Computed"]) == pytest.approx(1.0)
    assert float(results["Table 1", "ROUGE-L, c40"]["Computed"]) == pytest.approx(1.0)
    # "elephant" is not a word of these captions.
    statements = {text: row["Result"] for (part, text), row in results.items() if part == "Figure 3"}
    assert "not computed" in statements.values()
    page = (tmp_path / "paper" / "report.md").read_text(encoding="utf-8")
    assert "The captions are not those of COCO val2014." in page
    assert (tmp_path / "paper" / "figure-3.png").is_file()


def test_more_references_require_human_captions(captions: Path) -> None:
    assert "'--many' requires '--human'" in refusal("coco-paper", captions, "--many", captions)
