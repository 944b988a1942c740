"""Lowest allowed versions of the dependencies of capeval, capeval-server and capeval-decoding.

Prints them as requirements for pip.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

__all__ = ["list_lowest"]

PROJECT = Path(__file__).parents[1]
FILES = ("pyproject.toml", "server/pyproject.toml", "decoding/pyproject.toml")
# Skipped, since capeval is itself a dependency of capeval-server.
OWN = "capeval"


def list_lowest() -> dict[str, str]:
    """Return the lowest allowed version of each dependency, by name.

    Raises:
        SystemExit: A requirement does not have exactly one lowest version.
    """
    found = {}
    for file in FILES:
        project = tomllib.loads((PROJECT / file).read_text(encoding="utf-8"))["project"]
        for text in project["dependencies"]:
            requirement = Requirement(text)
            if requirement.name == OWN:
                continue
            floors = [one.version for one in requirement.specifier if one.operator in (">=", "==")]
            if len(floors) != 1:
                raise SystemExit(f"{text!r} in {file} must have exactly one lowest version")
            found[requirement.name] = floors[0]
    return found


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}=={version}\n" for name, version in list_lowest().items())
