"""Persistent cache of parsed captions; parsing takes most of SPICE's time.

A store is one SQLite file. It can be copied and distributed; processes and threads may read and write it
concurrently. It is a cache: each row has a checksum, and a damaged or unusable file never prevents scoring.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capeval._internal.validation import validate_integer
from capeval.errors import CapevalWarning, ResourceError

if TYPE_CHECKING:
    import sqlite3

__all__ = ["ParseStore", "ParseStoreWarning"]

_TABLE = """
    CREATE TABLE parses
        (key BLOB PRIMARY KEY, tuples BLOB NOT NULL, checksum BLOB NOT NULL, used INTEGER NOT NULL)
"""
# A single statement, so that it sees a store that a different process creates either completely or not at
# all.
_WHAT_IT_IS = """
    SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
        (SELECT count(*) FROM sqlite_master)
"""
# The application id of parse stores in SQLite ("CEp" and a number), and the version of their rows. Version 1
# had no checksums.
_APPLICATION, _VERSION = 0x43457001, 2
_KEY_BYTES, _CHECKSUM_BYTES = 16, 8
# The time that a process waits for a different one that writes.
_PATIENCE_SECONDS = 30
_DAY_SECONDS = 86_400
# The share of the limit that remains after a store beyond its limit is trimmed.
_CUT_BACK_TO = 0.9
_SMALLEST_LIMIT = 2**20
# Files with a warning already shown, and files that a different process locked for too long, which are not
# waited for again.
_UNUSABLE: set[Path] = set()
_DAMAGED: set[Path] = set()
_LOCKED: set[Path] = set()


class ParseStoreWarning(CapevalWarning):
    """A parse store is damaged or unusable; scores are the same without it."""


class _UnusableError(Exception):
    """A store is unusable, for the reason in the message."""


class ParseStore:
    """A cache of captions' parses in a file.

    Nothing is read or written before the first use. A pickle of a store contains only its path and limit.

    Files that can't be read or written, and rows with a wrong checksum, are ignored: a `ParseStoreWarning`
    names the file, the reason and the fix. Scores do not change.

    Args:
        path: The file; it is created, with its folders, at the first write.
        limit: The maximum size of the file in bytes; the least recently used parses are deleted beyond it.

    Raises:
        OptionError: `limit` is less than a mebibyte.

    Example:
        >>> from capeval import Spice, evaluate
        >>> from capeval.resources.parse_store import ParseStore
        >>> store = ParseStore("parses.sqlite")
        >>> report = evaluate({1: ["A brown dog runs."]}, {1: "A dog runs."}, [Spice(store=store)])
        >>> round(report.corpus["SPICE"], 3), len(store)
        (0.8, 2)
    """

    def __init__(self, path: str | Path, *, limit: int = 2**30) -> None:
        self.path = Path(path)
        self.limit = validate_integer("limit", limit, _SMALLEST_LIMIT)

    def __repr__(self) -> str:
        return f"ParseStore({str(self.path)!r}, limit={self.limit})"

    def __len__(self) -> int:
        """Return the number of parses.

        Raises:
            ResourceError: The file is damaged, is not a parse store, or can't be read.
        """
        try:
            if not self.path.exists():
                return 0
            with self._open() as database:
                if not self._is_current(database):
                    return 0
                (count,) = database.execute("SELECT count(*) FROM parses").fetchone()
        except (_UnusableError, OSError) as error:
            raise self._make_error(error) from None
        return int(count)

    def count_damaged(self) -> int:
        """Return the number of parses with a wrong checksum. All parses are read.

        Raises:
            ResourceError: The file is damaged, is not a parse store, or can't be read.
        """
        if len(self) == 0:
            return 0
        try:
            with self._open() as database:
                rows = database.execute("SELECT key, tuples, checksum FROM parses").fetchall()
        except (_UnusableError, OSError) as error:
            raise self._make_error(error) from None
        # Damage can also change the types of values.
        keys = [key if isinstance(key, bytes) else b"" for key, _, _ in rows]
        stored = [(position, tuples, checksum) for position, (_, tuples, checksum) in enumerate(rows)]
        return len(rows) - sum(1 for _ in _select_intact(keys, stored))

    def _make_error(self, error: Exception) -> ResourceError:
        return ResourceError(
            f"cannot use {self.path} as a parse store ({error}); delete it or choose a different file"
        )

    def read(self, model: str, texts: Sequence[str]) -> dict[str, bytes]:
        """Return the stored parses of captions; none if the store can't be read.

        Args:
            model: The cache key of the parser: the model's fingerprint, and the limit on sentence length.
            texts: The captions.
        """
        keys = list(_make_keys(model, texts))
        try:
            if not keys or not self.path.exists():
                return {}
            with self._open() as database:
                stored = self._fetch_stored(database, keys) if self._is_current(database) else []
        except (_UnusableError, OSError) as error:
            self._warn_unusable(error)
            return {}
        parses = {texts[position]: tuples for position, tuples in _select_intact(keys, stored)}
        if len(parses) < len(stored):
            message = (
                f"{len(stored) - len(parses):,} of {len(stored):,} parses in {self.path} are damaged and will"
                " be computed again; if this recurs, delete the file"
            )
            self._warn(message, _DAMAGED)
        return parses

    def write(self, model: str, parses: Mapping[str, bytes]) -> bool:
        """Add parses: all of them or, if the file can't be written, none.

        Args:
            model: The cache key of the parser: the model's fingerprint, and the limit on sentence length.
            parses: Captions and their parses.

        Returns:
            Whether the parses were stored.
        """
        if not parses:
            return True
        today = int(time.time() // _DAY_SECONDS)
        rows = (
            (key, tuples, checksum, today)
            for key, tuples, checksum in _add_checksums(_make_keys(model, parses), parses.values())
        )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._open() as database, database:
                database.execute("BEGIN IMMEDIATE")
                self._create_table(database)
                database.executemany("INSERT OR REPLACE INTO parses VALUES (?, ?, ?, ?)", rows)
                self._trim(database)
        except (_UnusableError, OSError) as error:
            self._warn_unusable(error)
            return False
        for paths in (_UNUSABLE, _LOCKED):
            paths.discard(self.path)
        return True

    def clear(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for one use; threads and forked processes share none."""
        import sqlite3

        patience = 0 if self.path in _LOCKED else _PATIENCE_SECONDS
        try:
            with closing(sqlite3.connect(self.path, timeout=patience, isolation_level=None)) as database:
                yield database
        except (sqlite3.Error, UnicodeError) as error:
            # Errors raised by the sqlite3 module itself have no code, and a message may contain a damaged
            # name.
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                _LOCKED.add(self.path)
            raise _UnusableError(str(error)) from None

    @staticmethod
    def _is_current(database: sqlite3.Connection) -> bool:
        """Return whether the file has rows of this version, not an earlier one or none.

        Raises:
            _UnusableError: The file is a different database, or has a later version.
        """
        application, version, tables = database.execute(_WHAT_IT_IS).fetchone()
        if application != _APPLICATION and (application or version or tables):
            raise _UnusableError("it is a different SQLite database")
        if application == _APPLICATION and version > _VERSION:
            raise _UnusableError(f"its version {version} is of a later capeval; this one supports {_VERSION}")
        return bool((application, version) == (_APPLICATION, _VERSION))

    def _create_table(self, database: sqlite3.Connection) -> None:
        """Create the table inside a transaction if it is missing or of an earlier version."""
        if self._is_current(database):
            return
        database.execute("DROP TABLE IF EXISTS parses")
        database.execute(_TABLE)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {_VERSION}")

    def _fetch_stored(
        self, database: sqlite3.Connection, keys: Sequence[bytes]
    ) -> list[tuple[int, Any, Any]]:
        """Return the position, parse and checksum of each stored key."""
        today = int(time.time() // _DAY_SECONDS)
        database.execute("CREATE TEMP TABLE wanted (key BLOB PRIMARY KEY, position INTEGER)")
        rows = ((key, position) for position, key in enumerate(keys))
        database.executemany("INSERT OR IGNORE INTO wanted VALUES (?, ?)", rows)
        stored = database.execute(
            "SELECT position, tuples, checksum, used FROM wanted JOIN parses USING (key)"
        ).fetchall()
        if any(used != today for *_, used in stored):
            self._mark_as_used(database, today)
        return [(position, tuples, checksum) for position, tuples, checksum, _ in stored]

    @staticmethod
    def _mark_as_used(database: sqlite3.Connection, today: int) -> None:
        import sqlite3

        try:
            # Do not wait for a different process that writes: the update is optional.
            database.execute("PRAGMA busy_timeout = 0")
            database.execute(
                "UPDATE parses SET used = ? WHERE used < ? AND key IN (SELECT key FROM wanted)",
                (today, today),
            )
        except (sqlite3.Error, UnicodeError):
            # A read-only store remains usable.
            return

    def _trim(self, database: sqlite3.Connection) -> None:
        """Delete the least recently used parses if the file exceeds its limit."""
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

    def _warn_unusable(self, error: Exception) -> None:
        fix = "Delete the file, or set" if self.path.is_file() else "Set"
        message = (
            f"the parse store {self.path} is not used ({error}); scores are the same but take longer. {fix}"
            " CAPEVAL_STORE to a different folder or to 'off' (in Python, set 'store')"
        )
        self._warn(message, _UNUSABLE)

    def _warn(self, message: str, warned: set[Path]) -> None:
        """Warn once per file."""
        if self.path not in warned:
            warned.add(self.path)
            warnings.warn(message, ParseStoreWarning, stacklevel=2)


def _make_keys(model: str, texts: Iterable[str]) -> Iterator[bytes]:
    from hashlib import blake2b

    for text in texts:
        yield blake2b(text.encode(), key=model.encode()[:64], digest_size=_KEY_BYTES).digest()


def _add_checksums(keys: Iterable[bytes], parses: Iterable[bytes]) -> Iterator[tuple[bytes, bytes, bytes]]:
    from hashlib import blake2b

    # The checksum includes the key, because a damaged index can return the row of a different caption.
    for key, tuples in zip(keys, parses, strict=True):
        yield key, tuples, blake2b(key + tuples, digest_size=_CHECKSUM_BYTES).digest()


def _select_intact(
    keys: Sequence[bytes], stored: Sequence[tuple[int, Any, Any]]
) -> Iterator[tuple[int, bytes]]:
    """Yield the positions and parses of rows with a correct checksum.

    Damage can also change the types of values.
    """
    rows = [row for row in stored if isinstance(row[1], bytes)]
    checked = _add_checksums((keys[row[0]] for row in rows), (row[1] for row in rows))
    for (position, tuples, checksum), (_, _, expected) in zip(rows, checked, strict=True):
        if checksum == expected:
            yield position, tuples
