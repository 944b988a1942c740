"""Installations of capeval without optional packages: folders with the base dependencies only."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import distribution, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.waiting import PATIENCE

__all__ = ["ADDED", "SOURCE", "BaseInstall"]

PROJECT = Path(__file__).parents[1]
SOURCE = PROJECT / "src"
# The folder of the sources of each distribution that adds commands.
ADDED = {"capeval-decoding": PROJECT / "decoding" / "src", "capeval-server": PROJECT / "server" / "src"}


class BaseInstall:
    """An interpreter that finds capeval, its base dependencies, and no other package.

    Args:
        folder: The folder for the links to the installed packages.
        added: Distributions of `ADDED` that are installed too, without their dependencies.
    """

    def __init__(self, folder: Path, *added: str) -> None:
        self.packages = folder
        self._sources = [SOURCE, *(ADDED[name] for name in added)]
        for name in added:
            self._link(name)
        waiting, seen = ["capeval"], set()
        while waiting:
            name = canonicalize_name(waiting.pop())
            if name in seen:
                continue
            seen.add(name)
            self._link(name)
            needed = map(Requirement, requires(name) or [])
            waiting += [
                each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})
            ]

    def _link(self, name: str) -> None:
        found = distribution(name)
        for part in {Path(file).parts[0] for file in found.files or ()}:
            target, link = Path(str(found.locate_file(part))), self.packages / part
            if part not in ("..", "__pycache__") and target.exists() and not link.exists():
                link.symlink_to(target)

    def run(
        self, *arguments: str | Path, cwd: Path, module: str = "capeval"
    ) -> subprocess.CompletedProcess[str]:
        """Run the command line; `-S` leaves out the packages of this interpreter."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CAPEVAL_")}
        path = os.pathsep.join(map(str, (*self._sources, self.packages)))
        return subprocess.run(
            [sys.executable, "-S", "-m", module, *map(str, arguments)],
            env={
                **kept,
                "PYTHONPATH": path,
                "CAPEVAL_SERVER_DATA": str(cwd / "data"),
                "CAPEVAL_CACHE": str(cwd / "cache"),
            },
            capture_output=True,
            text=True,
            cwd=cwd,
            check=False,
            timeout=PATIENCE,
        )
