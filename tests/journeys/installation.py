"""Installations from wheels, and commands of their users."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.once import made_once
from tests.waiting import PATIENCE

__all__ = ["User", "install"]

PROJECT = Path(__file__).parents[2]
WHEELS = PROJECT / ".venv" / "wheels"
# The folder of the sources of each distribution.
SOURCES = {"capeval": "src", "capeval_server": "server/src", "capeval_decoding": "decoding/src"}


@dataclass(frozen=True, kw_only=True)
class User:
    """A user of an installed capeval, in a working directory.

    Attributes:
        environment: The virtual environment.
        folder: The working directory.
        cache: The folder of capeval's cache.
    """

    environment: Path
    folder: Path
    cache: Path

    def run(self, command: str, *, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command line as typed, and check its exit status."""
        done = self._run(shlex.split(command))
        assert done.returncode == status, done.stdout + done.stderr
        return done

    def read(self, command: str) -> str:
        """Run a command line as typed, and return its standard output."""
        return self.run(command).stdout

    def python(self, program: str) -> str:
        """Run a Python program, and return its standard output."""
        done = self._run(["python", "-c", program])
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("CAPEVAL_", "PYTHON"))
        }
        programs = self.environment / "bin"
        return subprocess.run(
            [programs / command[0], *command[1:]],
            env={
                **kept,
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                "CAPEVAL_CACHE": str(self.cache),
                "CAPEVAL_STORE": "off",
                "HOME": str(self.folder),
            },
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )


def install(*requirements: str) -> Path:
    """Return a virtual environment with packages from the wheels; it is shared by the test run.

    No package index is used.
    """
    name = "installed-" + "-".join(
        each.replace("[", "-").rstrip("]").replace(",", "-") for each in requirements
    )

    def create(folder: Path) -> None:
        _check_wheels()
        # Scripts contain the path of their environment, and the folder is renamed at the end.
        environment = folder.parent / f"{name}.environment"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-index"]
        found = [f"--find-links={WHEELS / part}" for part in ("own", "dependencies")]
        subprocess.run([*pip, *found, *requirements], check=True)

    folder = made_once(name, create)
    return folder.parent / f"{name}.environment"


def _check_wheels() -> None:
    """Check that the wheels contain the sources of this checkout."""
    rebuild = "run `make .venv/.wheels`"
    for name, sources in SOURCES.items():
        built = sorted((WHEELS / "own").glob(f"{name}-*.whl"))
        assert built, f"no wheel of {name}: {rebuild}"
        with zipfile.ZipFile(built[0]) as wheel:
            for member in wheel.namelist():
                if member.startswith(f"{name}/") and not member.endswith(".so"):
                    same = wheel.read(member) == (PROJECT / sources / member).read_bytes()
                    assert same, f"{member} differs from its wheel: {rebuild}"
