"""Recognition of databases that no version upgrades."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from django.apps import apps
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

__all__ = ["TOO_OLD", "is_too_old"]

TOO_OLD = (
    "the database was created by a development version before 0.1.0, which can't be upgraded;"
    " create a new database"
)


def is_too_old() -> bool:
    """Return whether the database has only some of the migrations that an app's first one replaces."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    for config in apps.get_app_configs():
        migrations = f"{config.name}.migrations"
        if config.name.startswith("capeval_server.") and find_spec(migrations) is not None:
            first = (config.label, "0001_initial")
            replaced = set(import_module(f"{migrations}.{first[1]}").Migration.replaces)
            if applied & {first, *replaced} and not replaced <= applied:
                return True
    return False
