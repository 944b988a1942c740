"""capeval's METEOR returns the results of METEOR 1.5. The goldens are from make_goldens.py."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conformance.meteor.adapter import reference_statistics, score
from tests.conformance.meteor.cases import cases

GOLDENS = json.loads(Path(__file__).with_name("goldens.json").read_text(encoding="utf-8"))


def test_goldens_are_of_the_cases() -> None:
    recorded = [(case["candidate"], case["references"]) for case in GOLDENS["cases"]]
    assert len(recorded) > 200
    assert recorded == [tuple(case) for case in cases()]


def test_segments_and_corpus_equal_the_goldens() -> None:
    rows = GOLDENS["cases"]
    ours = score([row["candidate"] for row in rows], [row["references"] for row in rows])
    for row, statistics, value in zip(rows, ours.statistics, ours.scores, strict=True):
        assert statistics == reference_statistics(row["statistics"]), row
        assert abs(value - row["score"]) <= 1e-12, row
    assert abs(ours.corpus - GOLDENS["corpus"]) <= 1e-12 * GOLDENS["corpus"]
