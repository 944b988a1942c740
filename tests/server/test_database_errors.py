"""One-line errors of commands if the database lacks tables, has older ones, or is unreachable."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.every_command import COMMANDS
from tests.server.processes import Postgres, Server
from tests.waiting import PATIENCE

NO_TABLES = "the database has no tables: run `capeval server migrate` first"
OLD = "the database is not up to date: run `capeval server migrate` first"
# Commands without use for the tables, or that make them; `check` reports them as a finding.
OTHERS = {"migrate", "demo", "check", "rotate-key", "example", "annotate fetch", "annotate quiz"}
# Runs commands in one process, since starting Django takes longest; prints the error of each.
IN_ONE = """
import json, sys, traceback
from capeval.errors import CapevalError
from capeval_server.commands import app
found = {}
for command in json.load(sys.stdin):
    try:
        app.main(command, standalone_mode=False)
        found[" ".join(command)] = "done"
    except CapevalError as error:
        found[" ".join(command)] = str(error)
    except BaseException:
        found[" ".join(command)] = traceback.format_exc()
print(json.dumps(found))
"""


def _commands(folder: Path) -> list[list[str]]:
    """The server's commands that need tables, with plausible arguments."""
    (folder / "file").write_text("a")
    found = []
    for path, command in COMMANDS.items():
        name = " ".join(path[1:])
        if path[0] != "server" or name in OTHERS or name in ("start", "worker"):
            continue
        words = []
        for parameter in command.params:
            if not (parameter.required or parameter.param_type_name == "argument"):
                continue
            kind = parameter.type
            value = (
                str(folder / "file") if kind.name == "path" else next(iter(getattr(kind, "choices", ["3"])))
            )
            words += [value] if parameter.param_type_name == "argument" else [parameter.opts[0], value]
        found.append([*path[1:], *words])
    assert len(found) > 35
    return found


def _errors(server: Server, commands: list[list[str]]) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", IN_ONE],
        env=server.env,
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_commands_without_tables_say_what_to_run(fresh: Server, tmp_path: Path) -> None:
    commands = _commands(tmp_path)
    names = [" ".join(command) for command in commands]
    assert _errors(fresh, commands) == dict.fromkeys(names, NO_TABLES)
    for command in (["token", "ann", "laptop"], ["worker", "--until-empty"]):
        done = fresh.done(*command)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"capeval: error: {NO_TABLES}\n")
    fresh.run("migrate")
    assert "must be the name of a user (got 'ann')" in fresh.done("token", "ann", "laptop").stderr


def test_commands_with_older_tables_say_what_to_run(fresh: Server) -> None:
    fresh.migrate()
    fresh.python(
        "from django.core.management import call_command; call_command('migrate', 'notices', 'zero')"
    )
    done = fresh.done("token", "ann", "laptop")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"capeval: error: {OLD}\n"


def test_commands_that_need_no_tables_run_without_them(fresh: Server) -> None:
    assert '"key": "quiz-1"' in fresh.run("annotate", "quiz")
    assert "Created a new key" in fresh.run("rotate-key")


@pytest.mark.parametrize(
    ("place", "cause", "fix"),
    [
        ("postgresql://ann:{password}@nowhere.invalid/captions", "resolve host", "check the host in"),
        ("postgresql://ann:{password}@127.0.0.1:1/captions", "refused", "check that PostgreSQL runs at"),
        (
            "postgresql://ann:{password}@127.0.0.1:{port}/captions",
            'role "ann" does not exist',
            "check the user in",
        ),
        (
            "postgresql://locked:{password}@127.0.0.1:{port}/postgres",
            "password authentication failed",
            "check the user and password in",
        ),
        (
            "postgresql://capeval:{password}@127.0.0.1:{port}/none",
            'database "none" does not exist',
            "check the name in",
        ),
        (
            "postgresql://capeval:{password}@127.0.0.1:{port}/postgres?sslmode=require",
            "SSL was required",
            "check sslmode and the certificates in",
        ),
    ],
    ids=["host", "port", "role", "password", "database", "sslmode"],
)
def test_the_cause_is_named_and_no_password(
    fresh: Server, postgres: Postgres, place: str, cause: str, fix: str
) -> None:
    _lock(postgres)
    password = "wrong-0123"
    fresh.env["CAPEVAL_SERVER_DATABASE"] = place.format(password=password, port=postgres.port)
    done = fresh.done("token", "ann", "laptop")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("capeval: error: the database can't be used (")
    assert cause in done.stderr
    assert f": {fix} " in done.stderr
    assert password not in done.stderr


def test_every_command_names_the_cause_and_no_password(fresh: Server, postgres: Postgres) -> None:
    _lock(postgres)
    password, cause = "wrong-0123", "password authentication failed"
    fresh.env["CAPEVAL_SERVER_DATABASE"] = (
        f"postgresql://locked:{password}@127.0.0.1:{postgres.port}/postgres"
    )
    done = fresh.done("migrate")
    assert done.returncode == 2
    assert cause in done.stderr
    assert ": check the user and password in " in done.stderr
    assert password not in done.stderr
    done = fresh.done("check", "--before-start")
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("problem  database:")]
    assert cause in line
    assert ": check the user and password in " in line
    assert password not in done.stdout + done.stderr
    # The server waits for its database, and reports the cause.
    fresh.start(processes=1)
    fresh.wait_for_log("capeval: warning: the database can't be used .*; waiting for it")
    assert cause in fresh.log
    assert password not in fresh.log


def test_a_file_that_is_no_database_is_named(fresh: Server) -> None:
    data = fresh.folder / "data"
    data.mkdir(mode=0o700)
    fresh.run("rotate-key")
    (data / "capeval.sqlite3").write_bytes(b"captions, not a database" * 100)
    done = fresh.done("migrate")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "capeval: error: the database can't be used (file is not a database)\n"


def _lock(postgres: Postgres) -> None:
    """Have PostgreSQL ask the role `locked` for a password."""
    access = postgres.folder / "data" / "pg_hba.conf"
    rule = "host all locked all scram-sha-256\n"
    if access.read_text().startswith(rule):
        return
    access.write_text(rule + access.read_text())
    with psycopg.connect(f"{postgres.address}/postgres", autocommit=True) as connection:
        connection.execute("CREATE ROLE locked LOGIN PASSWORD 'right-0123'")
        connection.execute("SELECT pg_reload_conf()")
