"""State of the database schema: current, upgradable, too old or missing."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Literal

from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

__all__ = ["get_schema_state", "is_too_old", "schema_problem"]

_TOO_OLD = (
    "the database was created by a development version before 0.1.0, which can't be upgraded;"
    " create a new database"
)


def is_too_old() -> bool:
    """Return whether the database has an unsupported, partial migration history.

    This is so if only some of the migrations are applied that an app's first migration replaces.
    """
    applied = set(MigrationRecorder(connection).applied_migrations())
    for config in apps.get_app_configs():
        migrations = f"{config.name}.migrations"
        if config.name.startswith("capeval_server.") and find_spec(migrations) is not None:
            first = (config.label, "0001_initial")
            replaced = set(import_module(f"{migrations}.{first[1]}").Migration.replaces)
            if applied & {first, *replaced} and not replaced <= applied:
                return True
    return False


def schema_problem(*, upgradable: bool = False) -> str:
    """Return the reason why the tables of the database can't be used, or "".

    Args:
        upgradable: Whether to accept tables that `migrate` creates or upgrades.

    Raises:
        DatabaseError: The database can't be read.
        InterfaceError: The connection to the database failed.
    """
    if is_too_old():
        return _TOO_OLD
    if upgradable:
        return ""
    state = get_schema_state()
    if state == "current":
        return ""
    problem = "is not up to date" if state == "outdated" else "has no tables"
    return f"the database {problem}: run `capeval server migrate` first"


def get_schema_state() -> Literal["current", "outdated", "missing"]:
    """Return whether the tables are those of this version, can be upgraded, or are missing."""
    executor = MigrationExecutor(connection)
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return "current"
    return "outdated" if executor.loader.applied_migrations else "missing"
