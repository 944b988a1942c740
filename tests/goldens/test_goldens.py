"""The command that compares goldens notices each change, and records the same everywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scripts.goldens.addresses import addresses
from scripts.goldens.determinism import Clock
from scripts.goldens.kinds.distributions import described
from scripts.goldens.registry import load_kinds
from scripts.goldens.story import Story

PROJECT = Path(__file__).parents[2]
GOLDENS = PROJECT / "goldens"
# A change of each kind: a file, a text in it and the text in its place.
CHANGES = {
    "command_line": ("capeval-score.txt", "--per-image", "--by-image"),
    "exports": ("leaderboard.csv", "CIDEr-D", "CIDEr"),
    "logs": ("lines.txt", "INFO", "info"),
    "mails": ("capeval-password-changed.txt", "Password", "Passphrase"),
    "openapi": ("openapi.json", '"openapi"', '"swagger"'),
    "pages": ("home.txt", "Challenges</a>", "Contests</a>"),
    "public_names": ("capeval.txt", "evaluate(", "rate("),
    "schema_postgresql": ("teams_team.txt", "column name", "column title"),
    "schema_sqlite": ("teams_team.txt", "column name", "column title"),
    "scores": ("core.txt", "METEOR 0.", "METEOR 1."),
    "scores_spice": ("spice.txt", "SPICE 0.", "SPICE 1."),
    "urls": ("urls.txt", "/tokens/", "/keys/"),
}
# Python runs this first in each process: its clock is weeks ahead.
CLOCK = """
import time
right_time = time.time
time.time = lambda: right_time() + 4_000_000
"""


def compare(*arguments: str | Path, cwd: Path = PROJECT, **env: str) -> subprocess.CompletedProcess[str]:
    """The command, ended."""
    path = os.pathsep.join((env.pop("PYTHONPATH", ""), str(PROJECT)))
    return subprocess.run(
        [sys.executable, "-m", "scripts.goldens", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the recording."""
    return shutil.copytree(GOLDENS, tmp_path / "goldens")


def test_each_kind_has_a_change_here() -> None:
    assert set(CHANGES) | {"distributions"} == set(load_kinds())


def test_equal_recordings_are_equal(copy: Path) -> None:
    done = compare("--with", GOLDENS, "--folder", copy)
    assert done.returncode == 0, done.stdout
    assert "equal: command_line, " in done.stdout


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_noticed_and_its_place_named(copy: Path, kind: str) -> None:
    name, before, after = CHANGES[kind]
    text = (copy / kind / name).read_text()
    assert before in text
    (copy / kind / name).write_text(text.replace(before, after, 1))
    done = compare("--with", GOLDENS, "--folder", copy)
    assert done.returncode == 1
    assert f"--- recorded/{kind}/{name}\n+++ now/{kind}/{name}\n" in done.stdout
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("-") and after in line]
    assert [line for line in lines if line.startswith("+") and before in line]
    assert f"different: {kind}\n" in done.stderr


def test_missing_and_new_files_are_noticed(copy: Path) -> None:
    (copy / "pages" / "home.txt").unlink()
    (copy / "pages" / "invented.txt").write_text("A page\n")
    done = compare("--with", GOLDENS, "--folder", copy, "--only", "pages")
    assert done.returncode == 1
    assert "pages/home.txt: not recorded" in done.stdout
    assert "pages/invented.txt: recorded, and missing now" in done.stdout


def test_renamed_tables_and_loggers_are_equal(copy: Path, tmp_path: Path) -> None:
    made = shutil.copytree(GOLDENS, tmp_path / "made")
    for kind in ("schema_sqlite", "schema_postgresql"):
        for path in (made / kind).iterdir():
            path.write_text(path.read_text().replace("organising_action", "audit_action"))
            path.rename(path.with_name(path.name.replace("organising_action", "audit_action")))
    log = made / "logs" / "lines.txt"
    log.write_text(
        log.read_text().replace("capeval_server.monitoring.requests", "capeval_server.ops.requests")
    )
    only = ("--only", "schema_sqlite", "schema_postgresql", "logs")
    assert compare("--with", made, "--folder", copy, *only).returncode == 1
    (copy / "table_names.toml").write_text('[names]\norganising_action = "audit_action"\n')
    names = '[names]\n"capeval_server.monitoring.requests" = "capeval_server.ops.requests"\n'
    (copy / "logger_names.toml").write_text(names)
    done = compare("--with", made, "--folder", copy, *only)
    assert done.returncode == 0, done.stdout


