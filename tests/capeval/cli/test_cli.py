"""The command line, by running it."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capeval
from capeval import evaluate
from capeval.cli.commands.metrics import _describe
from capeval.cli.toolkit.output import name_systems
from capeval.errors.messages import RESULTS_AS_REFERENCES, SWAPPED
from capeval.metrics import METRICS
from capeval.metrics.base import Resource
from capeval.metrics.meteor import LANGUAGES
from capeval.metrics.registry import get_metric
from tests.forked_commands import run_capeval
from tests.waiting import PATIENCE, wait_until

REFERENCES = [
    {"image_id": image, "caption": caption}
    for image in range(1, 7)
    for caption in (f"A man on horse number {image}.", "A brown horse, with its rider", "someone rides")
]
A = [
    {"image_id": image, "caption": f"a man on horse number {image}" if image < 5 else "a brown dog"}
    for image in range(1, 7)
]
B = [{"image_id": image, "caption": "a dog" if image > 1 else ""} for image in range(1, 7)]
COMMANDS = (
    "score",
    "compare",
    "verify",
    "check",
    "submit",
    "tokenize",
    "data",
    "demo",
    "align",
    "scene-graph",
    "metrics",
    "resources",
)


def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return run_capeval(*map(str, arguments), **options)


def output(*arguments: str | Path, **options: Any) -> str:
    done = run(*arguments, **options)
    # Comparisons of the few images of these tests print a warning.
    errors = [line for line in done.stderr.splitlines() if not line.startswith(b"capeval: warning: Only ")]
    assert (done.returncode, errors) == (0, [])
    return done.stdout.decode()


def refusal(*arguments: str | Path, **options: Any) -> str:
    """Run a command that fails with exit code 2 and return its one-line error message."""
    done = run(*arguments, **options)
    assert done.returncode == 2
    assert done.stdout == b""
    text = done.stderr.decode()
    assert text.startswith("capeval: error: ")
    assert text.count("\n") == 1
    return text


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, content in (("references", REFERENCES), ("a", A), ("b", B)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    return tmp_path


def test_score_prints_a_table(files: Path) -> None:
    lines = output("score", files / "references.json", files / "a.json", files / "b.json").splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["a", "b"]
    assert lines[4:] == [
        "",
        "6 images, 3 references each (references.json).",
        "COCO papers report CIDEr-D as CIDEr. Papers often print scores times 100.",
    ]
    expected = capeval.evaluate(
        capeval.load_references(files / "references.json"), capeval.load_candidates(files / "a.json")
    )
    assert lines[0].split() == ["System", *expected.corpus]
    assert lines[2].split()[1:] == [f"{score:.3f}" for score in expected.corpus.values()]


def test_json_of_one_system_is_an_object_in_full_precision(files: Path) -> None:
    text = output("score", files / "references.json", files / "a.json", "-f", "json", "--per-image")
    report = json.loads(text)
    expected = capeval.evaluate(
        capeval.load_references(files / "references.json"), capeval.load_candidates(files / "a.json")
    )
    assert report["metrics"] == dict(expected.corpus)
    assert report["system"] == "a"
    assert report["signatures"].keys() == expected.signatures.keys()
    assert [row["image_id"] for row in report["per_image"]] == list(range(1, 7))
    assert report["per_image"][2]["CIDEr-D"] == expected.per_image["CIDEr-D"][2]


def test_json_of_several_systems_is_a_list(files: Path) -> None:
    names = [files / f"{name}.json" for name in ("references", "a", "b")]
    reports = json.loads(output("score", *names, "--format", "json"))
    assert [report["system"] for report in reports] == ["a", "b"]
    assert "per_image" not in reports[0]


def test_metrics_are_named_by_comma_or_repeated(files: Path) -> None:
    paths = files / "references.json", files / "a.json"
    report = json.loads(
        output("score", *paths, "-m", "bleu-2,ROUGE-1", "--metrics", "CIDEr-2015", "-f", "json")
    )
    assert list(report["metrics"]) == ["BLEU-2", "ROUGE-1", "CIDEr-2015"]


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "csv"])
def test_bootstrap_intervals_are_shown_and_seeded(files: Path, form: str) -> None:
    arguments: list[str | Path] = ["score", files / "references.json", files / "a.json", "--bootstrap"]
    arguments += ["--samples", "3", "--format", form]
    first, again, other = (output(*arguments, "--seed", seed) for seed in ("3", "3", "4"))
    assert first == again
    assert first != other
    assert ("[" in first) or ("CIDEr-D low" in first)


def test_subsets_are_scored_by_themselves(files: Path) -> None:
    (files / "subsets.json").write_text(json.dumps({"first": [1, 2], "rest": [3, 4, 5, 6]}))
    paths = files / "references.json", files / "a.json", "--subset", files / "subsets.json"
    report = json.loads(output("score", *paths, "--format", "json"))
    assert list(report["subsets"]) == ["first", "rest"]
    rows = list(csv.reader(io.StringIO(output("score", *paths, "--format", "csv"))))
    assert [row[1] for row in rows] == ["Images", "all", "first", "rest"]
    assert float(rows[2][-1]) == report["subsets"]["first"]["CIDEr-D"]


def test_scores_of_images_as_csv(files: Path) -> None:
    paths = files / "references.json", files / "a.json", files / "b.json"
    rows = list(csv.reader(io.StringIO(output("score", *paths, "--per-image", "-f", "csv"))))
    assert rows[0][:2] == ["System", "image_id"]
    assert [(row[0], row[1]) for row in rows[1:]] == [(s, str(i)) for s in "ab" for i in range(1, 7)]


def test_tokens_can_be_given(files: Path) -> None:
    (files / "t.json").write_text(json.dumps([{"image_id": 1, "caption": "A , b"}]))
    paths = files / "t.json", files / "t.json"
    report = json.loads(output("score", *paths, "--tokenized", "-m", "BLEU-3", "-f", "json"))
    assert report["metrics"]["BLEU-3"] == pytest.approx(1.0)
    assert report["signatures"]["BLEU-3"]["tokenizer"] == "none"


def test_files_take_the_place_of_standard_output(files: Path) -> None:
    paths = files / "references.json", files / "a.json"
    assert output("score", *paths, "-f", "json", "-o", files / "out.json") == ""
    assert (files / "out.json").read_text() == output("score", *paths, "-f", "json")
    assert output("score", *paths, "--report", files / "r.html").startswith("System")
    page = (files / "r.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "A man on horse number 3." in page


def test_pictures_in_the_report(files: Path) -> None:
    coco = {
        "images": [{"id": entry["image_id"], "file_name": f"photo {entry['image_id']}.jpg"} for entry in A],
        "annotations": [{**entry, "id": number} for number, entry in enumerate(A)],
    }
    (files / "coco.json").write_text(json.dumps(coco))
    paths = files / "coco.json", files / "a.json", "-m", "ROUGE-L"
    page = files / "r.html"
    output("score", *paths, "--report", page, "--images", "https://x.example/{file_name}")
    assert "img-src https://x.example" in page.read_text()
    assert '"before":"https://x.example/photo%20","after":".jpg"' in page.read_text()
    (files / "photos").mkdir()
    (files / "photos" / "photo 2.jpg").touch()
    output("score", *paths, "--report", page, "--images", files / "photos")
    assert '"before":"photos/photo%202.jpg"' in page.read_text()
    assert refusal("score", *paths, "--images", "x/{id}").endswith("--images requires --report FILE\n")
    assert "must be a folder, or a pattern" in refusal(
        "score", *paths, "--report", page, "--images", "nowhere"
    )


def test_outputs_are_whole_or_not_there(files: Path) -> None:
    before = sorted(files.iterdir())
    (files / "b.json").write_text("[")
    paths = files / "references.json", files / "a.json"
    refusal("score", *paths, files / "b.json", "-o", files / "out.json")
    message = refusal("score", *paths, "-o", files / "none" / "out.json")
    assert f"none/out.json: the folder {files / 'none'} does not exist" in message
    assert f"{files}: Is a directory" in refusal("score", *paths, "-o", files)
    assert sorted(files.iterdir()) == before


def test_outputs_are_checked_before_any_work(files: Path) -> None:
    paths = files / "references.json", files / "a.json"
    before = {path: path.read_bytes() for path in files.iterdir()}
    message = refusal("score", *paths, "--report", files / "r.html", "-o", files / "no" / "y")
    assert f"no/y: the folder {files / 'no'} does not exist" in message
    both = files / "both"
    assert "another result is written to it" in refusal("score", *paths, "--report", both, "-o", both)
    (files / "link.json").symlink_to(files / "a.json")
    for command, *read in (("score", *paths), ("compare", *paths, files / "b.json"), ("tokenize", paths[1])):
        message = refusal(command, *read, "-o", files / "link.json")
        assert message == f"capeval: error: {files / 'link.json'} can't be written to: it is also read\n"
    (files / "link.json").unlink()
    assert {path: path.read_bytes() for path in files.iterdir()} == before


def test_a_link_to_itself_is_told(files: Path) -> None:
    loop = files / "loop"
    loop.symlink_to(loop)
    message = refusal("score", files / "references.json", files / "a.json", "-o", loop)
    assert message == f"capeval: error: {loop}: Too many levels of symbolic links\n"


def test_names_of_scores_of_images_can_not_steer_the_terminal(files: Path) -> None:
    (files / "c.json").write_text(json.dumps([{"image_id": "\x1b[2J\x9b", "caption": "a"}]))
    paths = files / "c.json", files / "c.json", "-m", "ROUGE-L", "--per-image", "--format"
    for form in ("table", "markdown", "latex"):
        assert {"\x1b", "\x9b"}.isdisjoint(output("score", *paths, form))
    assert r"\x1b[2J\x9b" in output("score", *paths, "table")
    rows = list(csv.reader(io.StringIO(output("score", *paths, "csv"))))
    assert rows[1][1] == "\x1b[2J\x9b"


def test_scores_of_images_refuse_what_they_do_not_show(files: Path) -> None:
    (files / "s.json").write_text('{"x": [1]}')
    paths = files / "references.json", files / "a.json", "-m", "ROUGE-L", "--per-image"
    for option in (["--bootstrap"], ["--subset", files / "s.json"]):
        assert "contain neither intervals nor subsets" in refusal("score", *paths, *option)
        report = json.loads(output("score", *paths, *option, "-f", "json"))
        assert {"subsets", "intervals"} & report.keys()
        # Here they are in the page.
        assert "image_id" in output("score", *paths, *option, "--report", files / "r.html")


@pytest.mark.parametrize("level", ["0", "1", "nan"])
def test_a_level_that_is_none_is_refused_before_any_work(level: str) -> None:
    done = run("score", "none.json", "none.json", "--bootstrap", "--level", level)
    assert done.returncode == 2
    assert b"not between 0 and 1" in done.stderr


def test_a_process_looks_for_no_cycles_when_it_ends() -> None:
    # Functions registered first are called last.
    told = (
        "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"
        "from capeval.cli import main\n"
        "try: main()\n"
        "finally: print(gc.get_freeze_count())"
    )
    done = subprocess.run(
        [sys.executable, "-c", told, "--version"], capture_output=True, check=True, text=True
    )
    assert done.stdout.splitlines()[1:] == ["0", "True"]


def test_input_is_read_before_tables_are_made(files: Path) -> None:
    # Without METEOR's tables, and without what they are made from.
    hidden = "import sys; sys.modules['pycocoevalcap'] = None; from capeval.cli import main; main()"
    environment = {**os.environ, "XDG_CACHE_HOME": str(files / "cache")}

    def message(*arguments: str | Path) -> str:
        command = [sys.executable, "-c", hidden, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, check=False, env=environment, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr

    references, a = files / "references.json", files / "a.json"
    assert "none.json: No such file" in message("score", references, files / "none.json")
    assert "none.json: No such file" in message("compare", references, a, files / "none.json")
    assert "unknown metric 'SPICE-9'" in message("score", references, a, "-m", "METEOR,SPICE-9")
    (files / "s.json").write_text('{"x": [99]}')
    assert "image 99" in message("score", references, a, "--subset", files / "s.json")
    (files / "b.json").write_text(json.dumps(A[:-1]))
    b = files / "b.json"
    for command, *read in (("score", references, b), ("compare", references, a, b)):
        assert "b.json: image 6 is among the references but not" in message(command, *read)
    assert message("score", references, a, "-m", "METEOR,BLEU").endswith(
        'pip install "capeval[meteor]"; to score without METEOR, use --metrics BLEU\n'
    )
    assert message("score", references, a, "-m", "METEOR").endswith('pip install "capeval[meteor]"\n')


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full to write to")
def test_a_full_disk_is_told(files: Path) -> None:
    paths = files / "references.json", files / "a.json"
    assert (
        refusal("score", *paths, "-o", "/dev/full") == "capeval: error: /dev/full: No space left on device\n"
    )
    with Path("/dev/full").open("wb") as full:
        shown = (["--help"], ["score", "--help"], ["study", "human", "--help"], ["--version"])
        for arguments in (*shown, ["metrics"], ["check", files / "a.json"], ["score", *paths]):
            command = [sys.executable, "-m", "capeval", *map(str, arguments)]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
            assert done.returncode == 2
            assert done.stderr == b"capeval: error: standard output: No space left on device\n"


def test_swapped_files_are_asked_about(tmp_path: Path) -> None:
    several = [{"image_id": 1, "caption": caption} for caption in ("a dog", "the dog", "dogs")]
    forms = {
        "annotations": {"images": [{"id": 1}], "annotations": several},
        "list": several,
        "lists": {"1": ["a dog", "the dog"]},
        "results": [{"image_id": 1, "caption": "a dog runs"}],
        "mapping": {"1": "a dog runs"},
    }
    files = {name: tmp_path / f"{name}.json" for name in forms}
    for name, content in forms.items():
        files[name].write_text(json.dumps(content))
    for name in ("annotations", "list", "lists"):
        for results, question in (
            ("results", f"{SWAPPED}\n"),
            ("mapping", f"{RESULTS_AS_REFERENCES}\n"),
        ):
            assert refusal("score", files[results], files[name]).endswith(question)
            assert refusal("check", files[name], "-r", files[results]).endswith(question)
    # Without a question where nothing is swapped.
    assert "did you swap" not in refusal("score", files["lists"], files["annotations"])


def test_devices_are_written_to_and_stay(files: Path) -> None:
    paths = files / "references.json", files / "a.json"
    assert output("score", *paths, "-o", "/dev/stdout").startswith("System")
    assert output("score", *paths, "-o", "/dev/null") == ""
    assert Path("/dev/null").is_char_device()


def test_compare(files: Path) -> None:
    assert "The first system is compared with each of the others" in " ".join(
        output("compare", "--help").split()
    )
    paths = [files / f"{name}.json" for name in ("references", "a", "b")]
    table = output("compare", *paths, "--samples", "50", "-m", "CIDEr-D")
    assert table.split("\n")[0].split() == ["Metric", "a", "b", "Difference", "Detectable", "p-value"]
    assert "6 images, 3 references each (references.json).\nCOCO papers report CIDEr-D" in table
    compared = json.loads(
        output("compare", *paths, "--samples", "50", "-f", "json", "--method", "randomization")
    )
    assert compared["systems"] == {"a": "a", "b": "b"}
    cider = compared["metrics"]["CIDEr-D"]
    assert cider["difference"] == cider["a"] - cider["b"] > 0
    assert cider["method"] == "randomization"


def test_compare_several_systems(files: Path) -> None:
    third = [{**row, "caption": "a bus"} for row in A]
    (files / "c.json").write_text(json.dumps(third))
    paths = [files / f"{name}.json" for name in ("references", "a", "b", "c")]
    options = ("-m", "ROUGE-L,CIDEr-D", "--samples", "50")
    warning = (
        "Only 6 images: with fewer than 30, intervals are unreliable, and tests find only large differences."
    )
    done = run("compare", *paths, *options, "-f", "csv")
    assert (done.returncode, done.stderr.decode()) == (0, f"capeval: warning: {warning}\n")
    table = output("compare", *paths, *options)
    assert warning in table
    rows = [line.split()[:3] for line in table.splitlines()[2:6]]
    assert rows == [[name, "a", other] for name in ("ROUGE-L", "CIDEr-D") for other in ("b", "c")]
    assert "corrected for 2 pairs of systems (Holm)." in table
    found = json.loads(output("compare", *paths, *options, "--all-pairs", "-f", "json"))["comparisons"]
    assert [list(each["systems"].values()) for each in found] == [["a", "b"], ["a", "c"], ["b", "c"]]
    p_values = [each["metrics"]["CIDEr-D"] for each in found]
    assert all(each["corrected_p_value"] >= each["p_value"] for each in p_values)
    latex = output("compare", *paths, *options, "--layout", "systems", "-f", "latex", "--scale", "100")
    assert [line.split(" & ")[0] for line in latex.splitlines()[5:8]] == ["a", "b", "c"]
    (files / "subset.json").write_text(json.dumps({"odd": [1, 3, 5]}))
    table = output("compare", *paths[:3], *options, "--subset", files / "subset.json")
    assert [line.split()[0] for line in table.splitlines()[:6]] == [
        "Images",
        "─" * len(table.splitlines()[1]),
        "all",
        "all",
        "odd",
        "odd",
    ]
    (files / "all.json").write_text(json.dumps({"all": [1, 3, 5]}))
    message = refusal("compare", *paths, "--subset", files / "all.json")
    assert "a subset can't have the name 'all'" in message
    message = refusal("compare", *paths[:2])
    assert "a comparison needs two or more result files (got 1)" in message
    message = refusal("compare", *paths, "--subset", files / "subset.json", "--layout", "systems")
    assert "--layout systems and --subset can't be combined" in message


def test_check_accepts_a_submission(files: Path) -> None:
    text = output("check", files / "a.json", "--references", files / "references.json")
    assert text == f"{files / 'a.json'} is valid: 6 captions\n"
    (files / "b.json").write_text(json.dumps([*B[:5], {"image_id": 6, "caption": "? ..."}]))
    text = output("check", files / "b.json")
    assert text.endswith("; 2 images (1, 6) are captioned without words, which is allowed\n")


def test_check_lists_every_problem(files: Path) -> None:
    wrong = [{"image_id": 7, "caption": "a"}, *A[2:]]
    (files / "w.json").write_text(json.dumps(wrong))
    done = run("check", files / "w.json", "-r", files / "references.json")
    assert (done.returncode, done.stdout) == (2, b"")
    unknown, missing = done.stderr.decode().splitlines()
    assert (
        unknown
        == f"capeval: error: {files / 'w.json'}: image 7 is among the candidates but not among the references"
        "; to skip it, set --extra skip"
    )
    assert ": 2 images (1, 2) are among the references but not among the candidates; to skip" in missing


WRONG_RESULTS: dict[str, tuple[str, str]] = {
    "not JSON": ("x", "line 1 column 1"),
    "truncated": (json.dumps(A)[:-20], "truncated?"),
    "no list": ("3", "the file must be a list"),
    "float id": ('[{"image_id": 1.0, "caption": "a"}]', "entries[0].image_id must be an integer or a string"),
    "true id": ('[{"image_id": true, "caption": "a"}]', "(got true)"),
    "caption": ('[{"image_id": 1, "caption": 5}]', "entries[0].caption must be a string (got 5)"),
    "twice": (json.dumps([*A, A[0]]), "duplicate image id 1 in entries[6].image_id"),
    "text ids": (
        json.dumps([{**entry, "image_id": f"x{entry['image_id']}"} for entry in A]),
        "ids of the results such as 'x1' must equal ids of the references such as 1",
    ),
    "unknown images": (json.dumps([*A, {"image_id": 9, "caption": ""}]), "image 9 is among the candidates"),
    "missing images": (json.dumps(A[:2]), "4 images (3, 4, 5, 6) are among the references but not"),
}


def test_a_long_image_id_is_cut_short(files: Path) -> None:
    (files / "long.json").write_text(json.dumps([{"image_id": "x" * 100_000, "caption": "a"}]))
    assert len(refusal("score", files / "references.json", files / "long.json")) < 600
    (files / "s.json").write_text(json.dumps({"y" * 100_000: [1, 99]}))
    paths = files / "references.json", files / "a.json", "--subset", files / "s.json"
    assert len(refusal("score", *paths)) < 600


@pytest.mark.parametrize("what", WRONG_RESULTS)
def test_wrong_results_are_named(files: Path, what: str) -> None:
    content, words = WRONG_RESULTS[what]
    path = files / "wrong.json"
    path.write_text(content)
    message = refusal("score", files / "references.json", files / "a.json", path)
    assert f"{path}: " in message
    assert words in message


def test_other_wrong_input(files: Path) -> None:
    references, a = files / "references.json", files / "a.json"
    assert f"{files / 'none'}: No such file" in refusal("score", references, files / "none")
    assert f"must all be files, or all be folders (got the folder {files})" in refusal("score", files, a)
    assert "unknown metric 'SPICE-9'" in refusal("score", references, a, "-m", "SPICE-9")
    assert "BLEU-1 twice" in refusal("score", references, a, "-m", "BLEU,BLEU-1")
    assert "a.json twice" in refusal("score", references, a, a)
    subsets = files / "s.json"
    subsets.write_text('{"x": [1, 99]}')
    message = refusal("score", references, a, "--subset", subsets)
    assert f"{subsets}: subset 'x': image 99 is not among the references" in message


def test_wrong_usage_exits_with_2_and_no_traceback(files: Path) -> None:
    for arguments in (
        ["score"],
        ["score", files / "references.json", files / "a.json", "--format", "xml"],
        ["score", files / "references.json", files / "a.json", "--samples", "0"],
        ["none"],
    ):
        done = run(*arguments)
        assert done.returncode == 2
        assert b"Traceback" not in done.stderr


def test_names_of_systems_are_told_apart(files: Path) -> None:
    for folder in ("x", "y"):
        (files / folder).mkdir()
        (files / folder / "results.json").write_text(json.dumps(A))
    paths = files / "x" / "results.json", files / "y" / "results.json", files / "a.json"
    reports = json.loads(output("score", files / "references.json", *paths, "-f", "json"))
    assert [report["system"] for report in reports] == [str(paths[0]), str(paths[1]), "a"]
    others = [Path("x/A.JSONL.GZ"), Path("b.json.zip"), Path(".json")]
    assert name_systems(others) == dict(zip(["A", "b", ".json"], others, strict=True))


def test_systems_can_be_named(files: Path) -> None:
    ours, theirs = f"Ours={files / 'a.json'}", f"Théirs={files / 'b.json'}"
    references = files / "references.json"
    table = output("compare", references, ours, theirs, "-m", "ROUGE-L", "--samples", "20")
    assert table.split()[:3] == ["Metric", "Ours", "Théirs"]
    scored = json.loads(output("score", references, ours, files / "b.json", "-m", "ROUGE-L", "-f", "json"))
    assert [each["system"] for each in scored] == ["Ours", "b"]
    message = refusal("score", references, ours, f"Ours={files / 'b.json'}", "-m", "ROUGE-L")
    assert "names of systems must be different (got 'Ours' twice)" in message
    # A file can have an equals sign in its name or in a folder's.
    (files / "lr=1").mkdir()
    for path in (files / "x=y.json", files / "lr=1" / "z.json"):
        path.write_bytes((files / "a.json").read_bytes())
    scored = json.loads(output("score", references, "x=y.json", "lr=1/z.json", "-f", "json", cwd=files))
    assert [each["system"] for each in scored] == ["x=y", "z"]
    assert "no=file.json: No such file" in refusal("score", references, files / "no=file.json")
    # A name can also have one.
    arguments = ("Ours (λ=0.5)=a.json", "Ours=x=y.json", "b.json=c=-")
    with contextlib.chdir(files):
        assert name_systems([Path(argument) for argument in arguments]) == {
            "Ours (λ=0.5)": Path("a.json"),
            "Ours": Path("x=y.json"),
            "b.json=c": Path("-"),
        }
    message = refusal("score", references, "Ours (λ=0.5)=missing.json", cwd=files)
    assert "the file is 0.5)=missing.json or missing.json, which doesn't exist" in message


def test_tables_without_intervals(files: Path) -> None:
    paths = [files / f"{name}.json" for name in ("references", "a", "b")]
    options = ("-m", "ROUGE-L", "--samples", "20", "--no-intervals")
    for layout in ("pairs", "systems"):
        table = output("compare", *paths, *options, "--layout", layout)
        assert "[" not in table
        assert "interval" not in table.replace("intervals are unreliable", "")
    assert "Difference: a - b.\n" in output("compare", *paths, *options)


@pytest.mark.parametrize("name", [b"caf\xe9.json", b"[red]na\nme[red].json"])
def test_odd_file_names(files: Path, name: bytes) -> None:
    path = Path(os.fsdecode(os.fsencode(files) + b"/" + name))
    path.write_text(json.dumps(A))
    done = run("score", files / "references.json", path)
    assert (done.returncode, done.stderr) == (0, b"")
    for environment in ({}, {"PYTHONIOENCODING": "ascii"}):
        done = run("check", path, env={**os.environ, **environment})
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == os.fsencode(path) + b" is valid: 6 captions\n"
    path.write_text("[")
    refusal("score", files / "references.json", path)


def test_tokenize_lines_from_files_and_standard_input(files: Path) -> None:
    text = "It's a dog.\n\nTwo (2) cafés\r\na\u2028b"
    (files / "c.txt").write_bytes(text.encode())
    expected = "it 's a dog\n\ntwo -lrb- 2 -rrb- cafés\na b\n"
    assert output("tokenize", files / "c.txt") == expected
    assert output("tokenize", "-", input=text.encode()) == expected
    assert output("tokenize", "-", "--keep-punctuation", input=b"Hi, You.") == "hi , you .\n"
    assert output("tokenize", "-", "--keep-case", input=b"Hi, You.") == "Hi You\n"
    assert output("tokenize", "-", input=b"") == ""


def test_tokenize_names_the_byte_that_is_not_utf8() -> None:
    message = refusal("tokenize", "-", input="a\né".encode() + b"\xff\n")
    assert message == (
        "capeval: error: standard input: line 2 column 2: the byte 0xff is not UTF-8 here; "
        "expected plain UTF-8\n"
    )


def test_metrics_lists_the_registry() -> None:
    listed = json.loads(output("metrics", "--format", "json"))
    assert [each["name"] for each in listed] == list(METRICS)
    assert [line.split()[0] for line in output("metrics").splitlines()[2:]] == list(METRICS)


def test_version() -> None:
    assert output("--version") == f"capeval {capeval.__version__}\n"


def test_help_lists_the_commands() -> None:
    text = output("--help")
    assert all(command in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_has_examples(command: str) -> None:
    text = output(command, "--help")
    assert "Examples" in text
    assert f"capeval {command}" in text.partition("Examples")[2]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_offered(shell: str) -> None:
    assert f"_CAPEVAL_COMPLETE={shell}_complete" in output("--show-completion", shell)


def test_words_are_completed() -> None:
    asked = {"_CAPEVAL_COMPLETE": "bash_complete", "COMP_WORDS": "capeval sc", "COMP_CWORD": "1"}
    assert output(env={**os.environ, **asked}).split() == ["plain,score", "plain,scene-graph"]


def test_a_reader_that_leaves_is_no_error(files: Path) -> None:
    (files / "c.txt").write_text("a man on a horse\n" * 200_000)
    command = [sys.executable, "-m", "capeval", "tokenize", str(files / "c.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"a man on a horse\n"
        process.stdout.close()
        assert process.stderr.read() == b""


def _waits_for_input(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has read all there is, and sleeps until there is more."""
    assert process.stdin is not None
    (unread,) = struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, b"\0" * 4))
    state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    return unread == 0 and state == "S"


