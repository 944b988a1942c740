"""Servers, workers and databases of the tests' own, as real processes."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import Any, BinaryIO, LiteralString

import httpx
import psycopg
import pytest

from capeval_server.examples import write_example
from tests.once import made_once
from tests.ports import reserved_port
from tests.server.clock import stopped_clock
from tests.server.forked_commands import ForkedCommands
from tests.server.kit import METRICS, RESULTS, results
from tests.waiting import PATIENCE, wait_until

__all__ = [
    "DJANGO",
    "PROJECT",
    "HeldFile",
    "Postgres",
    "Server",
    "postgres_programs",
    "running_postgres",
]

PROJECT = Path(__file__).parents[2]
NETWORK = PROJECT / "tests" / "network"
DJANGO = """
import os, sys, django
os.environ["DJANGO_SETTINGS_MODULE"] = "capeval_server.config.settings"
django.setup()
"""
# Create ten users in teams of one and print a token of each.
USERS = """
from django.contrib.auth.models import User
from capeval_server.accounts.models import Token
from capeval_server.challenges.models import Challenge
from capeval_server.teams.services.enrollment import make_team
for number in range(15):
    user = User.objects.create(username=f"user{number}")
    make_team(user, Challenge.objects.get())
    print(Token.issue(user.pk, "token", "submit"))
