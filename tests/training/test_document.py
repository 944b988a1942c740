"""Examples of docs/how-to/integrations.md (tests/docs runs the examples of other pages)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_examples import CANDIDATES, ELSEWHERE, REFERENCES, blocks, run_doctest


def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"references": REFERENCES, "candidates": CANDIDATES}
    found = blocks(ELSEWHERE, "python")
    assert len(found) == 3
    for block in found:
        run_doctest(block.text, ELSEWHERE.name, names, file=ELSEWHERE, line=block.line - 1)
