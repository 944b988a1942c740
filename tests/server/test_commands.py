"""The commands, by running them."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import click
import pytest

from tests.server.processes import PROJECT, Server


def refused(server: Server, *arguments: str) -> str:
    done = server.done(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def _declared() -> str:
    project = tomllib.loads((PROJECT / "server" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared: str = project["entry-points"]["capeval.commands"]["server"]
    return declared


@pytest.mark.parametrize("command", ["start", "worker"])
def test_a_database_of_another_version_is_refused(fresh: Server, command: str) -> None:
    assert "run `capeval server migrate` first" in refused(fresh, command)
    assert fresh.run("migrate") == "The database was created\n"
    assert fresh.run("migrate") == "The database is up to date\n"


def test_the_declared_commands_are_there() -> None:
    module, name = _declared().split(":")
    assert isinstance(getattr(import_module(module), name), click.Group)


def _capeval(server: Server, name: str, entry: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `capeval` with an installed package that adds an entry point."""
    package = server.folder / "installed" / "added-1.dist-info"
    package.mkdir(parents=True, exist_ok=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: added\nVersion: 1\n")
    (package / "entry_points.txt").write_text(f"[capeval.commands]\n{name} = {entry}\n")
    server.env["PYTHONPATH"] = f"{package.parent}:{PROJECT / 'src'}:{PROJECT / 'server' / 'src'}"
    command = [sys.executable, "-m", "capeval", *arguments]
    return subprocess.run(command, env=server.env, capture_output=True, text=True, check=False)


def test_capeval_has_the_commands_of_installed_packages(fresh: Server) -> None:
    done = _capeval(fresh, "server", _declared(), "--help")
    assert done.returncode == 0
    assert "server" in done.stdout
    done = _capeval(fresh, "server", _declared(), "server", "--help")
    assert done.returncode == 0
    assert "worker" in done.stdout
    done = _capeval(fresh, "server", _declared(), "server", "example", "other", str(fresh.folder))
    assert done.returncode == 2
    assert done.stderr.startswith("capeval: error: 'name' must be one of small, domains, coco-2015, nocaps")


def test_a_command_whose_packages_are_missing_says_so(fresh: Server) -> None:
    done = _capeval(fresh, "another", "not_installed:app", "another")
    assert done.returncode == 2
    expected = (
        "capeval: error: 'another' needs the missing module not_installed; reinstall the package that"
        " provides this command (added)\n"
    )
    assert done.stderr == expected
    done = _capeval(fresh, "another", "not_installed:app", "--help")
    assert done.returncode == 0
    assert "Not available: 'another' needs the missing module not_installed" in " ".join(done.stdout.split())
    assert "score" in done.stdout


WITHOUT_FORK = """
import os, sys
del os.fork
from capeval.toolkit.command_line import run
from capeval_server.commands import app
sys.argv[1:] = ["migrate"]
run(app, "capeval server")
"""


def test_windows_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FORK], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "capeval: error: capeval server does not run on Windows, because it relies on POSIX file modes,"
        " memory limits and processes: run it in a container or in WSL\n"
    )
    assert not list(tmp_path.iterdir())


def test_users_and_tokens(fresh: Server) -> None:
    fresh.migrate()
    fresh.run("user", "ann")
    assert "already exists" in refused(fresh, "user", "ann")
    assert "'name'" in refused(fresh, "user", "a b")
    text = fresh.run("token", "ann", "laptop").strip()
    assert text.startswith("capeval_")
    assert "ann already has a token named 'laptop'" in refused(fresh, "token", "ann", "laptop")
    assert "must be the name of a user (got 'bob')" in refused(fresh, "token", "bob", "laptop")
    assert fresh.run("token", "ann", "laptop", "--revoke") == "laptop: revoked\n"
    assert "must be the name of a valid token of ann" in refused(fresh, "token", "ann", "laptop", "--revoke")
    assert "must be the id of a submission" in refused(fresh, "rerun", "x")
    assert text.encode() not in (fresh.folder / "data" / "capeval.sqlite3").read_bytes()
    assert (fresh.folder / "data" / "secret-key").stat().st_mode & 0o777 == 0o600


def test_what_commands_write_belongs_to_their_user(fresh: Server) -> None:
    fresh.env["CAPEVAL_SERVER_DATA"] = str(fresh.folder / "data")
    (fresh.folder / "data").mkdir(mode=0o755)
    fresh.run("migrate")
    fresh.run("example", "small", str(fresh.folder / "small"))
    fresh.run("import", str(fresh.folder / "small" / "challenge.toml"))
    fresh.run("export", "small", str(fresh.folder / "all.zip"))
    written = [
        fresh.folder / "all.zip",
        *(fresh.folder / "data").rglob("*"),
        *(fresh.folder / "small").iterdir(),
    ]
    assert {path.name for path in written} >= {"capeval.sqlite3", "secret-key", "references", "human.json"}
    assert [path for path in (fresh.folder / "data", *written) if path.stat().st_mode & 0o077] == []