def test_an_interrupt_is_quiet() -> None:
    command = [sys.executable, "-m", "capeval", "tokenize", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"a man on a horse\n")
        process.stdin.flush()
        # Python looks at signals when a call of the system is interrupted, not just before it.
        wait_until(lambda: _waits_for_input(process), lambda: "the command does not read")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""


def _everything(terminal: int) -> bytes:
    """Read all output written to a terminal until the last program closes it."""
    parts = []
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 100_000):
            parts.append(part)
    return b"".join(parts)


def test_progress_shows_on_a_terminal_alone(files: Path) -> None:
    code = (
        "import sys, threading; from capeval.cli.toolkit import output\n"
        "from capeval._internal.progress import report_progress\n"
        "output._SHOWN_AFTER = 0\n"
        "with output.Steps(2) as steps:\n"
        "    steps.next('Reading [x]'); {0}; steps.next('Scoring')\n"
        "    report_progress('Parsing [captions]', 0, 5000)\n"
        "    report_progress('Parsing [captions]', 2500, 5000); {0}\n"
        "    report_progress('Parsing [captions]', 5000, 5000)\n"
    )
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", code.format("sys.stdin.readline()")]
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=theirs, env=environment) as process:
        os.close(theirs)
        assert process.stdin is not None
        for pattern in (rb"Reading \[x\]", rb"Parsing \[captions\].*2,500 of 5,000, [0-9,]+ per second"):
            shown = b""
            while not re.search(pattern, shown):
                readable, _, _ = select.select([ours], [], [], PATIENCE)
                assert readable, shown
                shown += os.read(ours, 100_000)
            process.stdin.write(b"\n")
            process.stdin.flush()
        _everything(ours)
    assert process.returncode == 0
    os.close(ours)
    # Nothing runs that would show it later.
    command = [sys.executable, "-c", code.format("assert threading.active_count() == 1")]
    silent = subprocess.run(command, capture_output=True, check=True)
    assert (silent.stdout, silent.stderr) == (b"", b"")


