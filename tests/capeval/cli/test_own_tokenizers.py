"""`--tokenizer MODULE:NAME` of the commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from capeval import Tokenizer, evaluate
from capeval.cli.toolkit.imported_tokenizers import load_tokenizer
from tests.capeval.cli.test_cli import output, refusal
from tests.waiting import PATIENCE

REFERENCES = {1: ["一只狗在跑", "狗在草地上跑"], 2: ["两只猫", "猫在床上睡觉"]}
A = {1: "狗在跑", 2: "两只猫在床上"}
B = {1: "狗", 2: "猫"}
MODULE = """
from capeval import Tokenizer

def cut(caption):
    return list(caption)

def cut_all(captions):
    return [list(caption) for caption in captions]

def broken(caption):
    return caption.split("在")[5]

batched = Tokenizer(function=cut_all, name="characters-1", batched=True)
number = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "chinese.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "faulty.py").write_text("import a_module_that_is_not_here\n")
    annotations = [
        {"image_id": image, "caption": text} for image, group in REFERENCES.items() for text in group
    ]
    (tmp_path / "references.json").write_text(json.dumps(annotations))
    for name, captions in (("a", A), ("b", B)):
        results = [{"image_id": image, "caption": text} for image, text in captions.items()]
        (tmp_path / f"{name}.json").write_text(json.dumps(results))
    (tmp_path / "lines.txt").write_text("狗在跑\n\n猫", encoding="utf-8")
    return tmp_path


METRICS = ("--metrics", "BLEU-2,ROUGE-L,CIDEr-D")


@pytest.mark.parametrize(
    ("name", "signed"), [("cut", "function:chinese:cut"), ("batched", "function:characters-1")]
)
def test_score(folder: Path, name: str, signed: str) -> None:
    found = json.loads(
        output(
            *("score", "references.json", "a.json", *METRICS, "--format", "json"),
            *("--tokenizer", f"chinese:{name}"),
            cwd=folder,
        )
    )
    tokenizer = Tokenizer(function=list, name="characters")
    expected = evaluate(REFERENCES, A, ["BLEU-2", "ROUGE-L", "CIDEr-D"], tokenizer=tokenizer)
    assert found["metrics"] == expected.corpus
    assert found["signatures"]["ROUGE-L"]["tokenizer"] == signed


def test_score_writes_a_report(folder: Path) -> None:
    arguments = ("score", "references.json", "a.json", "b.json", *METRICS, "--tokenizer", "chinese:cut")
    output(*arguments, "--report", "report.html", "-o", "table.txt", cwd=folder)
    assert "狗在跑" in (folder / "report.html").read_text(encoding="utf-8")


def test_frequencies_are_counted_by_it(folder: Path) -> None:
    arguments = ("score", "references.json", "a.json", "-m", "CIDEr-D", "--format", "json")
    by_references = json.loads(output(*arguments, "--tokenizer", "chinese:cut", cwd=folder))
    counted = ("--frequencies", "references.json", "--tokenizer", "chinese:cut")
    assert json.loads(output(*arguments, *counted, cwd=folder))["metrics"] == by_references["metrics"]


def test_compare(folder: Path) -> None:
    arguments = ("compare", "references.json", "a.json", "b.json", "-m", "ROUGE-L", "--format", "json")
    found = json.loads(output(*arguments, "--tokenizer", "chinese:cut", cwd=folder))
    tokenizer = Tokenizer(function=list, name="characters")
    a, b = (evaluate(REFERENCES, each, ["ROUGE-L"], tokenizer=tokenizer) for each in (A, B))
    assert found["metrics"]["ROUGE-L"]["difference"] == a.compare(b)["ROUGE-L"].difference


def test_tokenize(folder: Path) -> None:
    assert output("tokenize", "lines.txt", "--tokenizer", "chinese:cut", cwd=folder) == "狗 在 跑\n\n猫\n"


def test_a_package_is_named_with_its_version() -> None:
    assert load_tokenizer("numpy:array").name == f"numpy:array-{np.__version__}"
    assert load_tokenizer("shlex:split").name == "shlex:split"


