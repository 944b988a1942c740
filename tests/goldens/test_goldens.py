"""The command that compares goldens notices each change, and records the same everywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest

from scripts.goldens.addresses import addresses
from scripts.goldens.determinism import Clock
from scripts.goldens.kinds.distributions import describe_metadata, list_files
from scripts.goldens.kinds.schemas import split_table
from scripts.goldens.masks import mask
from scripts.goldens.registry import load_kinds
from scripts.goldens.story import Story

PROJECT = Path(__file__).parents[2]
GOLDENS = PROJECT / "goldens"
# A change of each kind: a file, a text in it and the text in its place.
CHANGES = {
    "command_line": ("capeval-score.txt", "--per-image", "--by-image"),
    "distributions": ("capeval-wheel-metadata.txt", "Requires-Dist: numpy", "Requires-Dist: numba"),
    "exports": ("leaderboard.csv", "CIDEr-D", "CIDEr"),
    "logs": ("lines.txt", "INFO", "info"),
    "mails": ("capeval-password-changed.txt", "Password", "Passphrase"),
    "openapi": ("openapi.json", '"openapi"', '"swagger"'),
    "pages": ("home.txt", "Challenges</a>", "Contests</a>"),
    "public_names": ("capeval.txt", "evaluate(", "rate("),
    "schema_postgresql": ("teams_team.txt", "column name", "column title"),
    "schema_sqlite": ("teams_team.txt", '"name"', '"title"'),
    "scores": ("core.txt", "METEOR 0.", "METEOR 1."),
    "scores_spice": ("spice.txt", "SPICE 0.", "SPICE 1."),
    "tokens": ("tokens.txt", "val2014", "test2014"),
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
    assert set(CHANGES) == set(load_kinds())


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
    assert len(lines) < 20
    assert f"different: {kind}\n" in done.stderr
    assert f'run `make goldens-record OPTIONS="--only {kind}"`' in done.stderr


@pytest.mark.parametrize(("before", "after"), [(b"\r\n", b"\n"), (b"\r\n", b"\r\n\n")])
def test_a_change_of_line_ends_is_noticed(copy: Path, before: bytes, after: bytes) -> None:
    path = copy / "exports" / "leaderboard.csv"
    assert before in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(before, after, 1))
    assert compare("--with", GOLDENS, "--folder", copy, "--only", "exports").returncode == 1


def test_a_missing_last_line_end_is_noticed(copy: Path) -> None:
    path = copy / "urls" / "urls.txt"
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert compare("--with", GOLDENS, "--folder", copy, "--only", "urls").returncode == 1


def test_long_differences_are_cut(copy: Path) -> None:
    for path in (copy / "urls").iterdir():
        path.write_text("nothing\n")
    done = compare("--with", GOLDENS, "--folder", copy, "--only", "urls")
    assert len(done.stdout.splitlines()) == 62
    assert done.stdout.endswith('more lines: make goldens OPTIONS="--only urls --full"\n')
    full = compare("--with", GOLDENS, "--folder", copy, "--only", "urls", "--full")
    assert len(full.stdout.splitlines()) > 200


def test_a_golden_that_is_not_recorded_is_no_success(copy: Path, tmp_path: Path) -> None:
    made = shutil.copytree(GOLDENS, tmp_path / "made")
    shutil.rmtree(made / "schema_postgresql")
    done = compare("--with", made, "--folder", copy)
    assert done.returncode == 1
    assert done.stderr == "left out: schema_postgresql (not recorded)\n"


def test_missing_and_new_files_are_noticed(copy: Path) -> None:
    (copy / "pages" / "home.txt").unlink()
    (copy / "pages" / "invented.txt").write_text("A page\n")
    done = compare("--with", GOLDENS, "--folder", copy, "--only", "pages")
    assert done.returncode == 1
    assert "pages/home.txt: not recorded" in done.stdout
    assert "pages/invented.txt: recorded, but missing now" in done.stdout


def test_renamed_tables_and_loggers_are_equal(copy: Path, tmp_path: Path) -> None:
    made = shutil.copytree(GOLDENS, tmp_path / "made")
    for kind in ("schema_sqlite", "schema_postgresql"):
        for path in (made / kind).iterdir():
            path.write_text(path.read_text().replace("organising_action", "audit_action"))
            path.rename(path.with_name(path.name.replace("organising_action", "audit_action")))
    for log in (made / "logs").iterdir():
        text = log.read_text()
        log.write_text(text.replace("capeval_server.ops.access_log", "capeval_server.ops.requests"))
    only = ("--only", "schema_sqlite", "schema_postgresql", "logs")
    assert compare("--with", made, "--folder", copy, *only).returncode == 1
    (copy / "table_names.toml").write_text('[names]\norganising_action = "audit_action"\n')
    names = '[names]\n"capeval_server.ops.access_log" = "capeval_server.ops.requests"\n'
    (copy / "logger_names.toml").write_text(names)
    done = compare("--with", made, "--folder", copy, *only)
    assert done.returncode == 0, done.stdout


def test_missing_and_unknown_source_files_of_a_distribution_are_listed(tmp_path: Path) -> None:
    (tmp_path / "capeval").mkdir()
    (tmp_path / "capeval" / "metrics.py").touch()
    files = ["capeval/metrics.py", "capeval/py.typed"]
    complete = ["capeval/py.typed", "capeval: all source files"]
    assert list(list_files(files, tmp_path, 1)) == complete
    # Moved modules are no difference.
    (tmp_path / "capeval" / "metrics.py").rename(tmp_path / "capeval" / "scores.py")
    assert list(list_files(["capeval/scores.py", "capeval/py.typed"], tmp_path, 1)) == complete
    assert list(list_files(files, tmp_path, 1)) == [
        "capeval/py.typed",
        "capeval: not all source files",
        "missing: capeval/scores.py",
        "not in the tree: capeval/metrics.py",
    ]


def test_metadata_have_no_description_and_no_version_of_tools() -> None:
    about = b"Name: capeval\nRequires-Dist: numpy\n\nThe README."
    wheel = b"Generator: maturin (1.16.0)\nTag: cp311-abi3-linux_x86_64\n"
    files = {"capeval-0.1.0.dist-info/METADATA": about, "capeval-0.1.0.dist-info/WHEEL": wheel}
    assert describe_metadata(files) == (
        "--- METADATA\nName: capeval\nRequires-Dist: numpy\n--- WHEEL\nGenerator: BUILD TOOL\nTag: TAG\n"
    )


def test_definitions_of_a_table_are_split_at_their_commas() -> None:
    statement = """CREATE TABLE "t" ("a" text CHECK ("a" IN (',', ')')), UNIQUE ("a", "b")) STRICT"""
    found = [line.strip() for line in split_table(statement)]
    assert found == [
        'CREATE TABLE "t"',
        """"a" text CHECK ("a" IN (',', ')'))""",
        'UNIQUE ("a", "b")',
        "STRICT",
    ]


def test_masks_hide_secrets_and_keep_scores() -> None:
    token = "capeval_" + "aB-_" * 10 + "xyz"
    assert mask(f"{token} capeval_server_api_views_show 0.1234567890123456") == (
        "TOKEN capeval_server_api_views_show 0.1234567890123456"
    )
    assert mask(f"{version('capeval')} {version('capeval')}.dist-info") == "VERSION VERSION.dist-info"


def test_a_route_with_an_unknown_parameter_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        RuntimeError, match=r"no value for parameter 'color' of the route 'new/<slug:color>/': add one"
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
