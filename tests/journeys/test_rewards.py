"""A researcher trains a captioner with code for other packages, and replaces these packages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.forks.files import rows, write_files
from tests.clients.forks.record import FOLDER
from tests.journeys.installation import User

EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())["results"]
INSTALL = "import capeval.compat\ncapeval.compat.install({names})\n"
# The module of a training script: the file of document frequencies is found by its name.
REWARDS = """
from pyciderevalcap.ciderD.ciderD import CiderD

def compute(references, samples):
    return CiderD(df="coco-train-idxs").compute_score(references, samples)
"""
TRAIN = """
import json
import rewards

batch = json.load(open("batch.json"))
score, scores = rewards.compute(dict(enumerate(batch["references"])), batch["samples"])
print(json.dumps([score, scores.tolist()]))
"""
EVALUATION = """
import evaluation

gts = evaluation.PTBTokenizer.tokenize([["A dog runs on the grass."], ["Two cats."]])
gen = evaluation.PTBTokenizer.tokenize(["A dog runs on the grass.", "Two dogs."])
print(evaluation.compute_scores(gts, gen)[0]["ROUGE"])
"""


def write_batch(folder: Path) -> None:
    """Write a minibatch with different numbers of samples, in any order of images."""

    def join(row: list[int]) -> str:
        return " ".join(map(str, row[: row.index(0) + 1]))

    references = [[join(row) for row in rows(2 + image % 4, 10 + image)] for image in range(8)]
    samples = [
        {"image_id": place * 7 % 8, "caption": [join(row)]} for place, row in enumerate(rows(40, 1)[:29])
    ]
    (folder / "batch.json").write_text(json.dumps({"references": references, "samples": samples}))


def test_rewards_of_self_critical_training(user: User) -> None:
    write_files(user.folder)
    write_batch(user.folder)
    (user.folder / "rewards.py").write_text(REWARDS)
    train = user.folder / "train.py"
    train.write_text(INSTALL.format(names="") + TRAIN)
    # Without document frequencies, the error names the command that writes them.
    error = user.run("python train.py", status=1).stderr
    command = error.partition("`")[2].partition("`")[0]
    assert command.startswith("capeval resources frequencies dataset_coco.json data/coco-train-idxs.p --tok")
    (user.folder / "data").mkdir()
    user.run(command)
    found = json.loads(user.read("python train.py"))
    score, scores = EXPECTED["self_critical_rewards"]["repeated"][0]
    assert found == [pytest.approx(score, rel=1e-12), pytest.approx(scores, rel=1e-12, abs=1e-14)]
    # The same file gives the same weights to `capeval score`.
    captions = json.loads((user.folder / "batch.json").read_text())
    references = dict(enumerate(captions["references"]))
    (user.folder / "references.json").write_text(json.dumps(references))
    first = [{**each, "caption": each["caption"][0]} for each in captions["samples"][:8]]
    (user.folder / "results.json").write_text(json.dumps(first))
    report = user.read(
        "capeval score references.json results.json --tokenized -m CIDEr-D -f json"
        " --frequencies data/coco-train-idxs.p"
    )
    expected = sum(scores[:8]) / 8
    assert json.loads(report)["metrics"]["CIDEr-D"] == pytest.approx(expected, rel=1e-12)


def test_a_call_that_comes_too_late_names_the_import(user: User) -> None:
    (user.folder / "evaluation.py").write_text("def compute_scores(): ...\n")
    (user.folder / "rewards.py").write_text("from evaluation import compute_scores\n")
    late = "import rewards\n" + INSTALL.format(names='"evaluation"')
    (user.folder / "train.py").write_text(late)
    error = user.run("python train.py", status=1).stderr
    assert "'evaluation' is already imported by 'rewards'" in error
    # Moved above the import, as the error says.
    assert "call it before that import" in error
    (user.folder / "train.py").write_text(INSTALL.format(names='"evaluation"') + EVALUATION)
    assert float(user.read("python train.py")) == 0.75
    # Without the name, the module of the user remains.
    (user.folder / "train.py").write_text(
        INSTALL.format(names="") + "import evaluation\nprint(evaluation.__file__)"
    )
    assert user.read("python train.py").strip() == str(user.folder / "evaluation.py")
