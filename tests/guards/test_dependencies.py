"""Dependencies: CI installs allowed versions, and the minimum versions agree."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.server.processes import PROJECT


def read_project(folder: str) -> dict[str, Any]:
    """The declarations of a distribution."""
    return tomllib.loads((PROJECT / folder / "pyproject.toml").read_text(encoding="utf-8"))


def by_name(texts: list[str]) -> dict[str, Requirement]:
    """Requirements by the names of their packages, without capeval's own distributions."""
    found = {canonicalize_name((one := Requirement(text)).name): one for text in texts}
    return {name: one for name, one in found.items() if not name.startswith("capeval")}


DECLARED, SERVER, DECODING = (read_project(folder) for folder in (".", "server", "decoding"))
DEVELOPMENT = by_name(DECLARED["dependency-groups"]["dev"])
NEEDED = {
    (project["project"]["name"], extra): by_name(texts)
    for project in (DECLARED, SERVER, DECODING)
    for extra, texts in {
        "": project["project"]["dependencies"],
        **project["project"]["optional-dependencies"],
    }.items()
}
PINNED: dict[str, str] = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([\w.-]+)==(\S+)$", (PROJECT / "constraints.txt").read_text(), re.M)
}


def floor(requirement: Requirement) -> Version:
    (found,) = (Version(one.version) for one in requirement.specifier if one.operator in (">=", "=="))
    return found


def test_what_ci_installs_is_allowed() -> None:
    assert len(PINNED) > 50, "the scan found too little"
    for place, requirements in {**NEEDED, ("the group", "dev"): DEVELOPMENT}.items():
        for name, requirement in requirements.items():
            assert requirement.specifier.contains(PINNED.get(name, str(floor(requirement)))), (place, name)
    assert set(NEEDED["capeval-server", ""]) <= set(PINNED)


def test_the_servers_lowest_versions_are_those_of_the_tests() -> None:
    needed = NEEDED["capeval-server", ""]
    assert {"django", "waitress"} <= set(needed)
    for name, requirement in needed.items():
        assert floor(DEVELOPMENT[name]) == floor(requirement), name
        assert requirement.extras == DEVELOPMENT[name].extras, name


SERVER_ALONE = """
import pkgutil, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import django
django.setup()
from django.urls import get_resolver
assert get_resolver().url_patterns
import capeval_server
from importlib import import_module
for module in pkgutil.walk_packages(capeval_server.__path__, "capeval_server."):
    # What it imports is of the extra `s3`.
    if module.name != "capeval_server.core.object_store":
        import_module(module.name)
print("imported")
"""


def test_the_server_needs_nothing_but_its_dependencies(tmp_path: Path) -> None:
    waiting = [*NEEDED["capeval", ""].values(), *NEEDED["capeval-server", ""].values()]
    installed: set[str] = {"capeval", "capeval-server"}
    while waiting:
        requirement = waiting.pop()
        if (name := canonicalize_name(requirement.name)) in installed:
            continue
        installed.add(name)
        extras = requirement.extras or {""}
        waiting.extend(
            needed
            for needed in map(Requirement, requires(name) or [])
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras)
        )
    others = {
        module
        for module, of in packages_distributions().items()
        if not installed & {canonicalize_name(each) for each in of}
    }
    assert {"pytest", "playwright", "scipy"} <= others, "the scan found too little"
    done = subprocess.run(
        [sys.executable, "-c", SERVER_ALONE, " ".join(others)],
        env={
            **os.environ,
            "CAPEVAL_SERVER_DATA": str(tmp_path),
            "DJANGO_SETTINGS_MODULE": "capeval_server.config.settings",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "imported\n"), done.stderr
