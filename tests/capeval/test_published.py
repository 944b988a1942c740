"""Tests of the published tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isnan, nan

import pytest

from capeval.datasets.nocaps import DOMAINS
from capeval.datasets.published import NOCAPS_HUMAN
from capeval.datasets.published.tables import (
    CocoReferences,
    NocapsSplit,
    load_coco_2015,
    load_coco_2015_judgments,
    load_nocaps,
)
from capeval.errors import OptionError
from tests.shared_data import shared_data

NAMES = {
    "Bleu_1": "BLEU-1",
    "Bleu_2": "BLEU-2",
    "Bleu_3": "BLEU-3",
    "Bleu_4": "BLEU-4",
    "METEOR": "METEOR",
    "ROUGE_L": "ROUGE-L",
    "CIDEr": "CIDEr-D",
    "SPICE": "SPICE",
    **{f"q{number}": f"M{number}" for number in range(1, 6)},
}


def read_leaderboard(name: str) -> list[tuple[str, Mapping[str, float]]]:
    """Return dates and scores of a leaderboard as published."""
    rows = json.loads((shared_data("coco_2015") / f"{name}.json").read_text(encoding="utf-8"))
    return [
        (row["date"], {NAMES[key]: value for key, value in json.loads(row["results"]).items()})
        for row in rows
    ]


@pytest.mark.parametrize("references", ["c5", "c40"])
def test_leaderboards_have_the_published_scores(references: CocoReferences) -> None:
    rows = load_coco_2015(references)
    assert len(rows) == 80
    assert [(row.date, row.scores) for row in rows] == read_leaderboard(f"cap_{references}")


def test_judgments_have_the_published_values() -> None:
    rows = load_coco_2015_judgments()
    assert len(rows) == 17
    assert [(row.date, row.scores) for row in rows] == read_leaderboard("cap_challenge2015")


def test_judged_systems_are_on_the_leaderboard() -> None:
    teams = {row.team for row in load_coco_2015("c5")}
    assert {row.team for row in load_coco_2015_judgments()} - teams == {"Tsinghua Bigeye", "Random"}


@pytest.mark.parametrize("split", ["val", "test"])
def test_overall_scores_on_nocaps_are_means_of_the_domains(split: NocapsSplit) -> None:
    compared = 0
    for row in load_nocaps(split):
        values = [row.scores.get(name, {}).get("CIDEr-D", nan) for name in (*DOMAINS, "overall")]
        if not any(isnan(value) for value in values):
            total = sum(size * value for size, value in zip(row.partition, values[:3], strict=True))
            assert total / sum(row.partition) == pytest.approx(values[3], abs=0.11), row.system
            compared += 1
    assert compared == {"val": 10, "test": 5}[split]


@pytest.mark.parametrize("split", ["val", "test"])
def test_human_rows_of_nocaps_agree(split: NocapsSplit) -> None:
    (human,) = (row for row in load_nocaps(split) if row.system == "Human")
    assert {
        domain: {name: value / 100 for name, value in scores.items()}
        for domain, scores in human.scores.items()
    } == {domain: pytest.approx(scores, abs=1e-12) for domain, scores in NOCAPS_HUMAN.values[split].items()}


def test_rows_of_a_partition() -> None:
    rows = load_nocaps("val", partition=(648, 2938, 914))
    assert {row.partition for row in rows} == {(648, 2938, 914)}
    assert len(rows) == 10
    assert load_nocaps("val", partition=(1, 2, 3)) == ()


def test_unknown_names() -> None:
    with pytest.raises(OptionError, match="'split'"):
        load_nocaps("dev")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="'references'"):
        load_coco_2015("c1")  # type: ignore[arg-type]