def test_the_secret_key_is_rotated(fresh: Server) -> None:
    fresh.migrate()
    signing = "from django.core import signing\n"
    first = fresh.python(f"{signing}print(signing.dumps('a'))").strip()
    keys = fresh.folder / "data"
    before = (keys / "secret-key").read_text()
    read = f"{signing}print(signing.loads(sys.argv[1]))"
    assert "Created a new key" in fresh.run("rotate-key")
    assert (keys / "secret-key").read_text() != before == (keys / "secret-key.earlier").read_text()
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in keys.glob("secret-key*"))
    assert fresh.python(read, first) == "a\n"
    second = fresh.python(f"{signing}print(signing.dumps('a'))").strip()
    assert "Deleted the previous key" in fresh.run("rotate-key", "--forget")
    assert "There is no previous key" in fresh.run("rotate-key", "--forget")
    assert fresh.python(read, second) == "a\n"
    refuse = f"{signing}try: signing.loads(sys.argv[1])\nexcept signing.BadSignature: print('refused')"
    assert fresh.python(refuse, first) == "refused\n"
    fresh.env["CAPEVAL_SERVER_SECRET_KEY"] = "x" * 50
    assert "the secret key is set by the environment" in refused(fresh, "rotate-key")
    fresh.env["CAPEVAL_SERVER_EARLIER_SECRET_KEY"] = (keys / "secret-key").read_text()
    assert fresh.python(read, second) == "a\n"


HISTORY = """
from capeval_server.audit.models import Action
for action in Action.objects.order_by("pk"):
    print(action)
"""


def test_commands_are_in_the_history(fresh: Server) -> None:
    fresh.prepare()
    fresh.run("import", str(fresh.folder / "small" / "challenge.toml"))
    path = fresh.folder / "small" / "challenge.toml"
    path.write_text(path.read_text().replace("quota_total = 20", "quota_total = 21"))
    fresh.run("import", str(path))
    fresh.run("organizer", "small", "user1")
    assert "is already an organizer" in refused(fresh, "organizer", "small", "user1")
    error = refused(fresh, "organizer", "small", "user1", "--remove")
    assert "'small' would have no organizer: add another organizer first" in error
    fresh.run("organizer", "small", "user2")
    fresh.run("organizer", "small", "user1", "--remove")
    assert "is not an organizer of 'small'" in refused(fresh, "organizer", "small", "user1", "--remove")
    assert "must be the name of a user (got 'nobody')" in refused(fresh, "organizer", "small", "nobody")
    # The same files again changed nothing.
    assert fresh.python(HISTORY).splitlines() == [
        f"the command line {what}"
        for what in (
            "made the challenge from files",
            "changed the challenge from files: phases.open.quota_total",
            "made user1 an organizer",
            "made user2 an organizer",
            "removed user1 from the organizers",
        )
    ]


def test_all_wrong_settings_are_named(fresh: Server) -> None:
    wrong = {"HTTPS": "yes", "LEASE_SECONDS": "0", "DATABASE": "mysql://u:secret@h/d"}
    fresh.env |= {f"CAPEVAL_SERVER_{name}": value for name, value in wrong.items()}
    error = refused(fresh, "check")
    assert "CAPEVAL_SERVER_HTTPS must be 0 or 1 (got 'yes')" in error
    assert "CAPEVAL_SERVER_LEASE_SECONDS must be a positive integer (got '0')" in error
    assert "CAPEVAL_SERVER_DATABASE must be postgresql://USER:PASSWORD@HOST:PORT/NAME" in error
    assert "secret" not in error


@pytest.mark.parametrize(
    ("https", "statuses"), [("1", {"https": 200, "http": 301, None: 301}), ("0", {"https": 200})]
)
def test_behind_a_proxy(fresh: Server, https: str, statuses: dict[str | None, int]) -> None:
    fresh.env["CAPEVAL_SERVER_HTTPS"] = https
    fresh.migrate()
    fresh.start()
    for proxy, status in statuses.items():
        headers = {"X-Forwarded-Proto": proxy} if proxy else {}
        answer = fresh.client.get(f"{fresh.address}/challenges", headers=headers)
        assert answer.status_code == status
        assert ("Strict-Transport-Security" in answer.headers) == (https == "1" and status == 200)