@pytest.fixture(scope="module")
def coco(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    pytest.importorskip("pycocoevalcap")
    folder = tmp_path_factory.mktemp("coco")
    output("data", "sample", folder / "made")
    return lambda what: folder / "made" / f"captions_val2014_{what}.json"


def test_data_writes_real_files_once(coco: Callable[[str], Path]) -> None:
    references = capeval.load_references(coco("references"))
    results = capeval.load_candidates(coco("human_results"))
    assert len(references) == len(results) == 40_504
    assert int(references.counts.sum()) == 202_654 - 40_504
    folder = coco("references").parent
    assert "--force" in refusal("data", "sample", folder)
    before = coco("references").read_bytes()
    folder.with_name("\xe9").symlink_to(folder)
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    written = output("data", "sample", folder.with_name("\xe9"), "--force", env=ascii_only)
    assert len(written.splitlines()) == 2
    assert coco("references").read_bytes() == before
    text = output("check", coco("human_results"), "-r", coco("references"))
    assert text.endswith("is valid: 40,504 captions\n")


def test_demo_shows_the_paper_beside_it_and_writes_a_report(
    coco: Callable[[str], Path], tmp_path: Path
) -> None:
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    text = output("demo", "--output", tmp_path / "d\xe9mo", env=ascii_only)
    starts = ("System", "One human", "Published human scores (")
    table = [line.split() for line in text.splitlines() if line.startswith(starts)]
    scores = dict(zip(table[0][1:], table[1][-len(table[0][1:]) :], strict=True))
    # With one caption of five held out; the paper's test set had one more, and gives the row below.
    assert float(scores["BLEU-4"]) == pytest.approx(0.194, abs=0.003)
    assert float(scores["CIDEr-D"]) == pytest.approx(0.857, abs=0.004)
    assert table[2][-1] == "0.854"
    assert (tmp_path / "d\xe9mo" / "report.html").stat().st_size > 50_000
    assert " s: reading " in text


def test_scores_times_100(files: Path) -> None:
    paths = files / "references.json", files / "a.json"
    plain = json.loads(output("score", *paths, "-m", "ROUGE-L", "-f", "json"))["metrics"]["ROUGE-L"]
    assert f"{100 * plain:.1f}" in output("score", *paths, "-m", "ROUGE-L", "--scale", "100")
    commands: list[list[str | Path]] = [["score", *paths], ["compare", *paths, files / "b.json"]]
    for command in commands:
        message = refusal(*command, "--scale", "100", "-f", "json")
        assert "--scale applies to the formats table, markdown and latex (got json)" in message
    text = output("compare", *paths, files / "b.json", "-m", "ROUGE-L")
    assert "p-value: exact paired randomization of the captions of each image" in text
    text = output("compare", *paths, files / "b.json", "-m", "ROUGE-L", "--method", "bootstrap")
    assert "p-value: paired bootstrap of the images (1,000 samples, seed 0);" in text


@pytest.mark.parametrize("name", METRICS)
def test_the_example_of_a_description_is_valid(name: str) -> None:
    example = re.search(r"Options, such as (.*):$", _describe(name, METRICS[name]()), re.MULTILINE)
    # A file that a metric needs is shown as "...".
    assert example is None or "=...)" in example[1] or get_metric(example[1]) == METRICS[name]()


def test_a_metric_is_described() -> None:
    text = output("metrics", "cider")
    assert text.startswith("CIDEr-D: ")
    assert "Other names: CIDEr\n" in text
    assert "  sigma=6\n      The width of the Gaussian penalty" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert all(len(line) <= 80 for line in output("metrics").splitlines())
    assert [each["name"] for each in json.loads(output("metrics", "bleu4", "-f", "json"))] == ["BLEU-4"]
    assert "unknown metric 'CIDErE'; did you mean 'CIDEr-D'?" in refusal("metrics", "CIDErE")
    text = output("metrics", "CIDEr-D(sigma=3)")
    assert "Options, such as CIDEr-D(n=4):\n" in text
    assert "  sigma=3\n" in text


def test_a_metric_of_another_language_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _describe("METEOR-fr", get_metric("METEOR-fr"))
    assert text.startswith("METEOR-fr: Matched words and stems; in English, synonyms and paraphrases.\n")
    assert all(f"`{language}`" in text for language in LANGUAGES)
    assert "LANGUAGES" not in text
    for is_available, shown in ((True, "installed"), (False, 'pip install "capeval[meteor]"')):
        monkeypatch.setattr(Resource, "is_available", is_available)
        assert f"Needs METEOR's word tables: {shown}\n" in _describe("METEOR", get_metric("METEOR"))


def test_ids_of_subsets_are_matched_as_those_of_results(tmp_path: Path) -> None:
    captions = {"0.jpg": ["a dog"], "1.jpg": ["two cats"]}
    (tmp_path / "references.json").write_text(json.dumps(captions))
    results = [{"image_id": place, "caption": text} for place, text in enumerate(["a dog", "a cat"])]
    (tmp_path / "a.json").write_text(json.dumps(results))
    (tmp_path / "subsets.json").write_text(json.dumps({"dogs": [0], "cats": [1]}))
    paths = [tmp_path / "references.json", tmp_path / "a.json"]
    shown = output("score", *paths, "-m", "BLEU-1", "--subset", tmp_path / "subsets.json", "-f", "json")
    assert json.loads(shown)["subsets"]["dogs"]["BLEU-1"] == pytest.approx(1)
    (tmp_path / "subsets.json").write_text(json.dumps({"dogs": [7]}))
    message = refusal("score", *paths, "--subset", tmp_path / "subsets.json")
    assert "subset 'dogs': image 7 is not among the references" in message


def test_subsets_of_skipped_images(tmp_path: Path) -> None:
    captions = {str(image): [f"a dog number {image}"] for image in range(4)}
    (tmp_path / "references.json").write_text(json.dumps(captions))
    results = [{"image_id": str(image), "caption": f"a dog number {image}"} for image in range(3)]
    (tmp_path / "a.json").write_text(json.dumps(results))
    (tmp_path / "subsets.json").write_text(json.dumps({"odd": ["1", "3"], "even": ["0", "2"]}))
    paths = [tmp_path / "references.json", tmp_path / "a.json"]
    options = ("-m", "BLEU-1", "--missing", "skip", "--subset", tmp_path / "subsets.json", "-f", "json")
    found = json.loads(output("score", *paths, *options))
    assert found["subset_images"]["odd"]["images"] == 1
    report = evaluate(
        captions,
        {image: texts[0] for image, texts in captions.items() if image != "3"},
        ["BLEU-1"],
        missing="skip",
        subsets={"odd": ["1", "3"]},
    )
    assert report.subsets["odd"]["BLEU-1"] == found["subsets"]["odd"]["BLEU-1"]
    (tmp_path / "subsets.json").write_text(json.dumps({"last": ["3"]}))
    message = refusal("score", *paths, *options)
    assert "subset 'last': none of its images was scored" in message
