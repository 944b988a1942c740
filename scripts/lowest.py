"""Writes the lowest versions of the dependencies that the package allows, as requirements of pip."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def lowest(extra: str) -> dict[str, str]:
    """The lowest version of each package that the library and one of its extras need."""
    found = {}
    for text in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra]]:
        requirement = Requirement(text)
        floors = [one.version for one in requirement.specifier if one.operator in (">=", "==")]
        if len(floors) != 1:
            raise SystemExit(f"{text!r} in pyproject.toml must have one lowest version")
        found[requirement.name] = floors[0]
    return found


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}=={version}\n" for name, version in lowest("server").items())