def test_distributions_are_described_without_their_version(tmp_path: Path) -> None:
    def wheel(version: str, *files: str) -> str:
        path = tmp_path / f"capeval-{version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name in files:
                archive.writestr(name, "")
            about = f"Name: capeval\nVersion: {version}\nRequires-Dist: numpy\n\nThe README."
            archive.writestr(f"capeval-{version}.dist-info/METADATA", about)
        return described(path)

    assert wheel("0.1.0", "capeval/py.typed") == wheel("0.2.0", "capeval/py.typed")
    assert wheel("0.1.0", "capeval/py.typed") != wheel("0.2.0", "capeval/types.py")
    assert "Requires-Dist: numpy" in wheel("0.1.0")
    assert "README" not in wheel("0.1.0")


def test_a_route_with_an_unknown_parameter_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        RuntimeError, match=r"add a value for 'color' of the route 'new/<slug:color>/', or list"
    ):
        list(addresses(Story(Clock(), tmp_path), "new/<slug:color>/"))


def test_a_command_that_fails_to_record_changes_nothing(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['capeval.cli.app'] = None\n")
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    done = compare("--record", "--folder", copy, "--only", "command_line", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "recording command_line failed" in done.stderr
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def hostile(folder: Path) -> dict[str, str]:
    """An environment in which programs print and sort differently."""
    for name in ("tmp", "clock", "work"):
        (folder / name).mkdir()
    (folder / "clock" / "sitecustomize.py").write_text(CLOCK)
    locale = {"LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.UTF-8", "TZ": "Asia/Tokyo"}
    terminal = {"COLUMNS": "37", "FORCE_COLOR": "1", "PYTHONHASHSEED": "4", "RAYON_NUM_THREADS": "1"}
    return {**locale, **terminal, "TMPDIR": str(folder / "tmp"), "PYTHONPATH": str(folder / "clock")}


def recorded_twice(folder: Path, *options: str) -> list[dict[str, bytes]]:
    """The files of two recordings, the second in another folder and environment."""
    recordings = []
    env = hostile(folder)
    for name, cwd, more in (("first", PROJECT, {"PYTHONHASHSEED": "1"}), ("second", folder / "work", env)):
        place = folder / f"{name} recording"
        done = compare("--record", "--folder", place, *options, cwd=cwd, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        files = sorted(path for path in place.rglob("*") if path.is_file())
        recordings.append({path.relative_to(place).as_posix(): path.read_bytes() for path in files})
    return recordings


def test_quick_kinds_are_recorded_the_same_everywhere(tmp_path: Path) -> None:
    first, second = recorded_twice(tmp_path, "--only", "command_line", "public_names")
    assert len(first) > 100
    assert first == second


@pytest.mark.conformance
def test_all_kinds_are_recorded_the_same_everywhere(tmp_path: Path) -> None:
    first, second = recorded_twice(tmp_path)
    assert {name.partition("/")[0] for name in first} >= {"pages", "exports", "scores", "schema_sqlite"}
    assert first == second
    # A kind that is recorded alone is the same too.
    alone = tmp_path / "alone"
    assert compare("--record", "--folder", alone, "--only", "pages").returncode == 0
    pages = {f"pages/{path.name}": path.read_bytes() for path in (alone / "pages").iterdir()}
    assert pages == {name: content for name, content in first.items() if name.startswith("pages/")}
    today = datetime.now(UTC)
    dates = [today.strftime(form).encode() for form in ("%Y-%m-%d", "%d %b %Y", "%B %-d, %Y")]
    assert [name for name, content in first.items() if any(date in content for date in dates)] == []
