"""Scores computed by other programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from capeval import evaluate
from capeval.errors import FormatError, MismatchError
from capeval.metrics.given_scores import load_given_scores

REFERENCES = {1: ["A dog runs."], 2: ["Two cats."], 3: ["A bus."]}
OURS = {1: "a dog", 2: "cats", 3: "a bus, red"}
THEIRS = {1: "a dog", 2: "one cat", 3: "a car"}
TEXT = """image_id,caption,CLIPScore,Length
1,a dog,0.9,2
2,cats,0.6,1
3,"a bus, red",0.3,3
2,one cat,0.5,2
3,a car,0.1,2
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "clip.csv"
    file.write_text(text, encoding="utf-8")
    return file


def test_scores_of_several_systems(tmp_path: Path) -> None:
    metric = load_given_scores(write(tmp_path, TEXT))
    ours, theirs = (evaluate(REFERENCES, captions, [metric]) for captions in (OURS, THEIRS))
    assert ours.corpus == {"CLIPScore": pytest.approx(0.6), "Length": pytest.approx(2.0)}
    assert theirs.corpus["CLIPScore"] == pytest.approx(0.5)
    assert ours.per_image["CLIPScore"].tolist() == [0.9, 0.6, 0.3]
    found = ours.compare(theirs)["CLIPScore"]
    assert found.difference == pytest.approx(0.1)
    # Two differences: each of the four sign patterns is equally likely.
    assert found.p_value == pytest.approx(0.5)
    assert "file=clip.csv-" in str(ours.signatures["Given scores"])


def test_scores_of_one_system(tmp_path: Path) -> None:
    metric = load_given_scores(write(tmp_path, "image_id,score\n1,0.5\n2,1\n3,0\n"))
    assert evaluate(REFERENCES, OURS, [metric]).corpus == {"score": pytest.approx(0.5)}


def test_scores_of_one_system_are_not_those_of_another(tmp_path: Path) -> None:
    metric = load_given_scores(write(tmp_path, "image_id,score\n1,0.5\n2,1\n3,0\n"))
    prepared = metric.prepare(REFERENCES)
    prepared.score(OURS)
    prepared.score(OURS)
    with pytest.raises(MismatchError, match="belong to one system, but image 2 has several captions"):
        prepared.score(THEIRS)


def test_an_empty_caption_is_a_caption(tmp_path: Path) -> None:
    metric = load_given_scores(write(tmp_path, TEXT + "3,,0.0,0\n"))
    assert evaluate(REFERENCES, {**OURS, 3: ""}, [metric]).per_image["CLIPScore"].tolist() == [0.9, 0.6, 0.0]
    assert evaluate(REFERENCES, OURS, [metric]).corpus["CLIPScore"] == pytest.approx(0.6)


def test_a_lower_score_is_better(tmp_path: Path) -> None:
    file = write(tmp_path, TEXT)
    assert evaluate(REFERENCES, OURS, [load_given_scores(file, lower=True)]).lower_is_better == {
        "CLIPScore",
        "Length",
    }
    assert not evaluate(REFERENCES, OURS, [load_given_scores(file)]).lower_is_better


def test_a_caption_without_score(tmp_path: Path) -> None:
    file = write(tmp_path, TEXT)
    metric = load_given_scores(file)
    with pytest.raises(MismatchError, match=rf"^{file}: image 3 .*without a score of the caption"):
        evaluate(REFERENCES, {**OURS, 3: "a red bus"}, [metric])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,score\n1,1\n", "the columns must be 'image_id', 'caption' and scores"),
        ("image_id,caption\n1,a\n", "the columns must be"),
        ("image_id,score\n1,high\n", "line 2 must have a finite number as score .got 'high'"),
        ("image_id,score\n1,nan\n", "line 2 must have a finite number"),
        ("image_id,score\n1,1\n1,2\n", "line 3 must have the scores of an earlier line"),
        ("image_id,score\n", "must contain at least one score"),
    ],
)
def test_invalid_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load_given_scores(write(tmp_path, text))
