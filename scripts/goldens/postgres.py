"""Temporary PostgreSQL server."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["missing", "running"]


def _find_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, which Debian omits from PATH."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return installed[-1].parent if installed else None


def missing() -> str:
    """Return the reason why PostgreSQL can't run here, or ""."""
    return "" if _find_programs() else "PostgreSQL is not installed; on Debian: apt-get install postgresql"


@contextmanager
def running() -> Iterator[str]:
    """Run a server on a socket in a temporary folder, and provide its database URL."""
    programs = _find_programs()
    if programs is None:
        raise RuntimeError(missing())
    # PostgreSQL refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    # Not in TMPDIR: the user may have no access to it, and its path may be too long for a socket.
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
