"""Names of public classes are unique in the three packages."""

import ast
from collections import defaultdict
from pathlib import Path

PROJECT = Path(__file__).parents[2]
# The package `compat` has the names of pycocoevalcap, and migrations all have the same class.
LEFT_OUT = ("src/capeval/compat/", "/migrations/")
# These belong to a table of the database or to the OpenAPI document, where their names are known outside.
SHARED = {
    "Agreement",
    "Answers",
    "Report",
    "ShownCaptions",
    "Signature",
    "Standing",
    "Worker",
}


def test_class_names_are_unique() -> None:
    found = defaultdict(set)
    for root in ("src", "server/src", "decoding/src"):
        for path in (PROJECT / root).rglob("*.py"):
            name = path.relative_to(PROJECT).as_posix()
            if not any(part in name for part in LEFT_OUT):
                for node in ast.parse(path.read_text(encoding="utf-8")).body:
                    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                        found[node.name].add(name)
    assert len(found) > 500, "the scan found too little"
    repeated = {name: sorted(paths) for name, paths in found.items() if len(paths) > 1}
    assert set(repeated) == SHARED, repeated
