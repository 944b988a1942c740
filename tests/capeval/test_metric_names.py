"""Names of metrics in any spelling, the names of pycocoevalcap, and `CIDEr` for CIDEr-D."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capeval import Cider2015, CiderD, evaluate
from capeval._internal.plugins import DuplicateNameError
from capeval.errors import OptionError
from capeval.metrics import METRICS
from capeval.metrics.registry import get_metric, list_alias_notes, normalize_name
from capeval.report import System, create_score_table, to_markdown
from tests.capeval.cli.test_cli import run

REFERENCES = {
    1: ["A dog runs on the grass.", "The dog is running outside."],
    2: ["Two cats sleep on a bed.", "Cats on a bed."],
    3: ["A red bus drives down the street.", "A bus on a city street."],
}
CANDIDATES = {1: "A dog is running on grass.", 2: "Two cats on a bed.", 3: "A bus drives down a street."}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CIDEr", "CIDEr-D"),
        ("Cider", "CIDEr-D"),
        ("cider", "CIDEr-D"),
        ("CIDErD", "CIDEr-D"),
        ("cider_d", "CIDEr-D"),
        ("CIDEr-1", "CIDEr-D-1"),
        ("CIDEr(n=2)", "CIDEr-D(n=2)"),
        ("CIDEr-2015", "CIDEr-2015"),
        ("cider2015", "CIDEr-2015"),
        ("CIDEr-2015-4", "CIDEr-2015-4"),
        ("Bleu_4", "BLEU-4"),
        ("bleu4", "BLEU-4"),
        ("Bleu", "BLEU"),
        ("ROUGE_L", "ROUGE-L"),
        ("rougeL", "ROUGE-L"),
        ("Rouge", "ROUGE-L"),
        ("Meteor", "METEOR"),
        ("Spice", "SPICE"),
    ],
)
def test_names(name: str, expected: str) -> None:
    assert normalize_name(name) == expected


def test_every_name_means_itself() -> None:
    assert [normalize_name(name) for name in METRICS] == list(METRICS)


def test_cider_is_cider_d() -> None:
    report = evaluate(REFERENCES, CANDIDATES, "CIDEr,CIDEr-2015")
    assert list(report.corpus) == ["CIDEr-D", "CIDEr-2015"]
    assert report["CIDEr"] == report["CIDEr-D"] == report.corpus["cider"] == pytest.approx(3.8798, abs=1e-4)
    assert report["CIDEr-2015"] == pytest.approx(0.4126, abs=1e-4)
    assert str(report.signatures["CIDEr-D"]).startswith("CIDEr-D|n=4|order=None|sigma=6|form=code|tokenizer=")
    assert str(report.signatures["CIDEr-2015"]).startswith("CIDEr-2015|n=4|")


def test_lookups_by_the_names_of_pycocoevalcap() -> None:
    report = evaluate(REFERENCES, CANDIDATES, "BLEU,ROUGE-L", subsets={"pets": [1, 2]})
    assert report["Bleu_4"] == report.corpus["BLEU-4"]
    assert report.per_image["ROUGE_L"] is report.per_image["ROUGE-L"]
    assert report.subsets["pets"]["Bleu_1"] == report.subsets["pets"]["BLEU-1"]
    with pytest.raises(KeyError, match="no score 'CIDEr'; there are BLEU-1, BLEU-2"):
        report["CIDEr"]
    assert report.corpus.get("ROUGE_L") == report["ROUGE-L"]
    assert report.corpus.get("CIDEr") is None
    assert "Bleu_4" in report.per_image
    assert "CIDEr" not in report.corpus
    assert report.signatures["Bleu"] is report.signatures["BLEU"]
    assert report.with_intervals(samples=2).intervals["ROUGE_L"].score == report["ROUGE-L"]
    assert report.compare(report)["Bleu_4"].difference == 0


def test_two_names_of_one_metric() -> None:
    with pytest.raises(OptionError, match="must compute different scores"):
        evaluate(REFERENCES, CANDIDATES, "CIDEr,CIDEr-D")


def test_unknown_names() -> None:
    with pytest.raises(
        OptionError, match=r"'Self-CIDEr' compares several captions .* 'capeval study diversity'"
    ):
        get_metric("Self-CIDEr")
    with pytest.raises(OptionError, match="unknown metric 'CIDErE'; did you mean 'CIDEr-D'"):
        get_metric("CIDErE")


def test_notes() -> None:
    (note,) = list_alias_notes(["CIDEr", "BLEU", "cider-1"])
    assert note.startswith("CIDEr is computed as CIDEr-D")
    assert not list_alias_notes(["CIDErD", "cider_d", "bleu4", "ROUGE", "CIDEr-2015"])


def test_intervals_of_a_report_are_those_of_its_system() -> None:
    report = evaluate(REFERENCES, CANDIDATES, "CIDEr").with_intervals(samples=10)
    assert r"3.880 \[2.772" in to_markdown(create_score_table([System(name="Ours", report=report)]))


def test_stems_of_cider_d() -> None:
    references = {1: ["a dog runs"], 2: ["two cats"], 3: ["a bus"]}
    words, stems = CiderD(), CiderD(stem=True)
    assert "stem" not in "".join(words.options())
    assert stems.options()[-1] == "stem=True"
    candidates = {1: "a dog running", 2: "two cat", 3: "a bus"}
    scores = {
        metric: evaluate(references, candidates, [metric]).per_image["CIDEr-D"] for metric in (words, stems)
    }
    assert (scores[stems][:2] > scores[words][:2]).all()
    # With equal lengths and no repeated words, clipping and the length penalty change nothing.
    base = evaluate(references, candidates, [Cider2015()]).per_image["CIDEr-2015"]
    assert scores[stems] == pytest.approx(10 * base)


@pytest.mark.parametrize("metrics", ["CIDEr", "Cider", "cider"])
def test_the_command_prints_one_line(tmp_path: Path, metrics: str) -> None:
    references = [
        {"image_id": image, "caption": text} for image, texts in REFERENCES.items() for text in texts
    ]
    results = [{"image_id": image, "caption": text} for image, text in CANDIDATES.items()]
    for name, content in (("references.json", references), ("results.json", results)):
        (tmp_path / name).write_text(json.dumps(content))
    done = run("score", tmp_path / "references.json", tmp_path / "results.json", "-m", metrics, "-f", "json")
    assert json.loads(done.stdout)["metrics"].keys() == {"CIDEr-D"}
    assert done.stderr.decode().count("CIDEr is computed as CIDEr-D") == 1


def test_other_names_are_taken() -> None:
    with pytest.raises(DuplicateNameError, match="metric name 'cider' is another name of CIDEr-D"):
        METRICS.check(["cider"], __name__)
