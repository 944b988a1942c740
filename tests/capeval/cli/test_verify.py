"""The command `capeval verify`: the verdict, the exit code, and the reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capeval.datasets.benchmarks import get_benchmark
from tests.capeval.cli.test_cli import output, refusal, run

REFERENCES = [
    {"image_id": image, "caption": caption}
    for image in range(1, 7)
    for caption in (f"A man on horse number {image}.", "A brown horse, with its rider", "someone rides")
]
A = [{"image_id": image, "caption": f"a man on horse number {image}"} for image in range(1, 7)]
B = [{"image_id": image, "caption": "a dog" if image > 1 else "a horse"} for image in range(1, 7)]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    contents = {"references": REFERENCES, "a": A, "b": B, "domains": {"near": [1, 2], "far": [3, 4, 5, 6]}}
    for name, content in contents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verify(*arguments: str) -> tuple[int, str]:
    """Run the command; return its exit code and output."""
    done = run("verify", *arguments)
    assert done.stderr == b""
    return done.returncode, done.stdout.decode()


def test_the_same_captions_have_the_same_digits(files: Path) -> None:
    output("score", "references.json", "a.json", "-f", "json", "-o", "report.json")
    code, text = verify("report.json", "--references", "references.json", "--results", "a.json")
    assert code == 0
    verdict, empty, header, *_ = text.splitlines()
    assert (verdict, empty) == ("Same digits: yes (7 scores)", "")
    assert header.split() == ["Score", "Report", "Recomputed", "Same"]
    assert text.count(" yes\n") == 7


def test_other_captions_are_the_reason(files: Path) -> None:
    output("score", "references.json", "a.json", "-f", "json", "--per-image", "-o", "report.json")
    changed = [*A[:5], {"image_id": 6, "caption": "a dog"}]
    (files / "b.json").write_text(json.dumps(changed))
    code, text = verify("report.json", "-r", "references.json", "--results", "b.json")
    assert code == 1
    verdict, captions, images, *_ = text.splitlines()
    assert verdict == "Same digits: no (7 of 7 scores and 1 of 6 images differ)"
    assert captions.startswith("- The captions differ: digest ")
    assert images == "- Images with different scores: 6."
    code, text = verify("report.json", "-r", "references.json", "--results", "b.json", "-f", "json")
    found = json.loads(text)
    assert (code, found["same"], found["different_images"]) == (1, False, [6])
    assert [each["kind"] for each in found["differences"]] == ["captions"]
    assert all(each["report"] != each["recomputed"] for each in found["scores"])


def test_all_systems_of_a_report(files: Path) -> None:
    scoring = ["--bootstrap", "--samples", "20", "--subset", "domains.json", "-m", "BLEU,CIDEr-D(stem=true)"]
    output("score", "references.json", "a.json", "b.json", "-f", "json", "-o", "report.json", *scoring)
    given = ["report.json", "-r", "references.json", "--subset", "domains.json"]
    # Files are paired with systems by name, in any order.
    code, text = verify(*given, "--results", "b.json", "--results", "a.json")
    assert code == 0
    assert [line for line in text.splitlines() if line.startswith("Same")] == [
        f"Same digits for {name} ({name}.json): yes (5 scores, 10 scores of subsets, 5 intervals, 10"
        " intervals of subsets)"
        for name in "ba"
    ]
    (files / "c.json").write_text(json.dumps(A))
    (files / "d.json").write_text(json.dumps(A))
    code, text = verify(*given, "--results", "c.json", "--results", "d.json", "-f", "json")
    assert (code, [each["same"] for each in json.loads(text)]) == (1, [True, False])
    message = refusal("verify", *given, "--results", "b.json", "--results", "c.json")
    assert "'c': no system of the report; name the file with --results SYSTEM=FILE" in message
    message = refusal("verify", *given, "--results", "c.json")
    assert "must be repeated for each of the 2 systems of the report, a, b (got 1: c)" in message
    done = run("verify", "report.json", "-r", "references.json", "--results", "a.json")
    text = done.stdout.decode()
    assert (done.returncode, text.splitlines()[0]) == (
        1,
        "Same digits for a (a.json): yes (5 scores, 5 intervals)",
    )
    warning = b"capeval: warning: not verified, since there are no results: b\n"
    assert done.stderr == warning
    assert (
        "Scores of the subsets 'near', 'far' were not compared; pass the subsets with --subset FILE." in text
    )


def test_a_missing_file_is_the_first_reason(files: Path) -> None:
    (files / "b.json").write_text(json.dumps(B[:4]))
    scoring = ["-m", "ROUGE-L", "--missing", "skip", "-f", "json", "-o", "report.json"]
    output("score", "references.json", "a.json", "b.json", *scoring)
    given = ["report.json", "-r", "references.json", "--results"]
    assert verify(*given, "a.json", "--results", "b.json")[0] == 0
    done = run("verify", *given, "a.json")
    assert done.returncode == 1
    assert (
        done.stdout.decode().splitlines()[1].startswith("- The results of b are missing here, and the report")
    )
    # Earlier versions did not write the names.
    report = json.loads((files / "report.json").read_text())
    report[0]["matching"] = {"without_results": 2}
    (files / "report.json").write_text(json.dumps(report))
    assert b"- The results of b are missing here" in run("verify", *given, "a.json").stdout


def test_invalid_options_of_a_report(files: Path) -> None:
    output("score", "references.json", "a.json", "-f", "json", "-o", "report.json", "-m", "ROUGE-L")
    report = json.loads((files / "report.json").read_text())
    report["signatures"]["ROUGE-L"]["options"] = ["beta=x"]
    (files / "report.json").write_text(json.dumps(report))
    message = refusal("verify", "report.json", "-r", "references.json", "--results", "a.json")
    assert message.startswith("capeval: error: report.json: the report's options of ROUGE-L: 'beta' must be")


def test_a_report_on_standard_input(files: Path) -> None:
    report = run("score", "references.json", "a.json", "-f", "json", "-m", "ROUGE-L").stdout
    done = run("verify", "-", "-r", "references.json", "--results", "a.json", input=report)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, b"Same digits: yes (1 score)")
    changed = json.dumps(json.loads(report) | {"metrics": {"ROUGE-L": 0.5}}).encode()
    done = run("verify", "-", "-r", "references.json", "--results", "a.json", input=changed)
    verdict, reason, *_ = done.stdout.decode().splitlines()
    assert (done.returncode, verdict) == (1, "Same digits: no (1 of 1 score differs)")
    assert "the report was edited" in reason


def test_frequencies_and_tokenizer_of_the_report(files: Path) -> None:
    (files / "corpus.json").write_text(json.dumps([*REFERENCES, {"image_id": 7, "caption": "two cats"}]))
    (files / "my_tokens.py").write_text("def words(caption):\n    return caption.lower().split()\n")
    scoring = ["--frequencies", "corpus.json", "--tokenizer", "my_tokens:words", "-m", "CIDEr-D,BLEU"]
    output("score", "references.json", "a.json", "-f", "json", "-o", "report.json", *scoring)
    given = ["report.json", "-r", "references.json", "--results", "a.json"]
    assert verify(*given, "--tokenizer", "my_tokens:words", "--frequencies", "corpus.json")[0] == 0
    assert "--tokenizer MODULE:NAME" in refusal("verify", *given)
    message = refusal("verify", *given, "--tokenizer", "my_tokens:words")
    assert "--frequencies FILE" in message
    other = ["--tokenizer", "my_tokens:words", "--frequencies", "references.json"]
    code, text = verify(*given, *other)
    assert code == 1
    assert "The options of CIDEr-D differ: document frequencies=corpus:" in text


def test_skipped_images_are_skipped_again(files: Path) -> None:
    (files / "a.json").write_text(json.dumps([*A[:4], {"image_id": 9, "caption": "a dog"}]))
    skipping = ["--missing", "skip", "--extra", "skip"]
    output("score", "references.json", "a.json", "-f", "json", "-o", "report.json", *skipping)
    assert verify("report.json", "-r", "references.json", "--results", "a.json")[0] == 0
    (files / "a.json").write_text(json.dumps(A[:3]))
    code, text = verify("report.json", "-r", "references.json", "--results", "a.json")
    assert code == 1
    assert "4 images with 3 references each" in text
    assert "3 images with 3 references each" in text


def test_results_of_other_images_are_no_error(files: Path) -> None:
    output("score", "references.json", "a.json", "-f", "json", "-o", "report.json")
    (files / "a.json").write_text(json.dumps(A[:3]))
    code, text = verify("report.json", "-r", "references.json", "--results", "a.json")
    assert code == 1
    verdict, reason = text.splitlines()
    assert reason.endswith("among the candidates; to skip them, set --missing skip.")
    assert verdict == "Same digits: no (scores can't be computed)"
    assert reason.startswith("- The images differ: a.json: 3 images (4, 5, 6) are among the references")


@pytest.mark.parametrize(("content", "message"), [("<html>", "is not JSON"), ("[]", "must be an object")])
def test_other_files_are_refused(content: str, message: str, files: Path) -> None:
    (files / "report.html").write_text(content)
    said = refusal("verify", "report.html", "-r", "references.json", "--results", "a.json")
    assert message in said
    assert said.endswith("; expected the JSON of `capeval score --format json` or of `Report.save`\n")


def test_control_characters_of_a_report_are_escaped(files: Path) -> None:
    output("score", "references.json", "a.json", "-f", "json", "-o", "report.json", "-m", "BLEU-1")
    report: dict[str, Any] = json.loads((files / "report.json").read_text())
    report["candidates_digest"] = "\x1b[2J"
    (files / "report.json").write_text(json.dumps(report))
    _, text = verify("report.json", "-r", "references.json", "--results", "a.json")
    assert "\x1b" not in text
    assert r"\x1b[2J in the report" in text


def test_the_benchmark_of_the_report_has_the_references(files: Path) -> None:
    references = get_benchmark("coco-karpathy-test").load().references
    results = {image: captions[-1] for image, captions in references.items()}
    (files / "results.json").write_text(json.dumps(results))
    scoring = ["-m", "ROUGE-L", "-f", "json", "-o", "report.json"]
    output("score", "-t", "coco-karpathy-test", "results.json", *scoring)
    assert verify("report.json", "--results", "results.json")[0] == 0
    other = verify("report.json", "--results", "results.json", "-t", "coco-karpathy-val")
    assert other[0] == 1
    assert "The images differ" in other[1]
    message = refusal("verify", "report.json", "-r", "references.json", "-t", "x", "--results", "a.json")
    assert "--references and --benchmark can't be combined" in message
    output("score", "references.json", "a.json", *scoring)
    message = refusal("verify", "report.json", "--results", "a.json")
    assert message == (
        "capeval: error: the report has no benchmark; use --references FILE or --benchmark NAME\n"
    )
