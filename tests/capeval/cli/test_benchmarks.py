"""The commands on named benchmarks: `-t/--benchmark`, `--cite` and `capeval data`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from capeval.cli.toolkit.benchmark_reader import BenchmarkReader
from capeval.cli.toolkit.options import EvaluationOptions
from capeval.data.held_out import hold_out
from capeval.datasets import coco, karpathy
from capeval.datasets.benchmarks import BENCHMARKS
from capeval.formats import write_candidates
from capeval.metrics.registry import DefaultMetrics
from tests.capeval.benchmark_files import write_flickr, write_nocaps
from tests.shared_data import shared_data
from tests.waiting import PATIENCE

LOGGED = {
    "BLEU-1": "Bleu_1",
    "BLEU-2": "Bleu_2",
    "BLEU-3": "Bleu_3",
    "BLEU-4": "Bleu_4",
    "METEOR": "METEOR",
    "ROUGE-L": "ROUGE_L",
    "CIDEr-D": "CIDEr",
}


class Shell:
    """A shell in a folder with results of the Karpathy test split, and a data folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "CAPEVAL_DATA": str(folder / "data")}

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "capeval", *map(str, arguments)]
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def read(self, *arguments: str | Path) -> str:
        done = self.run(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def fail(self, *arguments: str | Path) -> str:
        done = self.run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two result files of the Karpathy test split: human captions of other images."""
    references = karpathy.load_split("test")
    images = references.image_ids
    _, captions = hold_out(references, seed=1)
    folder = tmp_path_factory.mktemp("results")
    write_candidates(captions, folder / "ours.json")
    shifted = zip(images, (*images[1:], images[0]), strict=True)
    shuffled = {image: captions[other] for image, other in shifted}
    write_candidates(type(captions)(shuffled), folder / "shifted.json")
    return folder / "ours.json", folder / "shifted.json"


def test_a_benchmark_replaces_references(shell: Shell, results: tuple[Path, Path]) -> None:
    lines = shell.read("score", "-t", "coco-karpathy-test", *results, "-m", "BLEU-1").splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["ours", "shifted"]
    assert lines[5] == "5,000 images, 5 to 6 references each (COCO, Karpathy test split)."
    # Options may follow the files.
    assert (
        shell.read("score", *results, "-m", "BLEU-1", "--benchmark", "coco-karpathy-test").splitlines()
        == lines
    )


def test_json_has_the_name_of_the_benchmark(shell: Shell, results: tuple[Path, Path]) -> None:
    text = shell.read("score", "-t", "coco-karpathy-test", results[0], "-m", "BLEU-1", "-f", "json")
    content = json.loads(text)
    assert content["benchmark"] == "coco-karpathy-test"
    assert content["signatures"]["BLEU-1"]["images"] == 5000
    text = shell.read("compare", "-t", "coco-karpathy-test", *results, "-m", "BLEU-1", "-f", "json")
    assert json.loads(text)["benchmark"] == "coco-karpathy-test"


def test_compare_check_and_browse_accept_benchmarks(shell: Shell, results: tuple[Path, Path]) -> None:
    test = ("-t", "coco-karpathy-test")
    table = shell.read("compare", *test, *results, "-m", "BLEU-1", "--samples", "9")
    assert "5,000 images, 5 to 6 references each (COCO, Karpathy test split)." in table
    assert "is valid: 5,000 captions" in shell.read("check", results[0], *test)
    refusal = shell.fail("check", results[0], "-t", "coco-karpathy-val")
    assert "5,000 images" in refusal
    assert "among the candidates but not among the references" in refusal
    text = shell.read("browse", *test, *results, "-m", "BLEU-1", "-o", shell.folder / "page.html")
    assert text.endswith("page.html: 5,000 images, 2 systems\n")
    assert "COCO, Karpathy test split" in (shell.folder / "page.html").read_text()


def test_a_reference_file_is_not_a_result_of_a_benchmark(shell: Shell, results: tuple[Path, Path]) -> None:
    annotations = [{"image_id": 391895, "caption": "a man"}, {"image_id": 391895, "caption": "a road"}]
    (shell.folder / "refs.json").write_text(json.dumps({"annotations": annotations}))
    message = shell.fail("score", "-t", "coco-karpathy-test", "refs.json", results[0])
    assert "refs.json: duplicate image id 391895 in annotations[1].image_id" in message
    hint = "; the file has the format of references; with --benchmark, give only result files\n"
    assert message.endswith(hint)
    results = json.loads(results[0].read_text())
    (shell.folder / "other.json").write_text(json.dumps([*results, {"image_id": 1}]))
    assert "format of references" not in shell.fail("score", "-t", "coco-karpathy-test", "other.json")


def test_parts_of_a_benchmark(shell: Shell) -> None:
    captions = coco.load_captions("val2014")
    part = captions.select(captions.image_ids[:20])
    _, candidates = hold_out(part, seed=1)
    write_candidates(candidates, shell.folder / "part.json")
    table = shell.read("score", "-t", "coco-val2014", "part.json", "-m", "BLEU-1", "--missing", "skip")
    assert "20 of 40,504 images were scored" in table


def test_the_citation_needs_no_results(shell: Shell) -> None:
    expected = BENCHMARKS["coco-karpathy-test"].bibtex
    assert expected.count("@") == 3
    assert shell.read("score", "-t", "coco-karpathy-test", "--cite") == expected
    # As in sacrebleu, a citation is printed for a whole command line, too.
    assert shell.read("score", "-t", "coco-karpathy-test", "missing.json", "--cite") == expected


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("score", "--cite"), "--cite requires -t, --benchmark NAME"),
        (
            ("score", "-t", "coco-karpathy", "a.json"),
            "did you mean 'coco-karpathy-test' or 'coco-karpathy-val'",
        ),
        (("score", "-t", "coco-karpathy-test"), "Missing argument 'RESULTS...'"),
        (("score", "a.json"), "Missing argument 'RESULTS...'"),
        (("score",), "Missing argument 'REFERENCES'"),
        (
            ("score", "-t", "coco-val2014", "a.json", "--split", "test"),
            "--split requires a file of references",
        ),
        (
            ("score", "-t", "nocaps-val", "a.json"),
            "run `capeval data add nocaps-val nocaps_val_4500_captions.json`",
        ),
        (("compare", "-t", "coco-val2014", "a.json"), "two or more result files (got 1)"),
        (("check", "a.json", "-r", "b.json", "-t", "coco-val2014"), "can't be combined"),
        (("data", "add", "nocaps", "a.json"), "unknown benchmark 'nocaps'; did you mean 'nocaps-val'?"),
        (("data", "add", "coco-val2014", "a.json"), "coco-val2014 needs no file"),
        (("data", "remove", "flickr8k-test"), "'flickr8k-test' has no registered captions"),
        (("data", "add", "flickr8k-test", "a.json"), "a.json: No such file or directory"),
    ],
)
def test_errors(shell: Shell, arguments: tuple[str, ...], error: str) -> None:
    assert error in shell.fail(*arguments)


@pytest.mark.parametrize("command", ["score", "compare", "check", "browse"])
def test_the_help_shows_the_option(shell: Shell, command: str) -> None:
    text = " ".join(shell.read(command, "--help").split())
    assert "-t, --benchmark NAME References of a named benchmark, instead of a file;" in text
    assert ("[required without --benchmark]" in text) == (command != "check")


def test_benchmarks_are_listed(shell: Shell) -> None:
    text = shell.read("data", "list")
    assert max(map(len, text.splitlines())) <= 80
    rows = text.partition("\n\n")[0].splitlines()[2:]
    assert [row.split()[0] for row in rows] == list(BENCHMARKS)
    assert [row.split()[-1] for row in rows] == ["yes"] * 3 + ["no"] * 3
    assert "\nflickr8k-test: capeval data add flickr8k-test dataset_flickr8k.json\n" in text
    content = {row["name"]: row for row in json.loads(shell.read("data", "list", "-f", "json"))}
    assert content["nocaps-val"]["command"] == "capeval data add nocaps-val nocaps_val_4500_captions.json"
    assert content["coco-val2014"]["images"] == 40_504


def test_captions_are_registered_once(shell: Shell) -> None:
    text = shell.read("data", "add", "flickr8k-test", write_flickr(shell.folder))
    assert text.startswith("flickr8k-test is available: 1,000 images, fingerprint ")
    assert text.endswith(f"The captions were copied to {shell.folder}/data/flickr8k-test.json.gz\n")
    candidates = [{"image_id": f"{number}.jpg", "caption": "Dog number 1."} for number in range(1000)]
    (shell.folder / "results.json").write_text(json.dumps(candidates))
    table = shell.read("score", "-t", "flickr8k-test", "results.json", "-m", "BLEU-4")
    assert "1,000 images, 5 references each (Flickr8k, Karpathy test split)." in table
    lines = [f"{number}.jpg#{caption}\tA dog.\n" for number in range(1001) for caption in range(5)]
    (shell.folder / "Flickr8k.token.txt").write_text("".join(lines))
    (shell.folder / "test.txt").write_text("".join(f"{number}.jpg\n" for number in range(1000)))
    text = shell.read("data", "add", "flickr8k-test", "Flickr8k.token.txt", "--image-list", "test.txt")
    assert (
        "\nThe images are those in test.txt, which was not checked: scores are comparable only with" in text
    )
    assert text.endswith(
        f"The captions replaced the earlier ones in {shell.folder}/data/flickr8k-test.json.gz\n"
    )
    assert shell.read("data", "remove", "flickr8k-test").endswith("flickr8k-test.json.gz was deleted\n")
    assert "flickr8k-test: capeval data add" in shell.read("data", "list")


def test_domains_of_nocaps_are_scored_with_intervals(shell: Shell) -> None:
    shell.read("data", "add", "nocaps-val", write_nocaps(shell.folder))
    candidates = [{"image_id": image, "caption": f"Picture {image} of a harp."} for image in range(4500)]
    (shell.folder / "results.json").write_text(json.dumps(candidates))
    arguments = ("score", "-t", "nocaps-val", "results.json", "-m", "CIDEr-D", "--samples", "20")
    lines = shell.read(*arguments).splitlines()
    assert [line.split()[1] for line in lines[2:6]] == ["overall", "in-domain", "near-domain", "out-domain"]
    assert all(line.split()[2:] == ["10.000", "[10.000,", "10.000]"] for line in lines[2:6])
    assert lines[8] == "Domains: 648 in, 2,938 near, 914 out (partition of nocaps.org)."
    assert max(map(len, lines)) <= 80
    content = json.loads(shell.read(*arguments, "-f", "json"))
    assert content["subset_intervals"]["in-domain"]["CIDEr-D"]["samples"] == 20
    # Skipped images belong to no domain.
    (shell.folder / "results.json").write_text(json.dumps(candidates[:1000]))
    lines = shell.read(*arguments, "--missing", "skip").splitlines()
    assert [line.split()[1] for line in lines[2:5]] == ["overall", "in-domain", "near-domain"]
    assert "Domains: 648 in, 352 near, 0 out (partition of nocaps.org)." in lines
    per_image = shell.read(*arguments, "--missing", "skip", "--per-image").splitlines()
    assert per_image[0].split() == ["System", "image_id", "CIDEr-D"]


def test_metrics_with_a_missing_model_are_left_out(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = BenchmarkReader("nocaps-val")
    monkeypatch.setenv("CAPEVAL_CACHE", str(shell.folder / "empty"))
    chosen = reader.choose_metrics(EvaluationOptions()).metrics
    assert isinstance(chosen, DefaultMetrics)
    assert chosen.available == ("CIDEr-D",)
    assert chosen.omitted == {"SPICE": 'pip install "capeval[spice]"'}
    # Named metrics are never left out.
    assert reader.choose_metrics(EvaluationOptions(metrics=["SPICE"])).metrics == ["SPICE"]


def logged(what: str) -> dict[str, Any]:
    path = shared_data("karpathy").parent / "viecap_coco_train_1_published.json"
    entries = {entry["what"]: entry for entry in json.loads(path.read_text())}
    return dict(entries[what]["scores"])


def test_published_scores_of_the_karpathy_test_split(shell: Shell) -> None:
    results = shared_data("karpathy") / "viecap_coco_train_1_test_results.json.gz"
    row = shell.read("score", "-t", "coco-karpathy-test", results).splitlines()[2].split()
    assert row[1:] == [f"{logged('karpathy test')[theirs]:.3f}" for theirs in LOGGED.values()]


def test_the_protocol_of_nocaps(shell: Shell) -> None:
    folder = shared_data("nocaps")
    text = shell.read("data", "add", "nocaps-val", folder / "nocaps_val_captions.json.gz")
    assert "Domains: 417 in, 2,670 near, 1,413 out (partition of the paper's first version)." in text
    results = folder / "viecap_coco_train_1_results.json.gz"
    rows = shell.read("score", "-t", "nocaps-val", results, "-m", "CIDEr-D", "--scale", "100").splitlines()
    scores = {line.split()[1]: line.split()[2] for line in rows[2:6]}
    assert scores == {"overall": "65.5", "in-domain": "62.3", "near-domain": "65.5", "out-domain": "66.3"}
