"""Golden of the database schemas: columns, constraints, indexes, triggers."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from scripts.goldens import postgres, server
from scripts.goldens.commands import succeed
from scripts.goldens.registry import Golden, register

# Django's automatic names of constraints and indexes end in a hash of the table and columns.
_AUTOMATIC_NAME = re.compile(r'"?\b\w+_[0-9a-f]{8}(?:_\w+)?\b"?')
_MASK = "(automatic name)"

_POSTGRESQL_COLUMNS = """
    SELECT c.relname, format('column %I %s%s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attcollation <> t.typcollation THEN ' COLLATE ' || a.attcollation::regcollation::text END,
        CASE WHEN a.attnotnull THEN ' NOT NULL' END,
        CASE WHEN a.attidentity <> '' THEN ' IDENTITY ' || a.attidentity::text END,
        ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid))
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
"""
_POSTGRESQL_OBJECTS = """
    SELECT c.relname, 'constraint', n.conname, pg_get_constraintdef(n.oid)
    FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid
    WHERE c.relnamespace = 'public'::regnamespace AND n.contype <> 'n'
    UNION ALL
    SELECT tablename, 'index', indexname, replace(indexdef, format(' %I ON', indexname), ' ON')
    FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL
    SELECT c.relname, 'trigger', t.tgname, pg_get_triggerdef(t.oid) || ' ' || pg_get_functiondef(t.tgfoid)
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal
"""


def _write_sqlite(folder: Path) -> None:
    query = "SELECT tbl_name, type, sql FROM sqlite_master WHERE sql IS NOT NULL"
    tables: dict[str, list[str]] = defaultdict(list)
    for table, kind, statement in _migrate_and_query(query):
        lines = split_table(statement) if kind == "table" else [statement]
        tables[table] += [_normalize(line) for line in lines]
    _save(folder, tables)


def split_table(statement: str) -> Iterator[str]:
    """Yield the definitions in a CREATE TABLE statement, and the text around them."""
    head, _, body = statement.partition("(")
    yield head
    depth, start = 1, 0
    # Quoted strings are single tokens.
    for match in re.finditer(r"""'[^']*'|"[^"]*"|[(),]""", body):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if not depth or (depth == 1 and match[0] == ","):
            yield body[start : match.start()]
            start = match.end()
    if body[start:].strip():
        yield body[start:]


def _write_postgresql(folder: Path) -> None:
    with postgres.running() as address:
        tables: dict[str, list[str]] = defaultdict(list)
        rows = _migrate_and_query(_POSTGRESQL_COLUMNS, _POSTGRESQL_OBJECTS, database=address)
        for table, *words in rows:
            if len(words) > 1:
                kind, name, definition = words
                words = [kind, _MASK if _is_automatic(name, table) else name, definition]
            tables[table].append(_normalize(" ".join(words)))
        _save(folder, tables)


def _migrate_and_query(*queries: str, **settings: str) -> list[tuple[str, ...]]:
    """Migrate an empty database and return the rows of queries."""
    with tempfile.TemporaryDirectory(prefix="capeval-goldens-") as data:
        server.set_up(Path(data), **settings)
        succeed("server", "migrate")
        from django.db import connection

        rows: list[Any] = []
        with connection.cursor() as cursor:
            for query in queries:
                cursor.execute(query)
                rows += cursor.fetchall()
        connection.close()
    return rows


def _is_automatic(name: str, table: str) -> bool:
    """Return whether Django or PostgreSQL generated a name."""
    return bool(
        _AUTOMATIC_NAME.fullmatch(name) or re.fullmatch(rf"{table}_(?:\w+_)?(?:pkey|key|check)", name)
    )


def _normalize(text: str) -> str:
    """Return a definition on one line, with automatic names masked."""
    return _AUTOMATIC_NAME.sub(_MASK, " ".join(text.split()))


def _save(folder: Path, tables: Mapping[str, Iterable[str]]) -> None:
    for table, lines in tables.items():
        # The order of columns depends on the history of migrations.
        (folder / f"{table}.txt").write_text("".join(f"{line}\n" for line in sorted(lines)))


register(
    Golden(
        name="schema_sqlite",
        about="schema of SQLite",
        write=_write_sqlite,
        process="sqlite",
        renames="table_names.toml",
    )
)
register(
    Golden(
        name="schema_postgresql",
        about="schema of PostgreSQL",
        write=_write_postgresql,
        process="postgresql",
        missing=postgres.missing,
        renames="table_names.toml",
    )
)
