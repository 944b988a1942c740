"""Tests of the migrations: frozen, complete, and refused on databases of development versions."""

from __future__ import annotations

from hashlib import sha256
from io import StringIO

import pytest
from django.core.management import call_command
from pytest_django import Settings

from tests.server.processes import PROJECT, Server

# Databases with these migrations exist. A change of a model needs one more migration.
DIGESTS = {
    "accounts": "5e992f44e0f2e4a7010ff6dee87dc89113e1fc328febfea443dab20d24e09df5",
    "annotation": "f056914090c80ab06f3b373cab5c5149e4f33908a6f2bdecfa6d60fc28e53388",
    "audit": "fa93257e390b54807b1c9c61605c9697c711f8d2affbfc88ae38fd1223149db1",
    "challenges": "e636e597ce936f38ccbc89a217903a8f18bce93e54d152c63f85cb53b848f456",
    "jobs": "feb891d278e098a4f8cec00d8eba49ff2e0d69dc48d040bf36d91971f888d72a",
    "notifications": "2230da3b678131b724dd794289e08dffdf6afb2eab571e8b774d0d969f0dc5af",
    "submissions": "89a79b799e54a97164b88dee47f3e3ef0f2c9f1e51356591155a58698d74fc22",
    "teams": "3f27b39ca4cd931460d48973f85a9272f163a1e43439ec43e263bd9b2a27f1bb",
}
FORGET = """
from django.db.migrations.recorder import MigrationRecorder
app, names = sys.argv[1], sys.argv[2:]
assert MigrationRecorder.Migration.objects.filter(app=app, name__in=names).delete()[0] == len(names)
"""
TOO_OLD = "can't be upgraded; create a new database"


@pytest.mark.parametrize("app", DIGESTS)
def test_first_migrations_stay_as_they_are(app: str) -> None:
    path = PROJECT / "server" / "src" / "capeval_server" / app / "migrations" / "0001_initial.py"
    content = path.read_bytes()
    assert sha256(content).hexdigest() == DIGESTS[app], (
        f"undo the edit of {app}/migrations/{path.name}, and add a migration to {app}"
    )
    # The project's modules can be renamed.
    assert b"capeval" not in content


def test_every_app_has_a_digest() -> None:
    folder = PROJECT / "server" / "src" / "capeval_server"
    assert set(DIGESTS) == {path.parent.name for path in folder.glob("*/migrations")}


@pytest.mark.django_db
def test_no_migration_is_missing(settings: Settings) -> None:
    # The gate's tests have no migrations otherwise.
    settings.MIGRATION_MODULES = {}
    shown = StringIO()
    try:
        call_command("makemigrations", "--check", "--dry-run", stdout=shown)
    except SystemExit:
        pytest.fail(f"add a migration, as CONTRIBUTING.md describes:\n{shown.getvalue()}", pytrace=False)


@pytest.mark.parametrize(
    ("app", "names"),
    [
        ("teams", ["0007_captions"]),
        ("organising", ["0003_exports"]),
        ("accounts", ["0002_name_keys", "0003_name_reservations"]),
        ("notices", ["0001_initial", "0002_deliveries"]),
    ],
)
def test_databases_of_development_versions_are_refused(fresh: Server, app: str, names: list[str]) -> None:
    fresh.migrate()
    fresh.python(FORGET, app, *names)
    _check_refused(fresh, "migrate")


def test_every_command_refuses_databases_of_development_versions(fresh: Server) -> None:
    fresh.migrate()
    fresh.python(FORGET, "teams", "0007_captions")
    _check_refused(fresh, "start")
    _check_refused(fresh, "user", "ann", "--email", "ann@example.org")
    done = fresh.done("check", "--before-start")
    assert done.returncode == 1
    assert TOO_OLD in done.stdout


def _check_refused(fresh: Server, *command: str) -> None:
    done = fresh.done(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert TOO_OLD in done.stderr
