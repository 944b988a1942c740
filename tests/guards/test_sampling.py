"""Random generators are created only in `capeval._internal.random`."""

import ast
from pathlib import Path

PROJECT = Path(__file__).parents[2]
SOURCES = [PROJECT / folder / "src" for folder in ("", "server", "decoding")]
MAKERS = {"default_rng", "Random", "RandomState", "seed"}


def makers(text: str) -> list[str]:
    """Return the calls of a module that create a random generator or seed a shared one."""
    calls = (node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return [call.attr for call in calls if isinstance(call, ast.Attribute) and call.attr in MAKERS]


def test_only_sampling_makes_generators() -> None:
    modules = sorted(path for folder in SOURCES for path in folder.rglob("*.py"))
    made = {path for path in modules if makers(path.read_text(encoding="utf-8"))}
    assert made == {PROJECT / "src" / "capeval" / "_internal" / "random.py"}


def test_the_guard_sees_generators() -> None:
    assert makers("np.random.default_rng(0)\nrandom.Random(1)\n") == ["default_rng", "Random"]
