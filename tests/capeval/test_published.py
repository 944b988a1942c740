"""Tests of the published tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isnan, nan

import pytest

from capeval.datasets.nocaps import DOMAINS
from capeval.datasets.published import COCO_HUMAN
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


def test_human_rows_of_nocaps() -> None:
    (human,) = (row for row in load_nocaps("val") if row.training == "people")
    assert human.scores == {
        "in-domain": {"CIDEr-D": 83.3, "SPICE": 13.9},
        "near-domain": {"CIDEr-D": 85.5, "SPICE": 14.3},
        "out-domain": {"CIDEr-D": 91.4, "SPICE": 13.7},
        "overall": {"CIDEr-D": 87.1, "SPICE": 14.1},
        "COCO": {"CIDEr-D": 85.4, "SPICE": 19.8, "BLEU-1": 66.3, "BLEU-4": 21.7, "METEOR": 25.2},
    }
    # The paper quotes the leaderboard of COCO's test set.
    assert {name: round(100 * COCO_HUMAN.values[name], 1) for name in ("BLEU-1", "METEOR", "CIDEr-D")} == {
        name: human.scores["COCO"][name] for name in ("BLEU-1", "METEOR", "CIDEr-D")
    }
    (human,) = (row for row in load_nocaps("test") if row.training == "people")
    assert human.scores["overall"] == {
        "BLEU-1": 76.6,
        "BLEU-4": 19.5,
        "METEOR": 28.2,
        "ROUGE-L": 52.8,
        "CIDEr-D": 85.3,
        "SPICE": 14.5,
    }


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
