"""Backup and restore as in docs/server/running.md: the database first, then the folder."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.server.backups import back_up, restore
from tests.server.processes import Server

BOARD = "/challenges/small/phases/open/leaderboard?split=val&references=c2"


def _new_database(server: Server) -> str | None:
    if server.database is None:
        return None
    with psycopg.connect(server.database, autocommit=True) as connection:
        connection.execute("CREATE DATABASE restored")
    return f"{server.database.rpartition('/')[0]}/restored"


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
    back_up(server, backup)

    restored = Server(elsewhere, _new_database(server))
    request.addfinalizer(restored.stop)
    restore(backup, restored)
    restored.run("migrate")
    restored.start()
    assert {path: restored.see(token, path) for path in before} == before
    # Queued submissions are scored there, from their files.
    restored.run("worker", "--until-empty")
    assert restored.see(token, f"/submissions/{waiting}")["state"] == "scored"