"""
LIMIT = """
from capeval_server.challenges.models import Phase
Phase.objects.update(quota_total=int(sys.argv[1]))
"""

# The databases of each PostgreSQL server here that are as `Server.migrate` and `Server.prepare` leave one.
_MIGRATED, _PREPARED = "migrated", "prepared"
# PostgreSQL need not survive a crash of the machine.
_FAST = ("-c", "fsync=off", "-c", "full_page_writes=off")


def _execute(place: str, *statements: str) -> None:
    with psycopg.connect(f"{place}/postgres", autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


class Server:
    """A complete server: a data folder, a database and processes.

    By default, leases and pauses last longer than any test, so that none expires on a slow machine.
    `end_leases` and `end_pause` end them.
    """

    def __init__(self, folder: Path, database: str | None, **limits: int) -> None:
        self.folder = folder
        # All clients of the tests have the same address.
        defaults = {
            "lease_seconds": 3600,
            "retry_seconds": 3600,
            "bootstrap_samples": 100,
            "anonymous_reads": 0,
        }
        limits = defaults | limits
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ.get("HOME", "/"),
            "OPENBLAS_NUM_THREADS": "1",
            # Python runs `sitecustomize.py` first in each process: none connects to another machine.
            "PYTHONPATH": os.pathsep.join(map(str, (NETWORK, PROJECT / "src", PROJECT / "server" / "src"))),
            "CAPEVAL_SERVER_DATA": str(folder / "data"),
            **_variables(limits),
        }
        self.database = database
        if database is not None:
            self.env["CAPEVAL_SERVER_DATABASE"] = database
        self.processes: list[subprocess.Popen[bytes]] = []
        self.tokens: list[str] = []
        self._reserved: list[socket.socket] = []
        self._forked: ForkedCommands | None = None
        # Requests know nothing of each other: no cookies are kept, and no connections, which are dead after a
        # server was killed.
        self.client = httpx.Client(
            timeout=PATIENCE,
            limits=httpx.Limits(max_keepalive_connections=0),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    def stop_clock(self) -> None:
        """Stop the clock of all later processes, so that limits per minute do not expire."""
        folder = self.folder / "clock"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(stopped_clock())
        self.env["PYTHONPATH"] = f"{folder}{os.pathsep}{self.env['PYTHONPATH']}"

    # Commands

    @staticmethod
    def command(*arguments: str) -> list[str]:
        return [sys.executable, "-m", "capeval_server", *arguments]

    def run(self, *arguments: str, given: str | None = None) -> str:
        """The output of a command that succeeds."""
        done = self.done(*arguments, given=given)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def done(self, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """A command that has ended."""
        return self._commands().run(self.command(*arguments)[1:], given)

    def _commands(self) -> ForkedCommands:
        if self._forked is None or not self._forked.are_of(self.env):
            self._forked = ForkedCommands(self.env)
        return self._forked

    def python(self, program: str, *arguments: str) -> str:
        """The output of a program that uses the server's models."""
        done = self._commands().run(["-c", DJANGO + program, *arguments], None)
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-8000:]
        return done.stdout

    def spawn(self, *arguments: str, **limits: int) -> subprocess.Popen[bytes]:
        """Start a command in the background, with limits of its own."""
        return self.spawn_command(self.command(*arguments), self.env | _variables(limits))

    def spawn_command(self, command: list[str], env: dict[str, str]) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            # A group of its own, so that a server is killed with the processes that answer for it.
            process = subprocess.Popen(command, env=env, stdout=log, stderr=log, process_group=0)
        self.processes.append(process)
        return process

    # Data

    def migrate(self) -> None:
        """Create an empty migrated database by copying one that is built once per test run."""
        if self.database is None:
            self._copy(made_once("sqlite-migrated", _migrate_sqlite))
        else:
            self._copy(made_once("postgresql", _make_cluster), _MIGRATED)

    def prepare(self) -> None:
        """Create the small challenge and users with tokens by copying data built once per test run."""
        if "CAPEVAL_SERVER_FILES" in self.env:
            # A copy of the folder would be without its files.
            self.run("migrate")
            self.fill()
            return
        if self.database is None:
            prepared = made_once("sqlite", _prepare_sqlite)
            self._copy(prepared)
        else:
            prepared = made_once("postgresql", _make_cluster)
            self._copy(prepared, _PREPARED)
        write_example("small", self.folder / "small")
        self.tokens += (prepared / "tokens").read_text().split()

    def _copy(self, made: Path, template: str = "") -> None:
        if self.database is not None:
            place, _, name = self.database.rpartition("/")
            _execute(place, f'DROP DATABASE "{name}"', f'CREATE DATABASE "{name}" TEMPLATE {template}')
        shutil.copytree(made / "data", self.folder / "data", dirs_exist_ok=True)

    def fill(self) -> None:
        """Fill a migrated database with the data that `prepare` copies; write the tokens to the folder."""
        self.run("example", "small", str(self.folder / "small"))
        self.run("import", str(self.folder / "small" / "challenge.toml"))
        self.tokens += self.python(USERS).split()
        (self.folder / "tokens").write_text("\n".join(self.tokens))

    def limit_in_all(self, most: int) -> None:
        """Limit the total submissions per team: unlike a daily quota, this does not reset at midnight."""
        self.python(LIMIT, str(most))

    def end_leases(self) -> int:
        """Expire the leases of scoring jobs as if time had passed; return their number."""
        return self._make_available("lease IS NOT NULL")

    def end_pause(self) -> None:
        """Wait for a scoring job to pause after a failure, and end the pause as if time had passed."""
        wait_until(
            lambda: self._make_available("lease IS NULL AND available_from IS NOT NULL"), lambda: self.log
        )

    def _make_available(self, which: LiteralString) -> int:
        change: LiteralString = (
            f"UPDATE jobs_job SET available_from = NULL WHERE kind = 'scoring' AND {which}"
        )
        if self.database is not None:
            with psycopg.connect(self.database, autocommit=True) as connected:
                return connected.execute(change).rowcount
        path = self.folder / "data" / "capeval.sqlite3"
        with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection, connection:
            return connection.execute(change).rowcount

    def stored(self) -> set[Path]:
        """The files of references and submissions."""
        return set((self.folder / "data" / "files").rglob("*.json"))

    @property
    def log(self) -> str:
        """Output of the server and its workers."""
        return (self.folder / "log").read_text()

    def wait_for_log(self, pattern: str, *, times: int = 1) -> str:
        """Wait until a pattern is in the log `times` times, and return its last match."""
        found = wait_until(
            lambda: found if len(found := re.findall(pattern, self.log)) >= times else None,
            lambda: f"{pattern!r} is not in the log {times} times:\n{self.log}",
        )
        return str(found[-1])

    # Requests

    def start(self, processes: int | None = None) -> None:
        """Start the server, or an additional one, and wait until it responds."""
        reserved, self.port = reserved_port()
        self._reserved.append(reserved)
        self.root = f"http://127.0.0.1:{self.port}"
        self.address = f"{self.root}/api"
        self.start_again(*(() if processes is None else ("--processes", str(processes))))

    def start_again(self, *options: str) -> None:
        """Start the server again at its previous address, and wait until it responds."""
        self.server = self.spawn("start", "--port", str(self.port), "--threads", "16", *options)
        wait_until(self._answers, lambda: self.log)

    def _answers(self) -> bool:
        assert self.server.poll() is None, self.log
        try:
            self.client.get(f"{self.address}/challenges")
        except httpx.TransportError:
            return False
        return True

    def kill_server(self) -> None:
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait()

    def submit(self, token: str, name: str = RESULTS, **headers: str) -> httpx.Response:
        return self.client.post(
            f"{self.address}/challenges/small/phases/open/submissions",
            files={"file": (name, results())},
            data={"method": "m"},
            headers={"Authorization": f"Bearer {token}", **headers},
        )

    def submit_held(self, token: str) -> tuple[str, HeldFile]:
        """A submission that no worker gets further with than to its file, until that is let go."""
        before = self.stored()
        submission = str(self.submit(token).json()["id"])
        (path,) = self.stored() - before
        return submission, HeldFile(path, self.folder)

    def see(self, token: str, path: str) -> dict[str, Any]:
        answer = self.client.get(f"{self.address}{path}", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def change(self, token: str, path: str, content: dict[str, object]) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        answer = self.client.patch(f"{self.address}{path}", json=content, headers=headers)
        assert answer.status_code == 200, answer.text

    def wait_for_state(self, token: str, submission: str, *states: str) -> dict[str, Any]:
        """A submission, once it is in one of some states."""
        return wait_until(
            lambda: (
                found if (found := self.see(token, f"/submissions/{submission}"))["state"] in states else {}
            ),
            lambda: f"{submission} is not {' or '.join(states)}:\n{self.log}",
        )

    def scored_by(self, token: str, submission: str) -> set[tuple[str, int]]:
        """The versions of references that a submission is scored by: each once, with each metric."""
        found = self.see(token, f"/submissions/{submission}")
        assert found["state"] == "scored", (found, self.log)
        assert all(result["scores"] and not result["failure"] for result in found["results"])
        scored = sorted((r["references"], r["version"], r["metric"]) for r in found["results"])
        versions = {(references, version) for references, version, _ in scored}
        assert scored == sorted((*version, metric) for version in versions for metric in METRICS)
        return versions

    def stop(self) -> None:
        for process in self.processes:
            if process.returncode is None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.client.close()
        for reserved in self._reserved:
            reserved.close()


def _variables(limits: dict[str, int]) -> dict[str, str]:
    return {f"CAPEVAL_SERVER_{name.upper()}": str(value) for name, value in limits.items()}


class HeldFile:
    """A stored file, replaced by a pipe: readers block until it is released."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.kept = path, folder / f"{path.name}.kept"
        path.rename(self.kept)
        os.mkfifo(path)
        self._pipe: BinaryIO | None = None

    def put_back(self) -> None:
        """Restore the file for later readers."""
        self.kept.replace(self.path)

    def wait_until_opened(self) -> BinaryIO:
        """Wait until a process opens the file; it then blocks until `let_go`."""
        if self._pipe is None:
            self._pipe = wait_until(self._opened, lambda: f"nobody opens {self.path}")
        return self._pipe

    def let_go(self) -> None:
        """Restore the file and send its content to the waiting reader, or to the next one."""
        with self.wait_until_opened() as pipe:
            self.put_back()
            pipe.write(self.path.read_bytes())

    def _opened(self) -> BinaryIO | None:
        try:
            return os.fdopen(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK), "wb")
        except OSError as error:
            # No process reads yet.
            if error.errno != errno.ENXIO:
                raise
            return None


def postgres_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, which are not in Debian's search path."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return installed[-1].parent if installed else None


def _migrate_sqlite(folder: Path) -> None:
    """Create the data that `Server.migrate` copies, with the database in the data folder."""
    Server(folder, None).run("migrate")


def _prepare_sqlite(folder: Path) -> None:
    """Create the data that `Server.prepare` copies, with the database in the data folder."""
    made = Server(folder, None)
    made.migrate()
    made.fill()


def _make_cluster(folder: Path) -> None:
    """Create the data that both methods copy, and a PostgreSQL cluster with their databases."""
    with _postgres("127.0.0.1", None) as running:
        database = running.new_database()
        name = database.rpartition("/")[2]
        made = Server(folder, database)
        made.run("migrate")
        _execute(running.address, f'CREATE DATABASE {_MIGRATED} TEMPLATE "{name}"')
        made.fill()
        _execute(running.address, f'ALTER DATABASE "{name}" RENAME TO {_PREPARED}')
        # Its files are whole when it has stopped.
        running.stop()
        _copy(running.folder / "data", folder / "cluster")


def _copy(folder: Path, to: Path) -> None:
    """Copy a folder and preserve the owners of its files."""
    subprocess.run(["cp", "-a", folder, to], check=True)


class Postgres:
    """A PostgreSQL server of the tests' own, which can be stopped and started again."""

    def __init__(self, folder: Path, host: str, cluster: Path | None) -> None:
        programs = postgres_programs()
        if programs is None:
            pytest.skip("LEFT OUT: PostgreSQL is not installed here (Debian: apt-get install postgresql)")
        self.programs, self.folder = programs, folder
        # PostgreSQL refuses to run as root.
        self.user = "postgres" if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(folder, self.user)
        if cluster is None:
            self._initialize()
        else:
            _copy(cluster, folder / "data")
        self.host = host
        self.reserved, self.port = reserved_port(host)
        self.address = f"postgresql://capeval@{host}:{self.port}"

    def _initialize(self) -> None:
        options = ["-D", str(self.folder / "data"), "-U", "capeval", "-A", "trust", "-N", "-E", "UTF8"]
        subprocess.run(
            [self.programs / "initdb", *options],
            user=self.user,
            cwd=self.folder,
            check=True,
            capture_output=True,
        )
        with (self.folder / "data" / "pg_hba.conf").open("a") as access:
            access.write("host all all 198.18.0.0/15 trust\n")

    def start(self) -> None:
        """Start the server and wait until it responds."""
        options = ["-D", str(self.folder / "data"), "-p", str(self.port), "-k", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", *options, *_FAST, "-c", f"listen_addresses={self.host}"],
                user=self.user,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        wait_until(self._answers, (self.folder / "log").read_text)

    def _answers(self) -> bool:
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            psycopg.connect(f"{self.address}/postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """Stop the server; the connections of its clients break."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def new_database(self) -> str:
        """The address of a new database."""
        name = f"test_{time.monotonic_ns()}"
        _execute(self.address, f'CREATE DATABASE "{name}"')
        return f"{self.address}/{name}"


def running_postgres(host: str = "127.0.0.1") -> AbstractContextManager[Postgres]:
    """A PostgreSQL server that runs, with the database that `Server.prepare` copies."""
    return _postgres(host, made_once("postgresql", _make_cluster) / "cluster")


@contextmanager
def _postgres(host: str, cluster: Path | None) -> Iterator[Postgres]:
    """Run a PostgreSQL server in a folder that its user can access (unlike pytest's folders)."""
    with tempfile.TemporaryDirectory(prefix="capeval-postgres-") as folder:
        made = Postgres(Path(folder), host, cluster)
        made.start()
        try:
            yield made
        finally:
            made.stop()
            made.reserved.close()
