"""Files as people have them, at the command line: kinds, columns, splits, standard input."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capeval.cli.test_cli import output, refusal, run

REFERENCES = {1: ["a man on a horse", "someone rides"], 2: ["a brown dog", "a dog"]}
RESULTS = {1: "a man on a horse", 2: "a brown dog"}
# CSV in which nothing has a usual name; `model` has the results and `people` the references.
ODD = "key,model,people\n1,a man on a horse,a man on a horse\n2,a brown dog,a dog\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    references = [{"image_id": i, "caption": text} for i, group in REFERENCES.items() for text in group]
    results = [{"image_id": image, "caption": text} for image, text in RESULTS.items()]
    images = [
        {"cocoid": image, "split": "test", "sentences": [{"raw": text} for text in group]}
        for image, group in REFERENCES.items()
    ]
    images.append({"cocoid": 3, "split": "train", "sentences": [{"raw": "a bus"}]})
    contents: dict[str, object] = {
        "references.json": references,
        "results.json": results,
        "dataset.json": {"images": images},
        "references.csv": "".join(
            ["id,caption\n", *(f"{i},{t}\n" for i, g in REFERENCES.items() for t in g)]
        ),
        "results.csv": "".join(
            ["id,caption,prediction\n", *(f"{i},?,{text}\n" for i, text in RESULTS.items())]
        ),
        "odd.csv": ODD,
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return tmp_path


def scores(*arguments: str | Path, **options: bytes) -> object:
    report = json.loads(output("score", *arguments, "-m", "BLEU", "--format", "json", **options))
    (system,) = report["systems"].values() if "systems" in report else [report]
    return system["metrics"]


def test_every_kind_gives_the_same_scores(files: Path) -> None:
    expected = scores(files / "references.json", files / "results.json")
    for arguments in (
        (files / "references.csv", files / "results.json"),
        (files / "references.csv", files / "results.csv", "--caption-column", "prediction"),
        (files / "dataset.json", files / "results.json", "--split", "test"),
        (files / "dataset.json", files / "results.csv", "--caption-column=prediction", "--split= test"),
    ):
        assert scores(*arguments) == expected


def test_standard_input_is_a_file(files: Path) -> None:
    references, results = files / "references.json", files / "results.json"
    expected = scores(references, results)
    data = results.read_bytes()
    assert scores(references, "-", input=data) == expected
    assert scores(references, "-", input=lzma.compress(data)) == expected
    assert scores("-", results, input=(files / "references.csv").read_bytes()) == expected
    table = output("score", references, "-", "-m", "BLEU", input=data)
    assert "standard input" in table
    assert output("check", "-", "-r", references, input=data) == "standard input is valid: 2 captions\n"
    compared = output("compare", references, "-", results, "-m", "BLEU", "--samples", "10", input=data)
    assert "standard input" in compared
    assert "standard input ('-') can be used for only one file" in refusal("score", "-", "-", input=data)
    message = refusal("score", references, "-", input=b"")
    assert message == "capeval: error: standard input: the file is empty; expected captions\n"
    message = refusal("score", references, "-", input=b'[{"image_id": 7, "caption": "a"}]')
    assert "standard input: image 7 is among the candidates but not among the references" in message
    assert "did you swap references and results?" in refusal(
        "score", results, "-", input=references.read_bytes()
    )


def test_columns_are_asked_for_and_named(files: Path) -> None:
    message = refusal("score", files / "references.csv", files / "results.csv")
    assert "the caption column is ambiguous (got 'caption', 'prediction')" in message
    assert "--caption-column" in message
    odd = files / "odd.csv"
    assert "set it with --reference-id-column" in refusal("score", odd, files / "results.json")
    message = refusal("score", odd, odd, "--id-column", "key", "--caption-column", "model")
    assert "contains references and results; set the column of references with" in message
    (files / "odd_references.csv").write_text("key,model\n1,a man on a horse\n2,a dog\n")
    expected = scores(files / "odd_references.csv", odd, "--id-column=key", "--caption-column=model")
    assert expected == scores(
        odd, odd, "--id-column=key", "--caption-column=model", "--reference-caption-column=people"
    )
    named = ("--id-column=key", "--caption-column=model", "--reference-id-column=id")
    assert scores(files / "references.csv", odd, *named) == scores(
        files / "references.json", files / "results.json"
    )
    # The references also have a column of that name, in addition to one with a standard name.
    (files / "both.csv").write_text("id,caption,model\n1,a,b\n2,c,d\n")
    message = refusal("score", files / "both.csv", odd, "--id-column=key", "--caption-column=model")
    assert "(got 'caption', 'model'); set it with --reference-caption-column" in message


def test_splits_are_asked_for_and_named(files: Path) -> None:
    message = refusal("score", files / "dataset.json", files / "results.json")
    assert "has the splits 'test', 'train'; select one or more with --split" in message
    message = refusal("score", files / "dataset.json", files / "results.json", "--split", "test,train")
    assert "image 3 is among the references but not among the candidates" in message
    message = refusal("score", files / "references.json", files / "results.json", "--split", "test")
    assert "must have the key 'split'" in message
    assert output("check", files / "results.json", "-r", files / "dataset.json", "--split", "test")


def test_check_says_what_servers_do_not_take(files: Path) -> None:
    line = output("check", files / "results.csv", "--caption-column", "prediction")
    assert "is valid: 2 captions; evaluation servers accept only JSON" in line
    assert output("check", files / "results.json").endswith("results.json is valid: 2 captions\n")
    line = output("check", "-", input=b'{"1": ["a"], "2": ["b"]}')
    assert "evaluation servers accept only JSON" in line


def test_what_is_not_sent_to_a_server(files: Path) -> None:
    server = ("--server", "http://127.0.0.1:9", "--challenge", "c", "--phase", "p")
    token = files / "token"
    token.write_text("t")
    message = refusal("submit", files / "results.csv", *server, "--token-file", token)
    assert "results.csv: the file must be JSON: a list or a mapping of captions" in message


def test_studies_and_frequencies_read_the_same_files(files: Path) -> None:
    arguments = (files / "references.json", files / "results.json", "-m", "CIDEr-D", "--format", "csv")
    plain = output("score", *arguments)
    assert output("score", *arguments, "--frequencies", files / "references.csv").split() == plain.split()
    # Both metrics rank all references equally here; the error proves that the file was read.
    read = run("study", "ranking", files / "references.csv")
    assert b"no image has references with different scores by both metrics" in read.stderr
    assert run("study", "ranking", "-", input=(files / "references.csv").read_bytes()).stderr == read.stderr


def test_pictures_by_file_names_need_a_file_of_references(tmp_path: Path) -> None:
    results, page = tmp_path / "results.json", tmp_path / "page.html"
    results.write_text('[{"image_id": 1, "caption": "a dog"}]')
    command = [sys.executable, "-m", "capeval", "score", "-", str(results), "-m", "BLEU"]
    command += ["--report", str(page), "--images", "pictures/{file_name}"]
    references = (
        '{"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [{"image_id": 1, "caption": "a dog"}]}'
    )
    done = subprocess.run(command, input=references, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "requires a reference file (got standard input" in done.stderr
    assert not page.exists()
