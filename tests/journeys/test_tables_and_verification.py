"""A researcher prepares a table for a paper, and a reader computes its scores again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.journeys.installation import User
from tests.journeys.people import People, get_reference_scores, write_results


def test_a_table_for_a_paper(user: User, files: Path, people: People) -> None:
    expected = get_reference_scores(people.references, people.ours)
    metrics = "-m BLEU-4,ROUGE-L,CIDEr"
    table = user.read(f"capeval score references.json ours.json others.json {metrics} --scale 100 -f latex")
    rows = [line.rstrip(" \\").split(" & ") for line in table.splitlines() if " & " in line]
    assert rows[0] == ["System", "BLEU-4", "ROUGE-L", "CIDEr-D"]
    values = [cell.removeprefix(r"\textbf{").removesuffix("}") for cell in rows[1][1:]]
    assert values == [f"{100 * expected[name]:.1f}" for name in rows[0][1:]]
    program = """
from capeval import evaluate, load_candidates, load_references
report = evaluate(load_references("references.json"), load_candidates("ours.json"), "BLEU-4,ROUGE-L,CIDEr")
print(report.to_latex("ours", scale=100))
print(report.to_markdown("ours"))
"""
    text = user.python(program)
    assert f"ours & {' & '.join(values)} \\\\" in text
    assert (
        f"| ours | {expected['BLEU-4']:.3f} | {expected['ROUGE-L']:.3f} | {expected['CIDEr-D']:.3f} |" in text
    )


def test_three_systems_are_compared(user: User, files: Path, people: People) -> None:
    write_results(files / "short.json", {image: text.split()[0] for image, text in people.ours.items()})
    command = "capeval compare references.json ours.json others.json short.json -m ROUGE-L"
    found = json.loads(user.read(f"{command} -f json"))["comparisons"]
    people_differ, short_differs = (each["metrics"]["ROUGE-L"] for each in found)
    assert people_differ["p_value"] > 0.05
    assert short_differs["p_value"] == short_differs["smallest_p_value"] < 0.001
    assert short_differs["corrected_p_value"] == 2 * short_differs["p_value"]
    table = user.read(command)
    assert "<0.001" in table
    paper = user.read(f"{command} --layout systems -f latex --scale 100")
    assert [r"$^\dagger$" in line for line in paper.splitlines()[5:8]] == [False, False, True]


def test_a_report_is_verified(user: User, files: Path, people: People) -> None:
    command = "capeval score references.json ours.json -m BLEU,CIDEr --bootstrap --per-image -f json"
    user.run(f"{command} -o report.json")
    verify = "capeval verify report.json --references references.json --results ours.json"
    assert user.read(verify).startswith("Same digits: yes (5 scores, 5 intervals, 100 images)\n")
    changed = {**people.ours, next(iter(people.ours)): "A dog."}
    write_results(files / "ours.json", changed)
    done = user.run(verify, status=1)
    assert done.stdout.startswith("Same digits: no")
    assert "captions" in done.stdout


@pytest.mark.parametrize(
    "command",
    ["metrics", "metrics CIDEr", "resources", "data list", "score references.json ours.json --bootstrap"],
)
def test_tables_fit_a_terminal(user: User, files: Path, command: str) -> None:
    user.run("capeval resources meteor")
    # Footnotes are sentences and paths, which the terminal wraps.
    table = user.show(f"capeval {command}", columns=80).partition("\n\n")[0]
    assert table
    assert max(map(len, table.splitlines())) <= 80


def test_captions_in_chinese(user: User, tmp_path: Path) -> None:
    captions = {1: "一只狗在草地上跑。", 2: "两只猫睡在床上。"}
    for name in ("references", "results"):
        write_results(tmp_path / f"{name}.json", captions)
    warned = user.run("capeval score references.json results.json -m BLEU")
    assert "--tokenizer" in warned.stderr
    done = user.run("capeval score references.json results.json -m BLEU --tokenizer zh -f json")
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["metrics"]["BLEU-4"] == pytest.approx(1)
    assert report["signatures"]["BLEU"]["tokenizer"] == "zh"
