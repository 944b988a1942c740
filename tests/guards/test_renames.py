"""Old names of modules and templates don't come back, and template names resolve to the project's own."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

from django.template import Engine

PROJECT = Path(__file__).parents[2]
TABLE = tomllib.loads((PROJECT / "scripts" / "renames.toml").read_text(encoding="utf-8"))
# Recordings and histories name what was.
UNTOUCHED = (
    "goldens/",
    "scripts/renames.toml",
    "scripts/goldens/names.py",
    "tests/guards/test_renames.py",
    "CHANGELOG.md",
)
TEMPLATES = PROJECT / "server" / "src" / "capeval_server" / "templates"
_TEMPLATE_TAGS = re.compile(r"\{%\s*(?:extends|include)\s+\"([^\"]+)\"")
_RENDERED = re.compile(r"\"((?:web|annotation|account|mfa|admin)/[\w/.]+\.(?:html|txt|md))\"")


def texts() -> Iterator[tuple[str, str]]:
    """The tracked text files and their contents."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, check=True, text=True
    )
    for path in filter(None, listed.stdout.split("\0")):
        if not path.startswith(UNTOUCHED) and (PROJECT / path).is_file():
            try:
                yield path, (PROJECT / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def is_package(name: str) -> bool:
    """Return whether an old name of a module is a package now, so that it may be written."""
    return any(new == name or new.startswith(f"{name}.") for new in TABLE["modules"].values())


# The dotted names and the paths of modules that are gone.
OLD = [name for name in TABLE["modules"] if not is_package(name)]


def find_old_names(text: str) -> list[str]:
    """Return the old names in a text: of modules, and of names that moved to another module."""
    for string in TABLE["stored"]["strings"]:
        text = text.replace(string, "")
    dotted = re.compile(rf"(?<![\w./])({'|'.join(map(re.escape, OLD))})(?![\w/])")
    paths = re.compile(
        rf"(?<![\w.-])({'|'.join(re.escape(name.replace('.', '/')) for name in OLD)})(?=\.py\b)"
    )
    found = dotted.findall(text) + paths.findall(text)
    imports = re.findall(r"^\s*from ([\w.]+) import ([\w, ]+)", text, re.MULTILINE)
    pairs = [f"{module}.{name.strip()}" for module, names in imports for name in names.split(",")]
    return found + [pair for pair in pairs if pair in OLD]


def test_no_old_name_is_left() -> None:
    left = {path: names for path, text in texts() if (names := find_old_names(text))}
    assert left == {}


def test_old_names_are_found() -> None:
    assert find_old_names("see `capeval.evaluation.Report`") == ["capeval.evaluation"]
    assert find_old_names("from capeval_server import stamps, urls\n") == [
        "capeval_server.stamps",
        "capeval_server.urls",
    ]
    assert find_old_names("src/capeval/evaluation.py") == ["capeval/evaluation"]
    assert find_old_names('salt = "capeval_server.submissions.former"; capeval.evaluations') == []


def test_new_names_exist() -> None:
    roots = [PROJECT, *(PROJECT / folder / "src" for folder in ("", "server", "decoding"))]
    for old, new in TABLE["modules"].items():
        parts = new.split(".")
        found = [
            root
            for root in roots
            if (path := root.joinpath(*parts)).is_dir() or path.with_suffix(".py").exists()
        ]
        assert found, f"{old} = {new}"


def test_templates_are_found_in_the_project() -> None:
    named: dict[str, set[str]] = {}
    for path, text in texts():
        if path.startswith("server/src/"):
            pattern = _RENDERED if path.endswith(".py") else _TEMPLATE_TAGS
            folder = Path(path).parent
            for name in pattern.findall(text):
                if name.startswith("./"):
                    name = (PROJECT / folder / name).relative_to(TEMPLATES).as_posix()
                named.setdefault(name, set()).add(path)
    assert len(named) > 50
    for name, paths in named.items():
        found = Path(Engine.get_default().get_template(name).origin.name)
        assert found == TEMPLATES / name or not any("/templates/web/" in path for path in paths), (
            name,
            found,
        )
        if name.startswith("web/"):
            assert found == TEMPLATES / name
