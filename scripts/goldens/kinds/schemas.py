"""Schemas of both databases: columns, constraints, indexes and triggers of each table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.goldens import postgres, server, story
from scripts.goldens.commands import succeed
from scripts.goldens.registry import Golden, register

# Django's own names end in a hash of the names of the table and of the columns.
_OWN_NAME = re.compile(r'"?\b\w+_[0-9a-f]{8}(?:_\w+)?\b"?')


def _write_sqlite(folder: Path) -> None:
    story.tell()
    from django.db import connection

    tables = connection.introspection.table_names()
    for table in tables:
        _save(folder, table, _of_sqlite(connection, table))


def _of_sqlite(connection: Any, table: str) -> Iterator[str]:
    def rows(query: str) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    for _, name, kind, required, default, key in rows(f'PRAGMA table_info("{table}")'):
        words = [
            kind,
            "NOT NULL" if required else "",
            f"DEFAULT {default}" if default else "",
            "KEY" if key else "",
        ]
        yield f"column {name} {' '.join(word for word in words if word)}"
    for _, _, target, source, to, *rules in rows(f'PRAGMA foreign_key_list("{table}")'):
        yield f"foreign key {source} -> {target}.{to} {' '.join(rules[:2])}"
    for _, name, unique, _, partial in rows(f'PRAGMA index_list("{table}")'):
        columns = [str(row[2]) for row in rows(f'PRAGMA index_info("{name}")')]
        yield f"index {_named(name)}{'unique ' if unique else ''}({', '.join(columns)})"
        if partial or "None" in columns:
            ((statement,),) = rows(f"SELECT sql FROM sqlite_master WHERE name = '{name}'")
            yield f"index as {_plain(statement)}"
    for kind, statement in rows(
        f"SELECT type, sql FROM sqlite_master WHERE tbl_name = '{table}' ORDER BY name"
    ):
        if kind == "trigger":
            yield f"trigger {_plain(statement)}"
        elif kind == "table":
            yield from (f"check {check}" for check in _checks(statement))


def _checks(statement: str) -> Iterator[str]:
    """Yield the conditions of a table: the text in the parentheses after each CHECK."""
    for match in re.finditer(r"(?:CONSTRAINT (\S+) )?CHECK \(", statement):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(statement[end], 0)
            end += 1
        yield f"{match[1] or ''} ({_plain(statement[match.end() : end])}".strip()


def _write_postgresql(folder: Path) -> None:
    import tempfile

    with postgres.running() as address, tempfile.TemporaryDirectory(prefix="capeval-goldens-") as data:
        server.set_up(Path(data), database=address)
        succeed("server", "migrate")
        from django.db import connection

        with connection.cursor() as cursor:
            for query in _POSTGRESQL:
                cursor.execute(query)
                lines: dict[str, list[str]] = {}
                for table, line in cursor.fetchall():
                    own = re.sub(rf"\b{table}_\w*(?:key|check)\b", "(own name)", _plain(line))
                    lines.setdefault(table, []).append(own)
                for table, found in lines.items():
                    _save(folder, table, found)
        connection.close()


_POSTGRESQL = (
    """
    SELECT c.relname, format('column %s %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
        CASE WHEN a.attidentity <> '' THEN ' IDENTITY ' || a.attidentity::text ELSE '' END,
        coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), ''))
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    """,
    """
    SELECT c.relname, format('constraint %s %s', n.conname, pg_get_constraintdef(n.oid))
    FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid
    WHERE c.relnamespace = 'public'::regnamespace AND n.contype <> 'n'
    """,
    "SELECT tablename, 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'public'",
    """
    SELECT c.relname, format('trigger %s calls %s', pg_get_triggerdef(t.oid), pg_get_functiondef(t.tgfoid))
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal
    """,
)


def _named(name: str) -> str:
    automatic = _OWN_NAME.fullmatch(name) or name.startswith("sqlite_autoindex_")
    return "" if automatic else f"{name} "


def _plain(text: str) -> str:
    """Return a statement on one line, without the names that Django makes."""
    return _OWN_NAME.sub("(own name)", " ".join(text.split()))


def _save(folder: Path, table: str, lines: Any) -> None:
    path = folder / f"{table}.txt"
    before = path.read_text().splitlines() if path.exists() else []
    # The order of columns follows from that of migrations.
    path.write_text("".join(f"{line}\n" for line in sorted([*before, *lines])))


register(
    Golden(
        name="schema_sqlite",
        about="schema of SQLite",
        write=_write_sqlite,
        process="server",
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
