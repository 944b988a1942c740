"""What docs/server/running.md says of backups: the database first, the folder after it; and back."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.server.processes import Server, postgres_programs

BOARD = "/challenges/small/phases/open/leaderboard?split=val&references=c2"


def _back_up(server: Server, folder: Path) -> None:
    database = server.env.get("CAPEVAL_SERVER_DATABASE")
    if database is None:
        with sqlite3.connect(server.folder / "data" / "capeval.sqlite3") as connection:
            connection.execute("VACUUM INTO ?", (str(folder / "capeval.sqlite3"),))
        connection.close()
    else:
        programs = postgres_programs()
        assert programs is not None
        with (folder / "dump.sql").open("wb") as file:
            subprocess.run([programs / "pg_dump", database], stdout=file, check=True)
    shutil.copytree(
        server.folder / "data", folder / "data", ignore=shutil.ignore_patterns("capeval.sqlite3*")
    )


def _restore(folder: Path, server: Server) -> None:
    shutil.copytree(folder / "data", server.folder / "data")
    database = server.env.get("CAPEVAL_SERVER_DATABASE")
    if database is None:
        shutil.copy(folder / "capeval.sqlite3", server.folder / "data" / "capeval.sqlite3")
        return
    programs = postgres_programs()
    assert programs is not None
    with (folder / "dump.sql").open("rb") as file:
        subprocess.run(
            [programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", database],
            stdin=file,
            stdout=subprocess.DEVNULL,
            check=True,
        )


def _new_database(server: Server) -> str | None:
    database = server.env.get("CAPEVAL_SERVER_DATABASE")
    if database is None:
        return None
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE DATABASE restored")
    return f"{database.rpartition('/')[0]}/restored"


def test_what_was_backed_up_comes_back(
    server: Server, token: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    scored = server.submit(token).json()["id"]
    server.run("worker", "--until-empty")
    server.change(token, f"/submissions/{scored}", {"stands": True})
    waiting = server.submit(token).json()["id"]
    before = {path: server.see(token, path) for path in (BOARD, f"/submissions/{scored}")}
    assert before[BOARD]["rows"]
    backup, elsewhere = tmp_path / "backup", tmp_path / "elsewhere"
    backup.mkdir()
    elsewhere.mkdir()
    _back_up(server, backup)

    restored = Server(elsewhere, _new_database(server))
    request.addfinalizer(restored.stop)
    _restore(backup, restored)
    restored.run("migrate")
    restored.start()
    assert {path: restored.see(token, path) for path in before} == before
    # What waited is scored there, from its files.
    restored.run("worker", "--until-empty")
    assert restored.see(token, f"/submissions/{waiting}")["state"] == "scored"
