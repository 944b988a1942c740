"""Metrics of the user's modules and scores from files on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.capeval.cli.test_cli import output, refusal
from tests.docs.test_examples import ROOT, blocks

PAGE = ROOT / "docs" / "how-to" / "own-metrics.md"

MODULE = '''
import numpy as np
from dataclasses import dataclass
from pathlib import Path
from capeval.metrics import MeanMetric

@dataclass(frozen=True, kw_only=True)
class Repetition(MeanMetric):
    """Share of repeated words.

    Args:
        longest: Only count words of at most this length.
        ignored: A file of words that are not counted.
    """

    family = "Repetition"
    higher_is_better = False
    longest: int = 99
    ignored: Path | None = None

    def kernel(self, references):
        ignored = self.ignored.read_text().split() if self.ignored else []
        def score(captions):
            words = [
                [w for w in text.split() if len(w) <= self.longest and w not in ignored]
                for text in captions.texts()
            ]
            return np.array([[1 - len(set(each)) / max(len(each), 1), 1.0] for each in words])
        return score
'''


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "repetition.py").write_text(MODULE)
    nameless = MODULE.replace('    family = "Repetition"\n', "").replace("Repetition", "Nameless")
    (tmp_path / "nameless.py").write_text(nameless)
    (tmp_path / "references.json").write_text(json.dumps({"1": ["a dog"], "2": ["two cats"]}))
    captions = {"a": ["a dog a dog", "two cats"], "b": ["a dog", "cats"]}
    for name, texts in captions.items():
        rows = [{"image_id": place, "caption": text} for place, text in enumerate(texts, start=1)]
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    (tmp_path / "clip.csv").write_text(
        "image_id,caption,CLIPScore\n1,a dog a dog,0.4\n2,two cats,0.8\n1,a dog,0.9\n2,cats,0.7\n"
    )
    return tmp_path


def test_score(files: Path) -> None:
    metrics = "ROUGE-L,repetition:Repetition,clip.csv"
    shown = output("score", "references.json", "a.json", "b.json", "--metrics", metrics)
    assert [line.split() for line in shown.splitlines() if line.startswith(("a ", "b "))] == [
        ["a", "0.855", "0.250", "0.600"],
        ["b", "0.814", "0.000", "0.800"],
    ]
    assert " Lower is better: Repetition." in " ".join(shown.split())
    done = output(
        "score", "references.json", "a.json", "-m", "repetition:Repetition(longest=1)", "--format", "json"
    )
    report = json.loads(done)
    assert report["metrics"]["Repetition"] == 0.75
    assert report["signatures"]["Repetition"]["options"] == ["longest=1", "ignored=None"]
    (files / "ignored.txt").write_text("a")
    done = output(
        "score", "references.json", "a.json", "-m", "repetition:Repetition(ignored=ignored.txt)", "-f", "json"
    )
    report = json.loads(done)
    assert report["metrics"]["Repetition"] == 0.25
    assert report["signatures"]["Repetition"]["options"] == ["longest=99", "ignored=ignored.txt-ca978112"]


def test_a_metric_that_reads_images_from_file_to_table(files: Path) -> None:
    """The metric of the documentation, with its module, pictures and captions as files."""
    from PIL import Image

    (module,) = (block.text for block in blocks(PAGE, "python") if block.text.startswith("# brightness.py"))
    (files / "brightness.py").write_text(module)
    (files / "photos").mkdir()
    for image, gray in {1: 30, 2: 220}.items():
        Image.new("L", (4, 3), gray).save(files / "photos" / f"photo_{image:06}.png")
    for name, texts in {"ours": ["a dark dog", "bright cats"], "theirs": ["a bright dog", "cats"]}.items():
        (files / f"{name}.json").write_text(json.dumps(dict(enumerate(texts, start=1))))
    metric = "brightness:Brightness(images=photos)"
    score = ("score", "references.json", "ours.json", "theirs.json", "-m", f"{metric},ROUGE-L")
    table = output(*score, "--format", "latex", "--report", "report.html")
    assert r"ours & \textbf{1.000} &" in table
    assert r"theirs & 0.000 &" in table
    assert ">Brightness<" in (files / "report.html").read_text(encoding="utf-8")
    report, _ = json.loads(output(*score, "--format", "json"))
    (option,) = report["signatures"]["Brightness"]["options"]
    assert option.startswith("images=photos-")
    Image.new("L", (40, 30)).save(files / "photos" / "photo_000002.png")
    changed, _ = json.loads(output(*score, "--format", "json"))
    assert changed["metrics"]["Brightness"] == 0.5
    assert changed["signatures"]["Brightness"]["options"] != [option]
    (files / "photos" / "photo_000002.png").unlink()
    assert "photos: image 2 is without a file, such as 2.jpg" in refusal(*score)


def test_the_scale_of_papers_is_noted_for_metrics_of_papers() -> None:
    files = ("references.json", "a.json", "--metrics")
    assert "Papers" not in output("score", *files, "repetition:Repetition,clip.csv")
    assert "Papers often print" in output("score", *files, "repetition:Repetition,ROUGE-L")


def test_own_metrics_are_described() -> None:
    text = output("metrics", "repetition:Repetition(longest=2)")
    assert text.startswith("repetition:Repetition(longest=2): Share of repeated words.\n")
    assert "\n\nScores: Repetition; lower is better\n" in text
    assert "\n\nScores: Length; neither higher nor lower is better\n" in output("metrics", "Length")
    assert "Options, such as repetition:Repetition(longest=2):\n  longest=2\n      Only count words" in text
    assert "has no metric class Other" in refusal("metrics", "repetition:Other")


def test_the_lower_score_is_bold(files: Path) -> None:
    arguments = ("references.json", "a.json", "b.json", "--format", "latex", "--metrics")
    shown = output("score", *arguments, "repetition:Repetition,clip.csv")
    assert r"a & 0.250 & 0.600" in shown
    assert r"\textbf{0.000} & \textbf{0.800}" in shown
    assert r"a & 0.250 & \textbf{0.600}" in output(
        "score", *arguments, "repetition:Repetition,clip.csv(lower=true)"
    )


def test_a_length_is_never_bold(files: Path) -> None:
    arguments = ("references.json", "a.json", "b.json", "--metrics", "Length,ROUGE-L")
    assert r"a & 3.000 & \textbf{0.855} \\" in output("score", *arguments, "--format", "latex")
    compared = output("compare", "references.json", "a.json", "b.json", "-m", "Length", "--format", "json")
    found = json.loads(compared)["metrics"]["Length"]
    assert (found["has_direction"], found["a"], found["b"]) == (False, 3, 1.5)


def test_a_metric_without_family_is_named() -> None:
    assert "Nameless: the class must have a family" in refusal("metrics", "nameless:Nameless")


def test_compare(files: Path) -> None:
    shown = output("compare", "references.json", "a.json", "b.json", "-m", "repetition:Repetition,clip.csv")
    assert "Repetition" in shown
    assert "CLIPScore" in shown


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("no_such_module:Repetition", "module no_such_module can't be imported: ModuleNotFoundError"),
        ("repetition.py:Repetition", "is not a package; write the name without .py"),
        ("repetition:Other", "repetition has no metric class Other (metrics: 'Repetition')"),
        ("repetition:Repetition(x=1)", "Repetition has no option 'x'; its options are longest, ignored"),
        ("capeval.metrics.given_scores:GivenScores", "GivenScores can't be created from text"),
        ("clip.csv(table=1)", "Given scores has no option 'table'; its options are lower"),
        ("missing.csv", "missing.csv"),
        ("nameless:Nameless", 'Nameless: the class must have a family, such as family = "Nameless", which'),
    ],
)
def test_errors(files: Path, metric: str, message: str) -> None:
    assert message in refusal("score", "references.json", "a.json", "--metrics", metric)


@pytest.mark.parametrize(
    ("kernel", "error"),
    [
        (
            "words[1:]",
            "Repetition.kernel must return an array with a row per candidate and a column per statistic, of"
            " shape (2, 2) (got (1, 2))",
        ),
        ("[]", "(got (0,))"),
        (
            "words / 0",
            "Repetition.kernel failed: TypeError: unsupported operand type(s) for /: 'list' and 'int' (",
        ),
    ],
)
def test_a_failing_kernel_is_named(files: Path, kernel: str, error: str) -> None:
    module = files / f"failing_{abs(hash(kernel))}.py"
    module.write_text(MODULE.replace("for each in words]", f"for each in {kernel}]"))
    message = refusal("score", "references.json", "a.json", "-m", f"{module.stem}:Repetition")
    assert error in message
    if "failed" in error:
        assert f"{module}, line 28)" in message


def test_references_that_a_metric_cannot_prepare_are_named(files: Path) -> None:
    module = files / "preparing.py"
    module.write_text(
        MODULE.replace("        def score(", "        references.image_ids\n        def score(")
    )
    message = refusal("score", "references.json", "a.json", "-m", "preparing:Repetition")
    assert "Repetition.kernel failed: AttributeError: 'TokenizedReferences' object has no" in message
    assert f"{module}, line 23)" in message


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_scores_that_are_no_numbers_name_their_image(files: Path, value: str) -> None:
    (files / "infinite.py").write_text(
        MODULE.replace("[1 - len", f"[float('{value}') if 'cats' in each else 1 - len")
    )
    for command in (
        ("score", "references.json", "a.json", "--bootstrap"),
        ("compare", "references.json", "a.json", "b.json"),
    ):
        message = refusal(*command, "-m", "infinite:Repetition")
        assert f"Repetition.kernel must return finite numbers (got {value} for the image 2)" in message


def test_scores_of_another_type_are_refused(files: Path) -> None:
    (files / "texts.py").write_text(MODULE.replace(", 1.0] for", ", 'one'] for"))
    message = refusal("score", "references.json", "a.json", "-m", "texts:Repetition")
    assert "Repetition.kernel must return numbers (got the type <U" in message


def test_signatures_change_with_the_module(files: Path) -> None:
    command = ("score", "references.json", "a.json", "-f", "json", "-m")
    signatures = []
    for name, code in (("first", MODULE), ("second", MODULE.replace("1 - len", "2 - len"))):
        (files / name).mkdir()
        (files / name / "changed.py").write_text(code)
        done = json.loads(output(*command, f"{name}.changed:Repetition"))["signatures"]["Repetition"]
        assert f"|plugin={done['plugin']}|capeval=" in done["text"]
        signatures.append(done["plugin"])
    assert all(each.startswith("changed.py-") for each in signatures)
    assert len({*signatures}) == 2
    # capeval's own metrics have no plug-in.
    assert "plugin" not in json.loads(output(*command, "ROUGE-L"))["signatures"]["ROUGE-L"]


def test_reports_of_modules_cannot_be_verified(files: Path) -> None:
    output(
        "score", "references.json", "a.json", "-m", "repetition:Repetition", "-f", "json", "-o", "report.json"
    )
    message = refusal("verify", "report.json", "--references", "references.json", "--results", "a.json")
    assert "the metric 'Repetition' of repetition.py-" in message
    assert "install the package that registers it" in message
