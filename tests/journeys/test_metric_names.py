"""A researcher types the names that papers and pycocoevalcap use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.journeys.installation import User
from tests.journeys.people import People, get_reference_scores

OLD_NAMES = {
    **{f"Bleu_{order}": f"BLEU-{order}" for order in range(1, 5)},
    "ROUGE_L": "ROUGE-L",
    "CIDEr": "CIDEr-D",
}


def test_cider_is_the_cider_of_the_field(user: User, files: Path, people: People) -> None:
    expected = get_reference_scores(people.references, people.ours)["CIDEr-D"]
    for name in ("CIDEr", "cider", "Cider", "CIDEr-D"):
        done = user.run(f"capeval score references.json ours.json --metrics {name} --format json")
        report = json.loads(done.stdout)
        assert report["metrics"] == {"CIDEr-D": pytest.approx(expected, rel=1e-12)}
        assert list(report["signatures"]) == ["CIDEr-D"]
        notes = done.stderr.splitlines()
        assert len(notes) == (name != "CIDEr-D")
        assert all("CIDEr-2015" in note for note in notes)
    table = user.read("capeval score references.json ours.json -m CIDEr,CIDEr-2015").splitlines()
    assert table[0].split() == ["System", "CIDEr-D", "CIDEr-2015"]
    assert table[2].split()[1] == f"{expected:.3f}"


def test_the_names_of_pycocoevalcap(user: User, files: Path, people: People) -> None:
    expected = get_reference_scores(people.references, people.ours)
    names = ",".join(OLD_NAMES)
    report = json.loads(user.read(f"capeval score references.json ours.json -m {names} -f json"))
    assert report["metrics"] == {
        name: pytest.approx(expected[name], rel=1e-12) for name in OLD_NAMES.values()
    }
    program = f"""
import json
from capeval import evaluate, load_candidates, load_references
report = evaluate(load_references("references.json"), load_candidates("ours.json"), {names!r})
print(json.dumps({{name: report[name] for name in {list(OLD_NAMES)!r}}}))
"""
    found = json.loads(user.python(program))
    assert found == {old: pytest.approx(expected[new], rel=1e-12) for old, new in OLD_NAMES.items()}


def test_metric_options_on_the_command_line(user: User, files: Path) -> None:
    metrics = "CIDEr-D(stem=true),BLEU(level=sentence)"
    report = json.loads(user.read(f"capeval score references.json ours.json -m '{metrics}' -f json"))
    assert list(report["metrics"]) == ["CIDEr-D", "BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4"]
    assert "stem" in report["signatures"]["CIDEr-D"]["text"]
    plain = json.loads(user.read("capeval score references.json ours.json -m CIDEr-D,BLEU -f json"))
    assert report["metrics"]["CIDEr-D"] != plain["metrics"]["CIDEr-D"]
    assert report["metrics"]["BLEU-4"] != plain["metrics"]["BLEU-4"]


def test_a_misspelled_name(user: User, files: Path) -> None:
    error = user.run("capeval score references.json ours.json -m BLUE-4", status=2).stderr
    assert error == (
        "capeval: error: unknown metric 'BLUE-4'; did you mean 'BLEU-4'? Run 'capeval metrics' for the list\n"
    )
    error = user.run("capeval score references.json ours.json -m 'CIDEr-D(stems=true)'", status=2).stderr
    assert "stem" in error
    assert "CIDEr-D" in user.read("capeval metrics CIDEr")
