"""`capeval study consensus`: metrics with options, all sentences of PASCAL-50S, files about pairs."""

import csv
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.io import savemat

from capeval.cli.app import app
from capeval.errors import MismatchError, OptionError
from tests.capeval.cli.pascal_files import write_pascal

RUN = CliRunner()


def study(*arguments: object) -> str:
    result = RUN.invoke(app, ["study", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.fixture
def pascal(tmp_path: Path) -> Path:
    return write_pascal(tmp_path)


def add_sentences(folder: Path, name: str = "x.jpg") -> None:
    sentences = np.array([f"a dog {n} on grass" for n in range(50)], dtype=object)
    savemat(folder / "pascal50S.mat", {"train_sent_final": [{"name": name, "sentences": sentences}]})


def test_all_sentences_are_used_if_they_are_there(pascal: Path) -> None:
    shown = study("consensus", pascal)
    assert "References of each pair: 2; for the 48 of the paper, add pascal50S.mat to the folder." in shown
    assert "(paper)" not in shown
    add_sentences(pascal)
    shown = study("consensus", pascal, "--counts", "48", "--draws", 1)
    assert "References of each pair: 48, the first 48 sentences of pascal50S.mat, as in the paper." in shown
    assert "CIDEr-2015 (paper)" in shown
    assert "Balanced wins" in shown
    add_sentences(pascal, "y.jpg")
    with pytest.raises(MismatchError, match=r"image .x\.jpg. is without sentences in pascal50S\.mat"):
        study("consensus", pascal)


def test_metrics_have_options(pascal: Path) -> None:
    out = pascal / "out"
    metrics = ("-m", "CIDEr-D,CIDEr-D(stem=true)", "-m", "ROUGE-S")
    shown = study("consensus", pascal, *metrics, "-o", out, "--browse", pascal / "pairs.html")
    assert "CIDEr-D(stem=true)" in shown
    assert "BLEU" not in shown
    with (out / "paired-tests.csv").open(encoding="utf-8") as file:
        tests = [(row["A"], row["B"]) for row in csv.DictReader(file)]
    assert tests == [
        ("CIDEr-D", "CIDEr-D(stem=true)"),
        ("CIDEr-D", "ROUGE-S"),
        ("CIDEr-D(stem=true)", "ROUGE-S"),
    ]
    with (out / "pairs.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["First by"] for row in rows] == ["6", "7", "1", "2", "2", "3"]
    assert {"Votes for first (pairwise)", "ROUGE-S first", "ROUGE-S correct"} <= set(rows[0])
    page = (pascal / "pairs.html").read_text(encoding="utf-8")
    assert "Disagreements of metrics and people: PASCAL-50S" in page


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ("ROUGE-X", "ROUGE-X"),
        ("CIDEr-D(speed=2)", "speed"),
        ("CIDEr-D,CIDEr-D", "different names"),
    ],
)
def test_invalid_metrics_are_named(pascal: Path, metrics: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        study("consensus", pascal, "--metrics", metrics)


def test_metrics_of_the_users_modules(pascal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_module.py").write_text(
        "from capeval import RougeL\n\n\nclass Own(RougeL):\n    family = 'Own'\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    assert "Own" in study("consensus", pascal, "--metrics", "own_module:Own,ROUGE-L")
