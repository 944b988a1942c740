"""docs/development/dependencies.md has one line per dependency, and no others."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "development" / "dependencies.md").read_text(encoding="utf-8")
FOLDERS = {"capeval": ".", "capeval-server": "server", "capeval-decoding": "decoding"}


def list_documented(title: str) -> list[str]:
    """List the names in the table of a section."""
    section = re.split(r"^##+ ", PAGE.partition(f"\n## {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(r"^\| `([\w-]+)` \| ", section, re.MULTILINE)


def parse(texts: list[str]) -> set[str]:
    """Return the names of requirements, without capeval's own distributions."""
    names = {canonicalize_name(Requirement(text).name) for text in texts}
    return {name for name in names if name not in FOLDERS}


def test_each_package_has_one_line() -> None:
    builds = set()
    for title, folder in FOLDERS.items():
        settings = tomllib.loads((PROJECT / folder / "pyproject.toml").read_text(encoding="utf-8"))
        builds |= parse(settings["build-system"]["requires"])
        project = settings["project"]
        extras = [text for extra in project["optional-dependencies"].values() for text in extra]
        documented = list_documented(title)
        assert sorted(documented) == sorted(parse([*project["dependencies"], *extras])), title
    assert sorted(list_documented("Build")) == sorted(builds)


def test_each_crate_has_one_line() -> None:
    names = set()
    for path in PROJECT.glob("crates/*/Cargo.toml"):
        manifest = tomllib.loads(path.read_text(encoding="utf-8"))
        for table in (manifest, *manifest.get("target", {}).values()):
            for section in ("dependencies", "dev-dependencies", "build-dependencies"):
                names |= {name for name in table.get(section, {}) if not name.startswith("capeval-")}
    assert {"pyo3", "rayon"} <= names
    assert sorted(list_documented("Crates")) == sorted(names)


def test_stems_are_pinned_and_have_goldens_in_each_language() -> None:
    workspace = tomllib.loads((PROJECT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    assert workspace["dependencies"]["rust-stemmers"] == "=1.2.0"
    source = (PROJECT / "crates" / "meteor" / "src" / "language.rs").read_text(encoding="utf-8")
    stemmed = set(re.findall(r"Algorithm::(\w+)", source))
    goldens = json.loads((PROJECT / "tests/conformance/meteor/language_goldens.json").read_text())
    with_stems = {name for name, golden in goldens["languages"].items() if " stem" in golden["command"]}
    # The goldens of English are a separate file.
    assert len(with_stems | {"en"}) == len(stemmed) == 11
