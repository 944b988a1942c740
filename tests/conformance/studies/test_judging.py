"""Published judgments of systems by people: the challenge of 2015, and THumB."""

import gzip
import json

import numpy as np
import pytest

from capeval.formats.judgments.ratings import Ratings
from capeval.studies.judging import judge, leaderboard_points, thumb_score
from tests.shared_data import shared_data


def test_the_points_of_2015_follow_from_the_published_m1_and_m2() -> None:
    rows = json.loads((shared_data("coco_2015") / "cap_challenge2015.json").read_text(encoding="utf-8"))
    assert len(rows) == 17
    results = {row["team"]["name"]: json.loads(row["results"]) for row in rows}
    columns = {
        question: {name: values[field] for name, values in results.items()}
        for question, field in (("M1", "q1"), ("M2", "q2"))
    }
    found = leaderboard_points(columns)
    # The published points of M1 and M2, and places.
    assert {
        each.system: (each.points["M1"], each.points["M2"], each.place) for each in found if each.total
    } == {
        "Google": (5, 4, 1),
        "MSR": (4, 5, 1),
        "MSR Captivator": (2, 3, 3),
        "Montreal/Toronto": (3, 2, 3),
        "Berkeley LRCN": (1, 1, 5),
    }
    assert len(found) == 15


def test_thumb_gives_the_published_means() -> None:
    path = shared_data("thumb") / "mscoco_THumB-1.0.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    assert len(rows) == 2_500
    columns = {name: np.array([row[name] for row in rows]) for name in ("P", "R", "Fl", "Inc", "Con")}
    scores = thumb_score(columns["P"], columns["R"], columns["Fl"], columns["Inc"], columns["Con"])
    assert scores == pytest.approx([row["human_score"] for row in rows])
    ratings = Ratings(
        image_ids=tuple(row["image"] for row in rows),
        captions=tuple(row["hyp"] for row in rows),
        values=scores[:, None],
        systems=tuple(row["SYS"] for row in rows),
    )
    found = judge(ratings, "THumB")
    assert {name: round(row.interval.score, 2) for name, row in found.rows.items()} == {
        "Human": 4.56,
        "VinVL-large": 4.25,
        "VinVL-base": 4.21,
        "Unified-VLP": 4.06,
        "Up-Down": 3.88,
    }
    assert all(row.images == 500 for row in found.rows.values())
    # People are above every system for sure; the best two systems can't be told apart on 500 images.
    assert found.rows["Human"].interval.low > found.rows["VinVL-large"].interval.high
    assert found.compare("VinVL-large", "VinVL-base").p_value > 0.05
