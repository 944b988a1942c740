"""A small challenge, users and tokens; and, for tests with real processes, whole servers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from capeval_server.examples import write_example

PROJECT = Path(__file__).parents[2]
CAPTIONS = {
    1: "A dog runs on grass.",
    2: "Two cats on a bed.",
    3: "A red bus on a street.",
    4: "A man rides a wave.",
    5: "Food on a white plate.",
    6: "A train at a station.",
}
# Ten users who take part alone, each with a token that it writes.
USERS = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "capeval_server.settings"
django.setup()
from django.contrib.auth.models import User
from capeval_server.accounts.models import Token
from capeval_server.challenges.models import Challenge
from capeval_server.teams.joining import make_team
for number in range(10):
    user = User.objects.create(username=f"user{number}")
    make_team(user, Challenge.objects.get())
    print(Token.issue(user.pk, "token", "submit"))
"""
RESULTS = "captions_val_mine_results.json"


def results(captions: dict[int, str] | None = None) -> bytes:
    """A file of results of the small challenge."""
    entries = (captions or CAPTIONS).items()
    return json.dumps([{"image_id": image, "caption": text} for image, text in entries]).encode()


# What was prepared, by where its database is: in the data folder, or a PostgreSQL server.
_PREPARED: dict[str, Server] = {}
_KEPT = tempfile.TemporaryDirectory(prefix="capeval-prepared-")
_TEMPLATE = "prepared"


def _execute(place: str, *statements: str) -> None:
    with psycopg.connect(f"{place}/postgres", autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


class Server:
    """A server of its own: a data folder, a database, and processes that work on them."""

    def __init__(self, folder: Path, database: str | None, **limits: int) -> None:
        self.folder = folder
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ.get("HOME", "/"),
            "PYTHONPATH": f"{PROJECT / 'src'}",
            "CAPEVAL_SERVER_DATA": str(folder / "data"),
            **{f"CAPEVAL_SERVER_{name.upper()}": str(value) for name, value in limits.items()},
        }
        if database is not None:
            self.env["CAPEVAL_SERVER_DATABASE"] = database
        self.processes: list[subprocess.Popen[bytes]] = []
        self.address = ""
        self.tokens: list[str] = []

    def run(self, *arguments: str) -> str:
        """The output of a command that succeeds."""
        done = subprocess.run(
            self.command(*arguments), env=self.env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @staticmethod
    def command(*arguments: str) -> list[str]:
        return [sys.executable, "-m", "capeval_server", *arguments]

    def spawn(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A command that goes on."""
        log = (self.folder / "log").open("ab")
        process = subprocess.Popen(self.command(*arguments), env=self.env, stdout=log, stderr=log)
        log.close()
        self.processes.append(process)
        return process

    def prepare(self) -> None:
        """Makes the small challenge, and users with tokens: once, and from then on a copy of that."""
        database = self.env.get("CAPEVAL_SERVER_DATABASE")
        place, _, name = (database or "").rpartition("/")
        known = _PREPARED.get(place)
        if known is not None:
            write_example("small", self.folder / "small")
            shutil.copytree(known.folder / "data", self.folder / "data", dirs_exist_ok=True)
            if database is not None:
                _execute(place, f'DROP DATABASE "{name}"', f'CREATE DATABASE "{name}" TEMPLATE {_TEMPLATE}')
            self.tokens += known.tokens
            return
        self.run("migrate")
        self.run("example", "small", str(self.folder / "small"))
        self.run("import", str(self.folder / "small" / "challenge.toml"))
        made = subprocess.run(
            [sys.executable, "-c", USERS], env=self.env, capture_output=True, text=True, check=True
        )
        self.tokens += made.stdout.split()
        kept = Server(Path(_KEPT.name) / f"{len(_PREPARED)}", None)
        shutil.copytree(self.folder / "data", kept.folder / "data")
        kept.tokens += self.tokens
        if database is not None:
            _execute(place, f'CREATE DATABASE {_TEMPLATE} TEMPLATE "{name}"')
        _PREPARED[place] = kept

    def start(self) -> None:
        """Starts the server, and waits until it answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}/api"
        self.server = self.spawn("start", "--port", str(port), "--threads", "16")
        for _ in range(200):
            try:
                httpx.get(f"{self.address}/challenges")
            except httpx.TransportError:
                # Should another process have taken the port meanwhile.
                assert self.server.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.05)
            else:
                return
        raise AssertionError((self.folder / "log").read_text())

    def kill_server(self) -> None:
        self.server.kill()
        self.server.wait()

    def submit(self, token: str, name: str = RESULTS, **headers: str) -> httpx.Response:
        return httpx.post(
            f"{self.address}/challenges/small/phases/open/submissions",
            files={"file": (name, results())},
            data={"method": "m"},
            headers={"Authorization": f"Bearer {token}", **headers},
            timeout=30,
        )

    def see(self, token: str, path: str) -> dict[str, object]:
        answer = httpx.get(f"{self.address}{path}", headers={"Authorization": f"Bearer {token}"}, timeout=30)
        assert answer.status_code == 200, answer.text
        found: dict[str, object] = answer.json()
        return found

    def change(self, token: str, path: str, content: dict[str, object]) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        answer = httpx.patch(f"{self.address}{path}", json=content, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def postgres_programs() -> Path | None:
    """Where PostgreSQL's programs are, which Debian leaves out of the search path."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return installed[-1].parent if installed else None


class Postgres:
    """A PostgreSQL server of the tests' own, which can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        programs = postgres_programs()
        if programs is None:
            pytest.skip("LEFT OUT: PostgreSQL is not installed here (Debian: apt-get install postgresql)")
        self.programs, self.folder = programs, folder
        # PostgreSQL refuses to run as root.
        self.user = "postgres" if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(folder, self.user)
        initialise = ["-D", str(folder / "data"), "-U", "capeval", "-A", "trust", "-N", "-E", "UTF8"]
        subprocess.run(
            [programs / "initdb", *initialise], user=self.user, cwd=folder, check=True, capture_output=True
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"postgresql://capeval@127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        options = ["-D", str(self.folder / "data"), "-p", str(self.port), "-k", str(self.folder)]
        self.process = subprocess.Popen(
            [self.programs / "postgres", *options, "-c", "listen_addresses=127.0.0.1"],
            user=self.user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _wait_for_postgres(f"{self.address}/postgres")

    def stop(self) -> None:
        """Ends it: its clients' connections break."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def new_database(self) -> str:
        """The address of a new database."""
        name = f"test_{time.monotonic_ns()}"
        _execute(self.address, f'CREATE DATABASE "{name}"')
        return f"{self.address}/{name}"


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A PostgreSQL server that runs, in a folder that its user can reach, as those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="capeval-postgres-") as folder:
        made = Postgres(Path(folder))
        made.start()
        try:
            yield made
        finally:
            made.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for all tests."""
    with running_postgres() as made:
        yield made


def _wait_for_postgres(address: str) -> None:
    for _ in range(600):
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"PostgreSQL does not answer at {address}")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str | None:
    """A new database of each kind: none stands for SQLite in the data folder."""
    if request.param == "sqlite":
        return None
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.new_database()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database: str | None) -> Iterator[Server]:
    """A server that runs, with the small challenge and short leases."""
    made = Server(tmp_path_factory.mktemp("server"), database, lease_seconds=2, bootstrap_samples=100)
    made.prepare()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def token(server: Server) -> str:
    """A token of a user who has not submitted yet."""
    return server.tokens.pop()
