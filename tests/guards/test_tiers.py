"""Tests of the table of system tests."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import read_system_tests

PROJECT = Path(__file__).parents[2]
ROWS = read_system_tests()


def test_every_row_is_a_module_or_a_test() -> None:
    missing = []
    for row in ROWS:
        module, _, name = row.partition("::")
        path = PROJECT / module
        names = set()
        if path.is_file():
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        if not path.is_file() or (name and name.partition("[")[0] not in names):
            missing.append(row)
    assert not missing


def test_no_test_has_a_row_beside_its_module() -> None:
    assert not [row for row in ROWS if "::" in row and row.partition("::")[0] in ROWS]


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
