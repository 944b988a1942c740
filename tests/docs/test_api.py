"""The API reference has every public name, and nothing else."""

from __future__ import annotations

import ast
import re
import runpy
from doctest import script_from_examples
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from capeval.cli.studies import find_studies
from tests.docs.test_examples import blocks

DOCS = Path(__file__).parents[2] / "docs"
DIRECTIVES = runpy.run_path(str(DOCS / "directives.py"))
# All of their names are public. Of other modules, such as those of studies, those that pages name.
COMPLETE = [
    "capeval",
    "capeval.distributed",
    "capeval.errors",
    "capeval.formats",
    "capeval.metrics",
    "capeval.report",
    "capeval.metrics.scene_graphs",
    "capeval.scoring.significance",
]

# They have pages of their own, and need libraries that are not here.
ELSEWHERE = ("capeval.compat", "capeval.integrations", "capeval_decoding.generation")


def described() -> dict[str, Any]:
    """The objects of the API reference, by their full names."""
    found: dict[str, Any] = {}
    for page in sorted((DOCS / "api").glob("*.md")):
        module = "capeval"
        for directive, name in re.findall(r"^\.\. ([\w-]+)::(?: (\S+))?$", page.read_text(), re.MULTILINE):
            if directive == "currentmodule":
                module = name
            elif directive == "registered-metrics":
                found |= {
                    f"capeval.{each}": made for each, made in import_module("capeval.metrics").CLASSES.items()
                }
            elif directive == "registered-studies":
                modules = [each for study in find_studies() for each in DIRECTIVES["study_modules"](study)]
                for name in modules:
                    found |= {f"{name}.{each}": getattr(import_module(name), each) for each in exported(name)}
            elif directive == "automodule":
                found |= {f"{name}.{each}": getattr(import_module(name), each) for each in exported(name)}
            else:
                found[f"{module}.{name}"] = getattr(import_module(module), name)
    return found


def exported(module: str) -> list[str]:
    # The packages of studies without public names have no `__all__`.
    return [name for name in getattr(import_module(module), "__all__", ()) if not name.startswith("__")]


def is_described(thing: Any) -> bool:
    # Names of one object, such as `capeval.load_references` and `capeval.formats.load_references`.
    return any(thing is each for each in described().values())


def imported() -> set[tuple[str, str]]:
    """Return the modules and names that examples in the documentation import from capeval."""
    found = set()
    for page in DOCS.rglob("*.md"):
        for block in blocks(page, "python"):
            code = script_from_examples(block.text) if ">>> " in block.text else block.text
            for node in ast.walk(ast.parse(code)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("capeval"):
                    found |= {(str(node.module), alias.name) for alias in node.names}
    return found


@pytest.mark.parametrize("module", COMPLETE)
def test_every_public_name_is_described(module: str) -> None:
    names = exported(module)
    assert names
    missing = [name for name in names if not is_described(getattr(import_module(module), name))]
    assert missing == []


def test_only_public_names_are_described() -> None:
    assert len(described()) > 50
    for name in described():
        module, _, last = name.rpartition(".")
        assert last in import_module(module).__all__, name


def test_what_examples_import_is_described() -> None:
    found = {each for each in imported() if not each[0].startswith(ELSEWHERE)}
    assert ("capeval", "evaluate") in found
    missing = [name for module, name in found if not is_described(getattr(import_module(module), name))]
    assert missing == []
