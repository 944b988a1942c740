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

# Models with rows that are protected from deletion, and the columns that may change under a condition in
# terms of `OLD` and `NEW`, while all other columns remain the same. None: the rows never change.
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
# The only rows that can be deleted: the texts of a campaign that no worker has entered. Invited workers have
# not entered it. A withdrawal leaves a departure.
_DELETABLE = {
    "TextVersion": (
        "NOT EXISTS (SELECT 1 FROM annotation_participation"
        " WHERE campaign_id = OLD.campaign_id AND (stage <> 'invited' OR consented_to_id IS NOT NULL))"
        " AND NOT EXISTS (SELECT 1 FROM annotation_departure WHERE campaign_id = OLD.campaign_id)"
        " AND NOT EXISTS (SELECT 1 FROM annotation_response JOIN annotation_item"
        " ON annotation_item.id = annotation_response.item_id"
        " WHERE annotation_item.campaign_id = OLD.campaign_id)"
    ),
}
# The mutable columns of an item.
_MUTABLE_ITEM_COLUMNS = ("held", "held_reason", "checks_looked_at", "up_next", "free", "free_trusted")


def _list_rules() -> dict[str, tuple[str, str]]:
    """Return the condition for changes and the condition for deletions, by table."""
    same = "IS NOT DISTINCT FROM" if connection.vendor == "postgresql" else "IS"
    found = {}
    for name, allowed in {**_PROTECTED, "Item": (_MUTABLE_ITEM_COLUMNS, "TRUE")}.items():
        model: Any = apps.get_model("annotation", name)
        columns = [field.column for field in model._meta.local_concrete_fields]
        condition = "FALSE"
        if allowed is not None:
            kept = [f'OLD."{column}" {same} NEW."{column}"' for column in columns if column not in allowed[0]]
            condition = " AND ".join((f"({allowed[1]})", *kept))
        deletable = "TRUE" if name == "Item" else _DELETABLE.get(name, "FALSE")
        found[model._meta.db_table] = (condition, deletable)
    return found


def expected() -> set[str]:
    """Return the names of all required triggers."""
    truncates = connection.vendor == "postgresql"
    return {
        f"{table}_{event}"
        for table, (_, deletable) in _list_rules().items()
        for event in ("kept", "not_deleted", "not_truncated")
        if event == "kept" or (deletable != "TRUE" and (truncates or event == "not_deleted"))
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
        for table, conditions in _list_rules().items():
            for statement in _build_statements(connection, table, *conditions):
                cursor.execute(statement)


def _build_statements(
    database: BaseDatabaseWrapper, table: str, changeable: str, deletable: str
) -> list[str]:
    changed = f"rows of {table} are never changed"
    deleted = f"rows of {table} are never deleted"
    if deletable not in ("TRUE", "FALSE"):
        deleted += " once a worker has entered the campaign"
    if database.vendor == "postgresql":
        raised = "RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE ="
        function = "RETURNS trigger LANGUAGE plpgsql AS"
        found = [
            f'CREATE OR REPLACE FUNCTION "{table}_kept"() {function} $$ BEGIN'
            f" IF NOT ({changeable}) THEN {raised} '{changed}'; END IF; RETURN NEW; END $$",
            f'CREATE OR REPLACE TRIGGER "{table}_kept" BEFORE UPDATE ON "{table}" FOR EACH ROW'
            f' EXECUTE FUNCTION "{table}_kept"()',
            f'CREATE OR REPLACE FUNCTION "{table}_not_deleted"() {function} $$ BEGIN'
            f" IF NOT ({deletable}) THEN {raised} '{deleted}'; END IF; RETURN OLD; END $$",
            f'CREATE OR REPLACE TRIGGER "{table}_not_deleted" BEFORE DELETE ON "{table}" FOR EACH ROW'
            f' EXECUTE FUNCTION "{table}_not_deleted"()',
            f'CREATE OR REPLACE FUNCTION "{table}_not_truncated"() {function} $$ BEGIN'
            f" {raised} '{deleted}'; END $$",
            f'CREATE OR REPLACE TRIGGER "{table}_not_truncated" BEFORE TRUNCATE ON "{table}"'
            f' FOR EACH STATEMENT EXECUTE FUNCTION "{table}_not_truncated"()',
        ]
        return found[:2] if deletable == "TRUE" else found
    found = [
        f'DROP TRIGGER IF EXISTS "{table}_kept"',
        f'CREATE TRIGGER "{table}_kept" BEFORE UPDATE ON "{table}" WHEN NOT ({changeable})'
        f" BEGIN SELECT RAISE(ABORT, '{changed}'); END",
        f'DROP TRIGGER IF EXISTS "{table}_not_deleted"',
        f'CREATE TRIGGER "{table}_not_deleted" BEFORE DELETE ON "{table}" WHEN NOT ({deletable})'
        f" BEGIN SELECT RAISE(ABORT, '{deleted}'); END",
    ]
    return found[:2] if deletable == "TRUE" else found