def test_the_command_finds_modules_of_the_current_folder_and_hides_none(folder: Path) -> None:
    # `python -m` has the current folder first, the command has it last.
    (folder / "csv.py").write_text("raise SystemExit('the wrong csv')")
    command = Path(sys.executable).with_name("capeval")
    arguments = ("score", "references.json", "a.json", "-m", "ROUGE-L", "--format", "csv")
    done = subprocess.run(
        [command, *arguments, "--tokenizer", "chinese:cut"],
        cwd=folder,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b'"System","ROUGE-L"')


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "chinese",
            "whitespace, 13a, zh, ja, ko or MODULE:NAME, such as jieba:lcut (got chinese)",
        ),
        (
            ":cut",
            "whitespace, 13a, zh, ja, ko or MODULE:NAME, such as jieba:lcut (got :cut)",
        ),
        ("nowhere:cut", "module nowhere can't be imported: ModuleNotFoundError: No module named 'nowhere'"),
        ("faulty:cut", "module faulty can't be imported: ModuleNotFoundError"),
        ("chinese:slice", "slice of module chinese must be a function or a Tokenizer (got nothing)"),
        ("chinese:number", "number of module chinese must be a function or a Tokenizer (got 3)"),
        ("chinese:broken", "tokenizer 'chinese:broken' failed on caption '一只狗在跑': IndexError"),
        ("chinese:cut_all", "tokenizer 'chinese:cut_all' must return tokens"),
    ],
)
def test_what_is_no_tokenizer_is_refused(folder: Path, spec: str, message: str) -> None:
    arguments = ("score", "references.json", "a.json", "-m", "ROUGE-L", "--tokenizer", spec)
    if spec == "chinese:cut_all":
        # Characters of a caption are taken for captions: each makes a list, and not a string.
        message = "tokenizer 'chinese:cut_all' must return strings for caption '一只狗在跑' (got ['一'])"
    assert message in refusal(*arguments, cwd=folder)


def test_options_that_exclude_each_other(folder: Path) -> None:
    own = ("--tokenizer", "chinese:cut")
    score = ("score", "references.json", "a.json", "-m", "ROUGE-L", "--tokenized")
    assert "--tokenized and --tokenizer can't be combined" in refusal(*score, *own, cwd=folder)
    lines = ("tokenize", "lines.txt", "--keep-case")
    assert "--tokenizer can't be combined with" in refusal(*lines, *own, cwd=folder)


def test_captions_by_themselves(folder: Path) -> None:
    (folder / "lines.txt").write_text("vitamin B.\nA dog\n")
    for name, captions in (
        ("references", ["A dog runs.", "A cat."]),
        ("a", ["A dog.", "Cats."]),
        ("b", ["A.", "B."]),
    ):
        rows = [{"image_id": image, "caption": text} for image, text in enumerate(captions)]
        (folder / f"{name}.json").write_text(json.dumps(rows))
    assert output("tokenize", "lines.txt", cwd=folder) == "vitamin b\na dog\n"
    assert output("tokenize", "lines.txt", "--context", "caption", cwd=folder) == "vitamin b.\na dog\n"
    scored = ("score", "references.json", "a.json", "-m", "ROUGE-L", "--format", "json")
    found = json.loads(output(*scored, "--context", "caption", cwd=folder))
    assert found["signatures"]["ROUGE-L"]["tokenizer"].endswith("-context:caption")
    compared = ("compare", "references.json", "a.json", "b.json", "-m", "ROUGE-L", "--format", "json")
    alone, usual = (output(*compared, *more, cwd=folder) for more in (("--context", "caption"), ()))
    assert json.loads(alone)["metrics"] == json.loads(usual)["metrics"]
    refused = refusal(
        "tokenize", "lines.txt", "--context", "caption", "--tokenizer", "chinese:cut", cwd=folder
    )
    assert "--context is an option of the reference tokenizer; omit it with --tokenizer" in refused
