"""Transient errors of the database and of disks; a retry may succeed."""

from __future__ import annotations

import errno
import re
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
# Advice after a failed connection, by patterns of messages of PostgreSQL and its client.
_FIXES = (
    ("SSL|sslmode|certificate", "check sslmode and the certificates in CAPEVAL_SERVER_DATABASE"),
    ("authentication failed|no password supplied", "check the user and password in CAPEVAL_SERVER_DATABASE"),
    ('role ".*" does not exist', "check the user in CAPEVAL_SERVER_DATABASE, or create it with createuser"),
    ('database ".*" does not exist', "check the name in CAPEVAL_SERVER_DATABASE, or create it with createdb"),
    ("resolve host|translate host", "check the host in CAPEVAL_SERVER_DATABASE"),
    (
        "refused|timeout|No route|unreachable",
        "check that PostgreSQL runs at the host and port in CAPEVAL_SERVER_DATABASE",
    ),
    ("no pg_hba.conf entry", "allow this host, user and database in PostgreSQL's pg_hba.conf"),
)
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
    """Return the cause of a database error for administrators, with the setting to check if it is known.

    The result is one line, such as ` (database "a" does not exist): check ...`. The driver's message is left
    out if it contains the database password.
    """
    text = " ".join(str(error).split())
    fix = next((fix for pattern, fix in _FIXES if re.search(pattern, text)), "")
    password = str(settings.DATABASES["default"].get("PASSWORD") or "")
    cause = f" ({text})" if text and not (password and password in text) else ""
    return f"{cause}: {fix}" if fix else cause


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
