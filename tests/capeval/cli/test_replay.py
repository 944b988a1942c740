"""`capeval score --replay` and the warning about captions with line ends."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pycocoevalcap.eval
import pytest
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge
from pycocotools.coco import COCO

from tests.capeval.cli.test_cli import output, refusal, run

NEEDS_JAVA = pytest.mark.skipif(shutil.which("java") is None, reason="the reference's tokenizer needs Java")
METRICS = ("--metrics", "BLEU,ROUGE-L,CIDEr-D")
REPLAY = ("--replay", "pycocoevalcap-1.2")
IDS = [40, 7, 300, 12, 5]
NOUNS = ["a dog", "two cats", "the bus", "a man", "three birds"]


def write(folder: Path, ends: tuple[str, str]) -> tuple[Path, Path]:
    """Write COCO files of five images, with a line end in one reference and in one result."""
    annotations = [
        {"id": 10 * place + number, "image_id": image, "caption": f"{noun}{text}"}
        for number, text in enumerate([" is outside.", " on the grass", " in a Park"])
        for place, (image, noun) in enumerate(zip(IDS, NOUNS, strict=True))
    ]
    annotations[6]["caption"] = f"two{ends[0]}cats on the grass"
    described = zip(IDS, NOUNS, strict=True)
    results = [{"image_id": image, "caption": f"{noun} in the grass"} for image, noun in described]
    results[2]["caption"] = f"the bus{ends[1]}in a park"
    references, candidates = folder / "references.json", folder / "results.json"
    images = [{"id": image} for image in IDS]
    references.write_text(json.dumps({"info": {}, "images": images, "annotations": annotations}))
    candidates.write_text(json.dumps(results))
    return references, candidates


def theirs(references: Path, results: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The scores of pycocoevalcap's COCOEvalCap, without those of its slow Java programs."""

    class Zero:
        def compute_score(self, gts: dict[int, Any], res: dict[int, Any]) -> tuple[float, list[float]]:
            assert gts.keys() == res.keys()
            return 0.0, [0.0] * len(gts)

        def method(self) -> str:
            return "none"

    for name, scorer in {"Bleu": Bleu, "Rouge": Rouge, "Cider": Cider, "Meteor": Zero, "Spice": Zero}.items():
        monkeypatch.setattr(pycocoevalcap.eval, name, scorer)
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO(str(references))
        evaluation = pycocoevalcap.eval.COCOEvalCap(coco, coco.loadRes(str(results)))
        evaluation.evaluate()
    names = {f"Bleu_{n}": f"BLEU-{n}" for n in range(1, 5)} | {"ROUGE_L": "ROUGE-L", "CIDEr": "CIDEr-D"}
    return {name: float(evaluation.eval[key]) for key, name in names.items()}


@NEEDS_JAVA
@pytest.mark.parametrize("ends", [("\r\n", " "), (" ", "\u2028"), ("\r", "\x0c\x0b")])
def test_the_scores_are_those_of_coco_eval_cap(
    tmp_path: Path, ends: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write(tmp_path, ends)
    content = json.loads(output("score", *files, *METRICS, *REPLAY, "-f", "json"))
    expected = theirs(*files, monkeypatch)
    assert content["replay"]["metrics"] == pytest.approx(expected, rel=1e-12)
    assert content["metrics"]["CIDEr-D"] != content["replay"]["metrics"]["CIDEr-D"]
    ours = write(tmp_path, (" ", " "))
    assert json.loads(output("score", *ours, *METRICS, "-f", "json"))["metrics"] == content["metrics"]


def test_a_line_on_standard_error_names_the_option(tmp_path: Path) -> None:
    files = write(tmp_path, ("\r\n", "\u2028"))
    done = run("score", *files, "-m", "BLEU")
    assert done.returncode == 0
    text = done.stderr.decode()
    assert text.count("\n") == 1
    assert text.startswith(
        "capeval: warning: 1 reference and 1 candidate (first: image 7) contain a line end"
    )
    assert "--replay pycocoevalcap-1.2" in text
    assert run("score", *write(tmp_path, ("\n", " ")), "-m", "BLEU").stderr == b""


def test_tables_show_both_rows_and_the_reason(tmp_path: Path) -> None:
    references, results = write(tmp_path, ("\r", " "))
    text = output("score", references, results, "-m", "BLEU", *REPLAY, "--report", tmp_path / "report.html")
    assert "results (pycocoevalcap-1.2)" in text
    assert "Replay of pycocoevalcap-1.2: 1 reference (image 7) contains a line end" in " ".join(text.split())
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "results (pycocoevalcap-1.2)" in page
    assert "Replay of pycocoevalcap-1.2" in page
    rows = list(
        csv.reader(io.StringIO(output("score", references, results, "-m", "BLEU", *REPLAY, "-f", "csv")))
    )
    assert [row[0] for row in rows] == ["System", "results", "results (pycocoevalcap-1.2)"]


def test_without_line_ends_the_note_says_that_scores_are_equal(tmp_path: Path) -> None:
    text = output("score", *write(tmp_path, (" ", "\n")), "-m", "BLEU", *REPLAY)
    assert "no caption contains a line end that shifts later captions; the scores are equal." in " ".join(
        text.split()
    )


def test_check_mentions_such_captions(tmp_path: Path) -> None:
    references, results = write(tmp_path, ("\r", "\u2029"))
    note = (
        "a line end other than \\n, such as \\r, after which pycocoevalcap 1.2 gives captions the tokens of"
    )
    assert f"; 1 candidate (image 300) contains {note}" in output("check", results)
    text = output("check", results, "--references", references)
    assert f"; 1 reference and 1 candidate (first: image 7) contain {note}" in text
    assert "line end" not in output("check", write(tmp_path, ("\n", " "))[1])


def test_a_replay_requires_the_reference_tokenizer_and_files(tmp_path: Path) -> None:
    files = write(tmp_path, (" ", " "))
    message = "a replay requires the tokenizer of the reference"
    assert message in refusal("score", *files, "-m", "BLEU", *REPLAY, "--tokenizer", "char")
    assert message in refusal("score", *files, "-m", "BLEU", *REPLAY, "--context", "caption")
    assert "--replay requires files" in refusal("score", tmp_path, tmp_path, "-m", "BLEU", *REPLAY)
