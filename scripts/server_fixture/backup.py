"""Backups of a server as described in docs/server/running.md, each in one archive."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from scripts.goldens import postgres
from scripts.goldens.names import ENVIRONMENT

__all__ = ["back_up_postgresql", "back_up_sqlite"]

_ALIAS = "copy"
# Lines of a dump that are random, or newer than the oldest PostgreSQL version that Django supports.
_OMITTED_LINES = ("SET transaction_timeout", "\\restrict", "\\unrestrict")


def back_up_sqlite(data: Path, archive: Path) -> None:
    """Back up a server with SQLite.

    Args:
        data: Data folder of the server.
        archive: Path of the archive, a tar file compressed with xz.
    """
    from django.db import connection

    # The copy includes the write-ahead log, and no deleted rows.
    copy = data.parent / "copy.sqlite3"
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(copy)])
    _pack({"capeval.sqlite3": copy.read_bytes()}, data, archive)


def back_up_postgresql(data: Path, archive: Path) -> None:
    """Copy the rows of a server from SQLite to PostgreSQL, and back up the latter."""
    with postgres.running() as address:
        command = [sys.executable, "-m", "capeval_server", "migrate"]
        env = {**os.environ, f"{ENVIRONMENT}SERVER_DATABASE": address}
        subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
        _copy_rows(address)
        _pack({"dump.sql": _dump(address)}, data, archive)


def _copy_rows(address: str) -> None:
    """Copy the rows of all tables, with their keys."""
    from django.core.management.color import no_style
    from django.db import connections, transaction

    parts = conninfo_to_dict(address)
    names = {"NAME": parts["dbname"], "USER": parts["user"], "HOST": parts["host"]}
    settings = {"default": {}, _ALIAS: {"ENGINE": "django.db.backends.postgresql", **names}}
    connections.databases[_ALIAS] = connections.configure_settings(settings)[_ALIAS]
    models = list(_list_models())
    with transaction.atomic(using=_ALIAS), connections[_ALIAS].cursor() as cursor:
        # Removes the rows that `migrate` created with different keys.
        cursor.execute("TRUNCATE auth_permission, django_content_type CASCADE")
        for model in models:
            rows = list(model._base_manager.using("default").order_by("pk"))
            model._base_manager.using(_ALIAS).bulk_create(rows)
        for statement in connections[_ALIAS].ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)
    connections[_ALIAS].close()


def _list_models() -> Iterator[type[Any]]:
    from django.apps import apps

    return (model for model in apps.get_models(include_auto_created=True) if model._meta.managed)


def _dump(address: str) -> bytes:
    found = shutil.which("pg_dump") or sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_dump"))[-1]
    command = [str(found), "--no-owner", "--no-privileges", address]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own
    lines = done.stdout.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(_OMITTED_LINES)).encode()


def _pack(database: dict[str, bytes], data: Path, archive: Path) -> None:
    """Write an archive with the database copy, the files and the secret key."""
    paths = [path for path in sorted((data / "files").rglob("*")) if path.is_file()]
    members = {
        **database,
        "data/secret-key": os.environ[f"{ENVIRONMENT}SERVER_SECRET_KEY"].encode(),
        **{f"data/{path.relative_to(data)}": path.read_bytes() for path in paths},
    }
    with tarfile.open(archive, "w:xz", format=tarfile.PAX_FORMAT) as packed:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
