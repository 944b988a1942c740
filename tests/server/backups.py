"""Backups as docs/server/running.md describes them: the database, the folder, and back."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from pathlib import Path

from tests.server.processes import Server, postgres_programs

__all__ = ["back_up", "restore"]


def back_up(server: Server, folder: Path) -> None:
    """Copy a server's database, and after it the data folder."""
    if server.database is None:
        with sqlite3.connect(server.folder / "data" / "capeval.sqlite3") as connection:
            connection.execute("VACUUM INTO ?", (str(folder / "capeval.sqlite3"),))
        connection.close()
    else:
        programs = postgres_programs()
        assert programs is not None
        with (folder / "dump.sql").open("wb") as file:
            subprocess.run([programs / "pg_dump", server.database], stdout=file, check=True)
    shutil.copytree(
        server.folder / "data", folder / "data", ignore=shutil.ignore_patterns("capeval.sqlite3*")
    )


def restore(folder: Path, server: Server) -> None:
    """Put a backup into a server without a data folder, and with an empty database."""
    shutil.copytree(folder / "data", server.folder / "data")
    if server.database is None:
        shutil.copy(folder / "capeval.sqlite3", server.folder / "data" / "capeval.sqlite3")
        return
    programs = postgres_programs()
    assert programs is not None
    with (folder / "dump.sql").open("rb") as file:
        subprocess.run(
            [programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", server.database],
            stdin=file,
            stdout=subprocess.DEVNULL,
            check=True,
        )
