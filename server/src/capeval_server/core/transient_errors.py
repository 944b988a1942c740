"""Transient errors of the database and of disks; a retry may succeed."""

from __future__ import annotations

import errno
import sqlite3

from django.conf import settings
from django.db import InterfaceError, OperationalError

from capeval_server.core import errors

__all__ = ["PASSING", "cause_of", "get_message", "is_full"]

# The transaction was rolled back, and a retry may succeed.
PASSING: dict[type[Exception], str] = {
    errors.BusyError: "the server is checking other uploads",
    errors.OverloadError: "the server is computing too many other leaderboards",
    OSError: "files can't be stored at the moment",
    OperationalError: "the database does not answer at the moment",
    # The connection broke during use.
    InterfaceError: "the database does not answer at the moment",
}
_FULL = "the server's storage is full"
# Error codes of PostgreSQL and SQLite for a full disk.
_POSTGRESQL_FULL = "53100"
# SQLite reports the second code if a process cannot extend the shared-memory file next to the database.
_SQLITE_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)


def get_message(error: BaseException | None) -> str:
    """Return the user-facing message of a transient error, or "" for other errors."""
    if is_full(error):
        return _FULL
    return next((text for kind, text in PASSING.items() if isinstance(error, kind)), "")


def cause_of(error: Exception) -> str:
    """Return the cause of a database error for administrators: ` (unknown host)`.

    The result is one line. It is empty if the driver's message contains the database password.
    """
    text = " ".join(str(error).split())
    password = str(settings.DATABASES["default"].get("PASSWORD") or "")
    return f" ({text})" if text and not (password and password in text) else ""


def is_full(error: BaseException | None) -> bool:
    """Return whether an error reports a full disk, of files or of the database."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    if not isinstance(error, OperationalError):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", None) in _SQLITE_FULL
    return getattr(cause, "sqlstate", None) == _POSTGRESQL_FULL
