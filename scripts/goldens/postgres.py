"""A PostgreSQL server of our own, for as long as its schema is read."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["missing", "running"]


def _programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, which Debian leaves out of the search path."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return installed[-1].parent if installed else None


def missing() -> str:
    """Return why it can't run here; empty if it can."""
    return "" if _programs() else "PostgreSQL is not installed; on Debian: apt-get install postgresql"


@contextmanager
def running() -> Iterator[str]:
    """Run a server that listens on a socket in a folder of its own; provide the address of a database."""
    programs = _programs()
    if programs is None:
        raise RuntimeError(missing())
    # It refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    # Not in TMPDIR: that user may have no access, and the path may be too long for a socket.
    with tempfile.TemporaryDirectory(prefix="capeval-goldens-", dir="/tmp") as folder:
        if user:
            shutil.chown(folder, user)

        def run(program: str, *options: str) -> None:
            command = [str(programs / program), "-D", f"{folder}/data", *options]
            subprocess.run(command, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL)

        run("initdb", "-U", "capeval", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        listen = f"-k {folder} -c listen_addresses=''"
        run("pg_ctl", "-w", "-t", "600", "-l", f"{folder}/log", "-o", listen, "start")
        try:
            yield f"postgresql://capeval@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-m", "immediate", "stop")
