"""Comparison of the public Python API with that of the last release.

Run `python -m scripts.api_check`. Incompatible changes are errors unless the version allows them: a new minor
version before 1.0, or a new major version. The modules of the API reference (docs/api) are the API.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import griffe
from packaging.version import Version

from scripts.release_check import PROJECT, read_version

__all__ = ["allows_changes", "find_last_release", "list_changes"]

PACKAGES = {"capeval": "src", "capeval_decoding": "decoding/src"}
"""Folder of the sources of each package with an API reference."""
_MODULE = re.compile(r"^\.\. (?:auto|current)module:: ([\w.]+)", re.MULTILINE)
_COLORS = re.compile(r"\x1b\[\d+m")


def find_last_release(project: Path = PROJECT) -> str | None:
    """Return the tag of the last release, such as `v0.1.0`; None before the first one."""
    command = ["git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip() or None


def allows_changes(old: str, new: str) -> bool:
    """Return whether a version may have incompatible changes after an older one."""
    before, after = Version(old), Version(new)
    return after.major > before.major or (before.major == 0 and after.minor > before.minor)


def list_modules(project: Path = PROJECT) -> set[str]:
    """Return the modules of the API reference, which also contains all studies."""
    pages = (page.read_text(encoding="utf-8") for page in (project / "docs" / "api").glob("*.md"))
    studies = (project / "src" / "capeval" / "studies").glob("*/command.py")
    found = {f"capeval.studies.{path.parent.name}" for path in studies}
    return found | {module for page in pages for module in _MODULE.findall(page)}


def list_changes(tag: str, project: Path = PROJECT) -> Iterator[str]:
    """Yield the incompatible changes of the API since a tag, as one line each."""
    logging.getLogger("griffe").setLevel(logging.ERROR)
    for package, folder in PACKAGES.items():
        old = griffe.load_git(package, ref=tag, repo=project, search_paths=[folder], allow_inspection=False)
        new = griffe.load(package, search_paths=[project / folder], allow_inspection=False)
        modules = [found for each in list_modules(project) if (found := _find(each, old)) is not None]
        names, targets = _list_names(modules)
        for change in griffe.find_breaking_changes(old, new):
            # Objects may move to other modules if a module of the reference still exports them.
            is_removal = change.kind is griffe.BreakageKind.OBJECT_REMOVED
            parent = change.obj.path.rpartition(".")[0]
            if (
                change.obj.path in names
                or parent in targets
                or (not is_removal and change.obj.path in targets)
            ):
                yield _COLORS.sub("", change.explain(griffe.ExplanationStyle.ONE_LINE))


def _find(module: str, package: griffe.Object | griffe.Alias) -> griffe.Object | griffe.Alias | None:
    """Return a module of a package, or None if the package has no such module."""
    root, _, name = module.partition(".")
    if root != package.name:
        return None
    try:
        return package[name] if name else package
    except KeyError:
        return None


def _list_names(modules: list[griffe.Object | griffe.Alias]) -> tuple[set[str], set[str]]:
    """Return the paths of public names, and the paths of the objects that they refer to."""
    names, targets = set(), set()
    for module in modules:
        for name in module.exports or ():
            names.add(f"{module.path}.{name}")
            with suppress(KeyError, griffe.AliasResolutionError, griffe.CyclicAliasError):
                member = module.members[str(name)]
                targets.add(member.final_target.path if isinstance(member, griffe.Alias) else member.path)
    return names, targets


def main() -> None:
    """Print the incompatible changes; exit with 1 if the version doesn't allow them."""
    tag = find_last_release()
    if tag is None:
        print("no release yet, so the API has no earlier version")  # noqa: T201
        return
    changes = list(list_changes(tag))
    print(*changes, f"{len(changes)} incompatible changes since {tag}", sep="\n")  # noqa: T201
    version = read_version((PROJECT / "Cargo.toml").read_text(encoding="utf-8"))
    if changes and not allows_changes(tag.removeprefix("v"), version):
        sys.exit(f"capeval: error: version {version} allows no incompatible changes since {tag}")


if __name__ == "__main__":
    main()
