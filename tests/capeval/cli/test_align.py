"""`capeval align`, run as a program."""

from __future__ import annotations

import json
import subprocess
import sys


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "capeval", "align", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_table_of_matches_and_the_score() -> None:
    shown = run("A man rides his bike.", "A man riding his bicycle.")
    assert shown.returncode == 0
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["1", "rides", "riding", "stem", "0.600"] in lines
    assert ["METEOR", "0.8364"] in lines


def test_json_has_positions_and_no_nan() -> None:
    aligned = json.loads(run("", "a dog", "--format", "json").stdout)
    assert aligned["candidate"] == []
    assert aligned["precision"] is None
    aligned = json.loads(run("two dogs", "dogs", "--format", "json").stdout)
    assert aligned["matches"] == [
        {"candidate": [1], "reference": [0], "stage": "exact", "weight": 1.0, "chunk": 1}
    ]


def test_words_on_one_side_alone_are_named() -> None:
    shown = run("a red dog", "a dog barks").stdout.splitlines()
    assert "only in the candidate: red" in shown
    assert "only in the reference: barks" in shown
