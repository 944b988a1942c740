"""Tests of the table of system tests."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
TABLE = tomllib.loads((PROJECT / "tests" / "system_tests.toml").read_text(encoding="utf-8"))
ROWS = [row["path"] for row in TABLE["tests"]]


@pytest.mark.parametrize("row", [*ROWS, *TABLE["skips"]])
def test_a_row_is_a_module_or_a_test(row: str) -> None:
    module, _, name = row.partition("::")
    functions = {
        node.name
        for node in ast.walk(ast.parse((PROJECT / module).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert not name or name.partition("[")[0] in functions


def test_parameters_of_rows_exist() -> None:
    rows = [row for row in ROWS if "[" in row]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", *rows]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rows_are_unique_and_in_order() -> None:
    assert len(ROWS) == len(set(ROWS))
    assert not [row for row in ROWS if "::" in row and row.partition("::")[0] in ROWS]
    seconds = [row["seconds"] for row in TABLE["tests"]]
    assert seconds == sorted(seconds, reverse=True)


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_a_skipped_test_fails_ci(tmp_path: Path, ci: str, status: int) -> None:
    (tmp_path / "conftest.py").write_text("from tests.tiers import fail_on_skips as pytest_sessionfinish\n")
    (tmp_path / "test_one.py").write_text(
        "import pytest\n\ndef test_skipped():\n    pytest.skip('no reason')\n"
    )
    command = [sys.executable, "-m", "pytest", "--rootdir", str(tmp_path), "-c", "/dev/null", str(tmp_path)]
    environment = os.environ | {"CI": ci, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    assert ("skipped tests fail in CI" in done.stdout) == bool(ci)
    assert ("test_one.py::test_skipped" in done.stdout) == bool(ci)
