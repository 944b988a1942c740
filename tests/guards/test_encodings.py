"""Guard for text files: the sources name the encoding of each, since systems have different defaults."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
SOURCES = ("src", "server/src", "decoding/src", "examples")
TEMPORARY = ("NamedTemporaryFile", "SpooledTemporaryFile", "TemporaryFile")


def list_unnamed(source: str) -> list[int]:
    """Return the lines of calls that read or write text in the system's default encoding."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if _opens_text(call) and not _has_encoding(call)]


def _opens_text(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    arguments = [one.value if isinstance(one, ast.Constant) else None for one in call.args]
    if name in ("open", "os.fdopen"):
        return "b" not in str([*arguments, "r"][1])
    name, method = name.rpartition(".")[2], isinstance(call.func, ast.Attribute)
    if name == "open" and method:
        # A path's method has the mode as its first argument, other methods a name.
        return bool(arguments) and str(arguments[0]) in ("r", "w", "a", "x", "r+", "w+", "a+", "x+")
    if name in TEMPORARY:
        return bool(arguments) and "b" not in str(arguments[0])
    return method and name in ("read_text", "write_text")


def _has_encoding(call: ast.Call) -> bool:
    # The encoding can be the first argument of read_text.
    named = any(one.arg == "encoding" for one in call.keywords)
    return named or (ast.unparse(call.func).endswith(".read_text") and bool(call.args))


@pytest.mark.parametrize("root", SOURCES)
def test_text_files_have_a_named_encoding(root: str) -> None:
    found = [
        f"{path.relative_to(PROJECT)}:{line}"
        for path in sorted((PROJECT / root).rglob("*.py"))
        for line in list_unnamed(path.read_text(encoding="utf-8"))
    ]
    assert found == [], 'add encoding="utf-8"'


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("path.read_text()", [1]),
        ("path.read_text('utf-8')", []),
        ("path.write_text(text)", [1]),
        ("path.write_text(text, encoding='utf-8')", []),
        ("open(name)", [1]),
        ("open(name, 'rb')", []),
        ("os.fdopen(descriptor, 'w')", [1]),
        ("path.open('w')", [1]),
        ("path.open('wb')", []),
        ("tempfile.TemporaryFile()", []),
        ("tempfile.TemporaryFile('w+')", [1]),
        ("archive.open(name)", []),
        ("read_text(file)", []),
    ],
)
def test_calls_without_an_encoding_are_found(source: str, lines: list[int]) -> None:
    assert list_unnamed(source) == lines
