"""The public names of the installed pycocoevalcap, read from its sources: some modules can't be imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path


def public_names() -> list[str]:
    """Each module's classes, functions and constants, and each class's methods and attributes."""
    spec = find_spec("pycocoevalcap")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (folder,) = spec.submodule_search_locations
    names = []
    for path in sorted(Path(folder).rglob("*.py")):
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        if path.name != "__init__.py":
            names += [f"{module}.{name}" for name in _of_module(ast.parse(path.read_text()))]
    return names


def _of_module(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
            yield from (f"{node.name}.{name}" for name in dict.fromkeys(_of_class(node)))
        elif isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (name.id for name in node.targets if isinstance(name, ast.Name) and name.id[0] != "_")


def _of_class(node: ast.ClassDef) -> Iterator[str]:
    for part in node.body:
        # Scripts call METEOR's `_score`; other names with an underscore are not public.
        if isinstance(part, ast.FunctionDef) and (part.name[0] != "_" or part.name == "_score"):
            yield part.name
    for target in ast.walk(node):
        if isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store):
            of_self = isinstance(target.value, ast.Name) and target.value.id == "self"
            if of_self and target.attr[0] != "_":
                yield target.attr
