"""Triggers that reject changes and deletions of answers (SQLite, PostgreSQL).

They are installed after each `migrate`, not by a migration: SQLite drops the triggers of a table whenever
Django changes one of its columns.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

__all__ = ["expected", "install", "present"]

# The models whose rows are never deleted, and the columns that may change under a condition in terms of `OLD`
# and `NEW`, while all other columns remain the same. None: the rows never change.
_PROTECTED: dict[str, tuple[tuple[str, ...], str] | None] = {
    "CheckResult": None,
    "Exclusion": (
        ("lifted", "lifted_person_id", "lifted_who", "lifted_reason"),
        "OLD.lifted IS NULL AND NEW.lifted IS NOT NULL",
    ),
    "NextPairs": None,
    "Release": None,
    "ReleasedResponse": None,
    "Report": (("note",), "NEW.note = ''"),
    "Response": (
        ("answer", "rules", "events", "redacted"),
        "OLD.redacted = '' AND NEW.redacted <> ''"
        " AND NEW.answer = '{}' AND NEW.rules = '{}' AND NEW.events = '{}'",
    ),
    "Review": None,
    "ReviewRequest": None,
    "TextVersion": None,
}
# The mutable columns of an item.
_MUTABLE_ITEM_COLUMNS = ("held", "held_reason", "checks_looked_at", "up_next", "free", "free_trusted")


def _list_rules() -> dict[str, tuple[str, bool]]:
    """Return the condition for changes, and whether rows can be deleted, by table."""
    same = "IS NOT DISTINCT FROM" if connection.vendor == "postgresql" else "IS"
    found = {}
    for name, allowed in {**_PROTECTED, "Item": (_MUTABLE_ITEM_COLUMNS, "TRUE")}.items():
        model: Any = apps.get_model("annotation", name)
        columns = [field.column for field in model._meta.local_concrete_fields]
        condition = "FALSE"
        if allowed is not None:
            kept = [f'OLD."{column}" {same} NEW."{column}"' for column in columns if column not in allowed[0]]
            condition = " AND ".join((f"({allowed[1]})", *kept))
        found[model._meta.db_table] = (condition, name == "Item")
    return found


def expected() -> set[str]:
    """Return the names of all required triggers."""
    return {
        f"{table}_{event}"
        for table, (_, deletes) in _list_rules().items()
        for event in (["kept"] if deletes else ["kept", "not_deleted"])
    }


def present() -> set[str]:
    """Return the names of the required triggers that exist."""
    catalog = {
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D'",
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    }
    with connection.cursor() as cursor:
        cursor.execute(catalog[connection.vendor])
        return expected() & {name for (name,) in cursor.fetchall()}


def install(**_: object) -> None:
    """Create or replace the triggers."""
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    ours = [leaf for leaf in executor.loader.graph.leaf_nodes() if leaf[0] == "annotation"]
    if executor.migration_plan(ours):
        # The tables are of an earlier version and may lack columns.
        return
    with connection.cursor() as cursor:
        for table, (condition, deletes) in _list_rules().items():
            for statement in _build_statements(connection, table, condition, deletes=deletes):
                cursor.execute(statement)


def _build_statements(
    database: BaseDatabaseWrapper, table: str, condition: str, *, deletes: bool
) -> list[str]:
    changed = f"rows of {table} are never changed"
    deleted = f"rows of {table} are never deleted"
    if database.vendor == "postgresql":
        raised = "RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE ="
        found = [
            f'CREATE OR REPLACE FUNCTION "{table}_kept"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN'
            f" IF NOT ({condition}) THEN {raised} '{changed}'; END IF; RETURN NEW; END $$",
            f'CREATE OR REPLACE TRIGGER "{table}_kept" BEFORE UPDATE ON "{table}" FOR EACH ROW'
            f' EXECUTE FUNCTION "{table}_kept"()',
            f'CREATE OR REPLACE FUNCTION "{table}_not_deleted"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN'
            f" {raised} '{deleted}'; END $$",
            f'CREATE OR REPLACE TRIGGER "{table}_not_deleted" BEFORE DELETE OR TRUNCATE ON "{table}"'
            f' FOR EACH STATEMENT EXECUTE FUNCTION "{table}_not_deleted"()',
        ]
        return found[:2] if deletes else found
    found = [
        f'DROP TRIGGER IF EXISTS "{table}_kept"',
        f'CREATE TRIGGER "{table}_kept" BEFORE UPDATE ON "{table}" WHEN NOT ({condition})'
        f" BEGIN SELECT RAISE(ABORT, '{changed}'); END",
        f'DROP TRIGGER IF EXISTS "{table}_not_deleted"',
        f'CREATE TRIGGER "{table}_not_deleted" BEFORE DELETE ON "{table}"'
        f" BEGIN SELECT RAISE(ABORT, '{deleted}'); END",
    ]
    return found[:2] if deletes else found
