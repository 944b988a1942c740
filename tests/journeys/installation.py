"""Installations from wheels, and commands of their users."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.once import made_once
from tests.waiting import PATIENCE

__all__ = ["User", "has_spice_wheel", "install"]

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
        path: The search path of other programs, such as Java; empty for none.
    """

    environment: Path
    folder: Path
    cache: Path
    path: str = field(default_factory=lambda: os.environ["PATH"])

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

    @contextmanager
    def start(self, command: str, *, log: Path = Path(os.devnull)) -> Iterator[None]:
        """Run a command line with its output in a file until the end of the block, then stop it."""
        with log.open("ab") as output:
            process = subprocess.Popen(
                self._find(shlex.split(command)),
                env=self._environment,
                cwd=self.folder,
                stdout=output,
                stderr=output,
            )
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)

    def show(self, command: str, *, columns: int) -> str:
        """Run a command line in a terminal, and return its output without styles."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with (
            os.fdopen(ours, "rb", buffering=0) as shown,
            subprocess.Popen(
                self._find(shlex.split(command)),
                env={**self._environment, "TERM": "xterm"},
                cwd=self.folder,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
            ) as process,
        ):
            os.close(theirs)
            parts = []
            # Linux reports the end of a terminal as an error.
            with suppress(OSError):
                while part := shown.read(65536):
                    parts.append(part)
        assert process.returncode == 0
        text = b"".join(parts).decode().replace("\r", "")
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)

    def _find(self, command: list[str]) -> list[str | Path]:
        return [self.environment / "bin" / command[0], *command[1:]]

    @property
    def _environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CAPEVAL_", "DJANGO_", "PYTHON"))
        }
        return {
            **kept,
            "PATH": os.pathsep.join(filter(None, (str(self.environment / "bin"), self.path))),
            "CAPEVAL_CACHE": str(self.cache),
            "CAPEVAL_STORE": "off",
            "HOME": str(self.folder),
        }

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._find(command),
            env=self._environment,
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
        found = [f"--find-links={WHEELS / part}" for part in ("own", "data", "dependencies")]
        subprocess.run([*pip, *found, *requirements], check=True)

    folder = made_once(name, create)
    return folder.parent / f"{name}.environment"


def has_spice_wheel() -> bool:
    """Return whether there is a wheel of SPICE's model, which needs jars that Maven downloads."""
    return any((WHEELS / "data").glob("capeval_spice_model-*.whl"))


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
