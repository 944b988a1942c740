"""The page that names a test for each promise: each is there, and selects something."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "server" / "annotation-checks.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| .* \| (.*) \|$", PAGE, re.MULTILINE)
NAMED = re.compile(r'`((?:tests/)?[\w/]+\.py)(?: -k (?:"([^"]+)"|(\w+)))?`')


def names_of(path: Path) -> list[str]:
    found = [node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if hasattr(node, "name")]
    return [name for name in found if name.startswith("test_")]


def test_each_line_is_there() -> None:
    assert [int(number) for number, _ in ROWS] == list(range(1, 43))


@pytest.mark.parametrize(("number", "named"), ROWS)
def test_what_is_named_exists(number: str, named: str) -> None:
    found = NAMED.findall(named)
    assert found or "python -m benchmarks" in named, number
    for name, several, one in found:
        path = PROJECT / (name if name.startswith("tests/") else f"tests/server/{name}")
        for word in (several or one).split(" or "):
            assert any(word in test for test in names_of(path)), (number, name, word)
