"""Temporary failures of the database and of disks: what was tried may succeed later."""

from __future__ import annotations

import errno
import sqlite3

from django.conf import settings
from django.db import InterfaceError, OperationalError

from capeval_server.core import errors

__all__ = ["PASSING", "cause_of", "is_full", "text_of"]

# The transaction is undone, and trying again later may succeed.
PASSING: dict[type[Exception], str] = {
    errors.BusyError: "the server is checking other uploads",
    errors.OverloadError: "the server is computing too many other leaderboards",
    OSError: "files can't be stored at the moment",
    OperationalError: "the database does not answer at the moment",
    # A connection that broke while it was used.
    InterfaceError: "the database does not answer at the moment",
}
_FULL = "the server's storage is full"
# PostgreSQL's code of an error, and SQLite's.
_POSTGRESQL_FULL = "53100"
# The second where a process can't extend the file that it shares with the others, beside the database.
_SQLITE_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)


def text_of(error: BaseException | None) -> str:
    """What failed, for people; empty if the error is not a temporary one."""
    if is_full(error):
        return _FULL
    return next((text for kind, text in PASSING.items() if isinstance(error, kind)), "")


def cause_of(error: Exception) -> str:
    """Return the reason of a database error for administrators, in one line, such as ` (unknown host)`.

    It is empty if the driver's message contains the password of the database.
    """
    text = " ".join(str(error).split())
    password = str(settings.DATABASES["default"].get("PASSWORD") or "")
    return f" ({text})" if text and not (password and password in text) else ""


def is_full(error: BaseException | None) -> bool:
    """Whether an error says that a disk is full, of files or of the database."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    if not isinstance(error, OperationalError):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", None) in _SQLITE_FULL
    return getattr(cause, "sqlstate", None) == _POSTGRESQL_FULL
