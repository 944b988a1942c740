"""Parsed captions, kept between runs: parsing is what SPICE spends its time on.

A store is one SQLite file. It can be copied and shipped; processes and threads may read and write it at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from capeval.checks import checked_integer
from capeval.errors import ResourceError

if TYPE_CHECKING:
    import sqlite3

__all__ = ["ParseStore"]

_TABLE = (
    "CREATE TABLE IF NOT EXISTS parses (key BLOB PRIMARY KEY, tuples BLOB NOT NULL, used INTEGER NOT NULL)"
)
# In one statement, so that another process that makes the store meanwhile is seen as a whole or not at all.
_WHAT_IT_IS = """
    SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
        (SELECT count(*) FROM sqlite_master)
"""
# What tells a store of parses from any other SQLite file, and which form its rows have ("CEp" and a number).
_APPLICATION, _VERSION = 0x43457001, 1
_KEY_BYTES = 16
# How long a process waits for another one that writes.
_PATIENCE_SECONDS = 120
_DAY_SECONDS = 86_400
# What is left when a store that has grown beyond its limit is cut back.
_CUT_BACK_TO = 0.9
_SMALLEST_LIMIT = 2**20


class ParseStore:
    """Parses of captions by their text, in a file.

    Nothing is read or written before the first use. A pickle of a store holds its path and limit alone.

    Args:
        path: The file; it is made, with its folders, when something is first written to it.
        limit: How many bytes the file may have; beyond them, the parses that were used longest ago go.

    Raises:
        OptionError: `limit` is less than a mebibyte.
    """

    def __init__(self, path: str | Path, *, limit: int = 2**30) -> None:
        self.path = Path(path)
        self.limit = checked_integer("limit", limit, _SMALLEST_LIMIT)

    def __repr__(self) -> str:
        return f"ParseStore({str(self.path)!r}, limit={self.limit})"

    def __len__(self) -> int:
        """How many parses there are."""
        if not self.path.exists():
            return 0
        with self._open() as database:
            (count,) = database.execute("SELECT count(*) FROM parses").fetchone()
        return int(count)

    def read(self, model: str, texts: Sequence[str]) -> dict[str, bytes]:
        """The parses that the store has of some captions.

        Args:
            model: What the parses depend on: the fingerprint of the model, and the limit of sentences.
            texts: The captions.

        Raises:
            ResourceError: The file is damaged, or is no store of parses.
        """
        if not texts or not self.path.exists():
            return {}
        today = int(time.time() // _DAY_SECONDS)
        with self._open() as database:
            database.execute("CREATE TEMP TABLE wanted (key BLOB PRIMARY KEY, position INTEGER)")
            rows = ((key, position) for position, key in enumerate(_keys(model, texts)))
            database.executemany("INSERT OR IGNORE INTO wanted VALUES (?, ?)", rows)
            stored = database.execute(
                "SELECT position, tuples, used FROM wanted JOIN parses USING (key)"
            ).fetchall()
            if any(used < today for _, _, used in stored):
                self._mark_as_used(database, today)
        return {texts[position]: tuples for position, tuples, _ in stored}

    def write(self, model: str, parses: Mapping[str, bytes]) -> None:
        """Adds parses: all of them or, when that fails, none.

        Args:
            model: What the parses depend on: the fingerprint of the model, and the limit of sentences.
            parses: Captions and their parses.

        Raises:
            ResourceError: The file is damaged, is no store of parses, or can't be written.
        """
        if not parses:
            return
        today = int(time.time() // _DAY_SECONDS)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from None
        with self._open() as database, database:
            database.execute("BEGIN IMMEDIATE")
            keys = _keys(model, parses)
            rows = ((key, tuples, today) for key, tuples in zip(keys, parses.values(), strict=True))
            database.executemany("INSERT OR REPLACE INTO parses VALUES (?, ?, ?)", rows)
            self._cut_back(database)

    def clear(self) -> None:
        """Deletes the file."""
        self.path.unlink(missing_ok=True)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own for each use, so that threads and forked processes share none."""
        import sqlite3

        try:
            with closing(
                sqlite3.connect(self.path, timeout=_PATIENCE_SECONDS, isolation_level=None)
            ) as database:
                self._check(database)
                yield database
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def _check(self, database: sqlite3.Connection) -> None:
        application, version, tables = database.execute(_WHAT_IT_IS).fetchone()
        if (application, version) == (_APPLICATION, _VERSION):
            return
        if application != _APPLICATION and (application or version or tables):
            raise ResourceError(f"{self.path} must be a store of parses (got another SQLite file)")
        if application == _APPLICATION:
            raise ResourceError(
                f"{self.path} must have version {_VERSION} of a store of parses (got {version})"
            )
        with database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(_TABLE)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {_VERSION}")

    @staticmethod
    def _mark_as_used(database: sqlite3.Connection, today: int) -> None:
        import sqlite3

        try:
            database.execute(
                "UPDATE parses SET used = ? WHERE used < ? AND key IN (SELECT key FROM wanted)",
                (today, today),
            )
        except sqlite3.OperationalError:
            # A store that can only be read, or one that another process writes for long, serves all the same.
            return

    def _cut_back(self, database: sqlite3.Connection) -> None:
        """Deletes the parses that were used longest ago until the file is within its limit again."""
        (page,) = database.execute("PRAGMA page_size").fetchone()
        (pages,) = database.execute("PRAGMA page_count").fetchone()
        (free,) = database.execute("PRAGMA freelist_count").fetchone()
        size = (pages - free) * page
        if size <= self.limit:
            return
        (count,) = database.execute("SELECT count(*) FROM parses").fetchone()
        surplus = int(count * (1 - self.limit * _CUT_BACK_TO / size)) + 1
        database.execute(
            "DELETE FROM parses WHERE key IN (SELECT key FROM parses ORDER BY used, rowid LIMIT ?)",
            (surplus,),
        )

    def _unusable(self, error: Exception) -> ResourceError:
        return ResourceError(
            f"{self.path} can't be used as a store of parses ({error}); delete it or name another one"
        )


def _keys(model: str, texts: Iterable[str]) -> Iterator[bytes]:
    from hashlib import blake2b

    for text in texts:
        yield blake2b(text.encode(), key=model.encode()[:64], digest_size=_KEY_BYTES).digest()
