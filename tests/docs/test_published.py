"""Published numbers in the documentation equal `capeval.datasets.published`."""

import json
import re
from pathlib import Path

import pytest

from capeval.datasets.published import COCO_HUMAN, UNIQUE_NGRAMS
from capeval.datasets.published.cider import load_cider_accuracy, load_cider_text
from tests.shared_data import shared_data

# The names of scores here, and on COCO's leaderboard.
LEADERBOARD = {
    "BLEU-1": "Bleu_1",
    "BLEU-2": "Bleu_2",
    "BLEU-3": "Bleu_3",
    "BLEU-4": "Bleu_4",
    "METEOR": "METEOR",
    "ROUGE-L": "ROUGE_L",
    "CIDEr-D": "CIDEr",
    "SPICE": "SPICE",
}
STUDIES = Path(__file__).parents[2] / "docs" / "studies"


def row(document: str, label: str, *, place: int = 0) -> list[str]:
    """The cells after the first of a row of a table: of the rows with this label, the one at a place."""
    lines = (STUDIES / document).read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith(f"| {label} |")]
    return rows[place][1:]


def test_what_people_score_on_coco() -> None:
    assert row("human.md", "paper, test set, c5") == [f"{score:.3f}" for score in COCO_HUMAN.values.values()]


@pytest.mark.parametrize("metric", load_cider_accuracy("ABSTRACT-50S"))
def test_the_accuracy_of_metrics(metric: str) -> None:
    cells, published = row("consensus.md", metric), load_cider_accuracy("ABSTRACT-50S")[metric]
    assert (cells[1], cells[3]) == (str(published["HC"]), str(published["HI"]))


@pytest.mark.parametrize("dataset", UNIQUE_NGRAMS.values)
def test_unique_ngrams(dataset: str) -> None:
    counts = UNIQUE_NGRAMS.values[dataset]
    assert row("diversity.md", f"{dataset}, paper") == [f"{count:,}" for count in counts]


def test_how_alike_metrics_rank() -> None:
    printed = load_cider_text()["Section 8", "CIDEr-2015 and CIDEr-D"]
    assert row("ranking.md", "CIDEr-2015 and CIDEr-D")[2] == printed


def test_every_number_has_a_source() -> None:
    for published in (COCO_HUMAN, UNIQUE_NGRAMS):
        assert published.values
        assert any(word in published.source for word in ("Table", "section"))


@pytest.mark.parametrize(("label", "key"), LEADERBOARD.items())
def test_what_systems_score_on_coco(label: str, key: str) -> None:
    five, forty = systems("cap_c5.json", key), systems("cap_c40.json", key)
    middle = len(five) // 2
    cells = [float(cell) for cell in row("../how-to/read-scores.md", label)]
    assert cells[:3] == [five[0], five[middle], five[-1]]
    assert cells[3] == COCO_HUMAN.values.get(label, cells[3])
    text = " ".join((STUDIES / "../how-to/read-scores.md").read_text(encoding="utf-8").split())
    assert f"The {len(five)} systems" in text
    for given in re.findall(rf"{label}\b[^\d.|]* (\d.\d+) instead of (\d.\d+)", text):
        assert [float(score) for score in given] == [forty[middle], five[middle]]


def systems(file: str, key: str) -> list[float]:
    """A score of the systems of COCO's leaderboard, sorted; without that of people."""
    rows = json.loads((shared_data("coco_2015") / file).read_text(encoding="utf-8"))
    return sorted(json.loads(row["results"])[key] for row in rows if row["team"]["name"] != "Human")
