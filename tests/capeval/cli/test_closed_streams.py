"""Closed and full standard streams: no result is lost without an error."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest

from tests.every_command import COMMANDS
from tests.waiting import PATIENCE

CLOSED = "capeval: error: standard output is closed; redirect it to a file, or to /dev/null to discard it\n"
GROUPS = {name: list(paths) for name, paths in groupby(COMMANDS, lambda path: path[:-1])}
CAPEVAL = f"{shlex.quote(sys.executable)} -m capeval"


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, cwd=folder, check=False, timeout=PATIENCE
    )


def closed(commands: Sequence[str], folder: Path) -> dict[str, tuple[int, str]]:
    """Run commands with closed standard output, by one shell; return their exit codes and errors."""
    lines = [f"{CAPEVAL} {each} >&- 2>error.{n}; echo $? >code.{n}" for n, each in enumerate(commands)]
    done = shell("\n".join(lines), folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return {
        each: (int((folder / f"code.{n}").read_text()), (folder / f"error.{n}").read_text())
        for n, each in enumerate(commands)
    }


@pytest.fixture
def files(tmp_path: Path) -> Path:
    captions = [{"image_id": image, "caption": f"a dog number {image}"} for image in range(1, 4)]
    for name in ("references", "results", "others"):
        (tmp_path / f"{name}.json").write_text(json.dumps(captions))
    (tmp_path / "captions.txt").write_text("A dog.\n")
    return tmp_path


def test_the_walk_finds_the_commands() -> None:
    assert {("score",), ("study", "human"), ("baselines", "train")} <= set(COMMANDS)
    assert {("server", "start"), ("server", "annotate", "freeze")} <= set(COMMANDS)
    assert len(COMMANDS) > 70


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_closed_output_is_an_error_in_every_group(group: tuple[str, ...], tmp_path: Path) -> None:
    # The streams are checked before a command is chosen; the first of each group stands for the others.
    name = " ".join(GROUPS[group][0])
    commands = [name, f"{name} --help"]
    assert closed(commands, tmp_path) == dict.fromkeys(commands, (2, CLOSED))


def test_closed_output_is_an_error_before_anything_is_written(files: Path) -> None:
    commands = [
        "--version",
        "--help",
        "--show-completion bash",
        "nonsense",
        "score references.json results.json -m BLEU",
        "score references.json results.json -m BLEU -f json",
        "score references.json results.json -m BLEU -o scores.json",
        "score references.json results.json -m BLEU --report report.html <&-",
        "compare references.json results.json others.json -m BLEU",
        "check results.json",
        "tokenize captions.txt",
        "tokenize - <&-",
        "align 'a dog' 'the dog'",
        "metrics",
        "resources",
        "data folder",
        "browse references.json results.json -o page.html",
        "server example small folder",
    ]
    before = set(files.iterdir())
    assert closed(commands, files) == dict.fromkeys(commands, (2, CLOSED))
    after = {path for path in files.iterdir() if not path.name.startswith(("code.", "error."))}
    assert after == before


def test_closed_output_is_an_error_of_the_servers_own_module(tmp_path: Path) -> None:
    for arguments in ("--help", "example small folder", "migrate"):
        done = shell(f"{shlex.quote(sys.executable)} -m capeval_server {arguments} >&-", tmp_path)
        assert (done.returncode, done.stderr) == (2, CLOSED)
    assert list(tmp_path.iterdir()) == []


def test_closed_output_and_errors_leave_the_exit_code(files: Path) -> None:
    done = shell(f"{CAPEVAL} score references.json results.json -m BLEU >&- 2>&-", files)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.parametrize("errors", ["2>&-", "2>/dev/full"])
def test_results_arrive_without_a_place_for_errors(files: Path, errors: str) -> None:
    # Scores of one image come with a warning.
    one = json.dumps([{"image_id": 1, "caption": "a dog"}])
    (files / "one.json").write_text(one)
    command = f"{CAPEVAL} score one.json one.json -m CIDEr-D -f csv"
    usual = shell(command, files)
    assert usual.stderr.startswith("capeval: warning: ")
    done = shell(f"{command} {errors}", files)
    assert (done.returncode, done.stdout) == (0, usual.stdout)
    done = shell(f"{command} -o scores.csv {errors}", files)
    assert (done.returncode, done.stdout) == (0, "")
    assert (files / "scores.csv").read_text() == usual.stdout
    done = shell(f"{CAPEVAL} score none.json one.json {errors}", files)
    assert (done.returncode, done.stdout) == (2, "")


def test_closed_input_is_empty(tmp_path: Path) -> None:
    done = shell(f"{CAPEVAL} tokenize - <&-", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_result_that_is_cut_off_is_no_success(tmp_path: Path, unbuffered: str) -> None:
    # More than a pipe holds: the command is still writing when its reader ends.
    (tmp_path / "captions.txt").write_text("A brown dog.\n" * 50_000)
    command = f"PYTHONUNBUFFERED={unbuffered} {CAPEVAL} tokenize captions.txt"
    done = shell(f"({command}; echo $? >code) | head -1", tmp_path)
    assert (done.stdout, done.stderr) == ("a brown dog\n", "")
    assert (tmp_path / "code").read_text() == "1\n"
    assert shell(command, tmp_path).stdout == "a brown dog\n" * 50_000
