"""The server imports only public names of capeval."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

from tests.server.processes import PROJECT


def _imported(path: Path) -> list[tuple[str, str]]:
    """The names that a module imports from capeval, with the module that has them."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "capeval":
            found += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            assert all(
                alias.name == "capeval" or alias.name.split(".")[0] != "capeval" for alias in node.names
            )
    return found


def test_only_public_names_are_imported() -> None:
    paths = list((PROJECT / "server" / "src" / "capeval_server").rglob("*.py"))
    imported = {name for path in paths for name in _imported(path)}
    assert ("capeval.scoring.evaluator", "Evaluator") in imported, "the scan found nothing"
    for module, name in imported:
        exported = import_module(module)
        # A name, or a module of a package that only holds modules.
        assert name in getattr(exported, "__all__", ()) or not hasattr(exported, "__all__"), (module, name)
        assert not any(part.startswith("_") or part == "cli" for part in module.split("."))
