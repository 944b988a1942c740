"""`--frequencies`: document frequencies of captions, of `.npz` and of pickles; CIDEr of one image."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path

import pytest

from capeval import CiderD, DocumentFrequencies, evaluate, load_references
from tests.capeval.cli.test_cli import output, refusal, run

CORPUS = {str(i): [f"a dog number {i} runs", "a man on a horse", f"the cat {i % 2}"] for i in range(1, 6)}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "references.json").write_text(json.dumps({"1": ["a dog runs on the grass", "the dog"]}))
    (tmp_path / "results.json").write_text(json.dumps([{"image_id": 1, "caption": "a dog runs"}]))
    (tmp_path / "corpus.json").write_text(json.dumps(CORPUS))
    return tmp_path


def scores(folder: Path, *arguments: str | Path) -> dict[str, float]:
    paths = (folder / "references.json", folder / "results.json")
    found: dict[str, float] = json.loads(output("score", *paths, "-f", "json", *arguments))["metrics"]
    return found


def in_python(frequencies: DocumentFrequencies) -> float:
    report = evaluate(
        {1: ["a dog runs on the grass", "the dog"]}, {1: "a dog runs"}, [CiderD(frequencies=frequencies)]
    )
    return report.corpus["CIDEr-D"]


def test_captions_are_counted(files: Path) -> None:
    counts = DocumentFrequencies.of(load_references(files / "corpus.json"))
    found = scores(files, "-m", "CIDEr-D,CIDEr-2015", "--frequencies", files / "corpus.json")
    assert found["CIDEr-D"] == in_python(counts) > 0
    # CIDEr-2015 counts stems, which it does by itself in captions.
    assert found["CIDEr-2015"] > 0


def test_saved_counts_are_read(files: Path) -> None:
    counts = DocumentFrequencies.of(load_references(files / "corpus.json"), name="five")
    counts.save(files / "five.npz")
    options = ("--frequencies", files / "five.npz")
    assert scores(files, "-m", "CIDEr-D", *options) == {"CIDEr-D": in_python(counts)}
    shown = output("score", files / "references.json", files / "results.json", "-m", "CIDEr-D", *options)
    assert f"Document frequencies: five:{counts.digest}." in shown
    message = refusal(
        "score", files / "references.json", files / "results.json", "-m", "CIDEr-2015", *options
    )
    assert "'frequencies' of CIDEr-2015 must count stems (got unstemmed words)" in message


@pytest.mark.parametrize("ending", [".p", ".pkl", ".PICKLE"])
def test_pickles_of_the_field_are_read(ending: str, files: Path) -> None:
    counts = DocumentFrequencies.of(load_references(files / "corpus.json"))
    path = files / f"counts{ending}"
    path.write_bytes(pickle.dumps({"document_frequency": counts.counts(), "ref_len": 5}))
    assert scores(files, "-m", "CIDEr-D", "--frequencies", path) == {"CIDEr-D": in_python(counts)}
    path.write_bytes(pickle.dumps(counts.counts()))
    options: list[str | Path] = ["-m", "CIDEr-D", "--frequencies", path]
    assert scores(files, *options, "--frequencies-images", "5") == {"CIDEr-D": in_python(counts)}
    message = refusal("score", files / "references.json", files / "results.json", *options)
    assert "does not contain the number of images counted" in message
    assert "--frequencies-images" in message


class Deletes:
    """An object that deletes a file when its pickle is loaded without restrictions."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.unlink, (self.path,)


def test_a_pickle_runs_no_code(files: Path) -> None:
    path = files / "counts.p"
    path.write_bytes(pickle.dumps(Deletes(files / "results.json")))
    paths = (files / "references.json", files / "results.json")
    assert f"{path}: expected a pickled mapping" in refusal(
        "score", *paths, "-m", "CIDEr-D", "--frequencies", path
    )
    assert (files / "results.json").exists()


def test_wrong_options_are_named(files: Path) -> None:
    paths = (files / "references.json", files / "results.json")
    corpus = files / "corpus.json"
    message = refusal("score", *paths, "-m", "BLEU-1", "--frequencies", corpus)
    assert "--frequencies requires a metric such as CIDEr-D (got BLEU-1)" in message
    options: list[str | Path] = ["-m", "CIDEr-D", "--frequencies-images", "5"]
    for given in (options, [*options, "--frequencies", corpus]):
        message = refusal("score", *paths, *given)
        assert "--frequencies-images requires --frequencies with a pickle" in message
    missing = files / "missing.npz"
    assert f"{missing}: No such file" in refusal("score", *paths, "-m", "CIDEr-D", "--frequencies", missing)
    message = refusal("score", *paths, "-m", "CIDEr-D", "--frequencies", corpus, "-o", corpus)
    assert "it is also read" in message


def test_compare_takes_them_too(files: Path) -> None:
    (files / "other.json").write_text(json.dumps([{"image_id": 1, "caption": "the dog"}]))
    paths = (files / "references.json", files / "results.json", files / "other.json")
    options = ("-m", "CIDEr-D", "--samples", "1", "-f", "json", "--frequencies", files / "corpus.json")
    compared = json.loads(output("compare", *paths, *options))["metrics"]["CIDEr-D"]
    assert math.isclose(compared["a"], scores(files, *options[:2], *options[-2:])["CIDEr-D"])


def test_one_image_is_warned_of_once(files: Path) -> None:
    paths = (files / "references.json", files / "results.json")
    done = run("score", *paths, "-m", "CIDEr-D", "-f", "csv")
    assert done.returncode == 0
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("capeval: warning: CIDEr-D of one image is 0 by definition: ")
    assert run("score", *paths, "-m", "CIDEr-D", "--frequencies", files / "corpus.json").stderr == b""
