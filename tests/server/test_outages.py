"""Temporary failures: classification and messages."""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.core.cache import cache
from django.core.exceptions import BadRequest, DisallowedHost
from django.db import InterfaceError, OperationalError, ProgrammingError
from django.db.backends.utils import CursorWrapper
from django.http.multipartparser import MultiPartParserError

from capeval_server.core import transient_errors
from capeval_server.ops.logging import ShortTracebacks

FULL = "the server's storage is full"


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def full_sqlite() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.ENOSPC, "no space"), FULL),
        (OSError(errno.EDQUOT, "quota"), FULL),
        (OSError(errno.EIO, "input or output"), "files can't be stored at the moment"),
        (caused(OperationalError("full"), full_sqlite()), FULL),
        (caused(OperationalError("full"), psycopg.errors.DiskFull()), FULL),
        (OperationalError("gone"), "the database does not answer at the moment"),
        (InterfaceError("closed"), "the database does not answer at the moment"),
        (ProgrammingError("no such table"), ""),
        (ValueError(), ""),
        (None, ""),
    ],
)
def test_what_failed(error: Exception | None, text: str) -> None:
    assert transient_errors.get_message(error) == text


def test_an_invalid_sslmode_is_a_cause() -> None:
    error = OperationalError('connection is bad: invalid sslmode value: "sometimes"')
    assert transient_errors.cause_of(error).endswith(
        '"sometimes"): check sslmode and the certificates in CAPEVAL_SERVER_DATABASE'
    )


def test_an_outage_is_one_line_of_the_log() -> None:
    def record(error: Exception) -> logging.LogRecord:
        made = logging.LogRecord("n", logging.ERROR, "p", 1, "%s: failed", ("a",), (type(error), error, None))
        assert ShortTracebacks().filter(made)
        return made

    short = record(OperationalError("connection failed\nIs the server running?"))
    assert short.getMessage() == "a: failed: the database does not answer at the moment (connection failed)"
    assert short.exc_info is None
    assert record(ValueError("x")).exc_info
    for rejected in (BadRequest("no key"), DisallowedHost("other host"), MultiPartParserError("no boundary")):
        assert record(rejected).exc_info is None


@pytest.mark.django_db
@pytest.mark.parametrize("write", [cache.add, cache.set])
def test_the_cache_says_that_it_cannot_be_written_to(
    monkeypatch: pytest.MonkeyPatch, write: Callable[[str, int], object]
) -> None:
    execute: Callable[..., Any] = vars(CursorWrapper)["_execute"]

    def refuse(cursor: CursorWrapper, sql: str, *rest: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE")):
            raise caused(OperationalError("full"), psycopg.errors.DiskFull())
        return execute(cursor, sql, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(CursorWrapper, "_execute", refuse)
        with pytest.raises(OperationalError) as caught:
            write("new", 1)
    assert transient_errors.is_full(caught.value)
    assert cache.add("new", 1)
    assert not cache.add("new", 2)
    assert cache.get("new") == 1
