"""The share of lines that the gate's tests execute."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.coverage_figure import compute_shares, main

FILES = {
    "src/capeval/a.py": {"executed_lines": [1, 2, 3], "missing_lines": [4]},
    "src/capeval/b.py": {"executed_lines": [], "missing_lines": [1, 2]},
    "server/src/capeval_server/a.py": {"executed_lines": [1], "missing_lines": []},
    "tests/test_a.py": {"executed_lines": [1], "missing_lines": []},
}


def test_files_count_for_the_distribution_of_their_folder() -> None:
    assert compute_shares({"files": FILES}) == {"capeval": (3, 6), "capeval-server": (1, 1)}


def test_one_line_per_distribution(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "coverage.json"
    main([str(path)])
    assert f"`make test COVERAGE={path}`" in capsys.readouterr().out
    path.write_text(json.dumps({"files": FILES}), encoding="utf-8")
    main([str(path)])
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split()[:5] == ["capeval", "50.0", "%", "of", "6"]
    assert printed[1].split()[:3] == ["capeval-server", "100.0", "%"]
