"""Database cache that raises an error if the disk is full."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.cache.backends.db import DatabaseCache
from django.db import OperationalError, connection, transaction

__all__ = ["Cache"]


class Cache(DatabaseCache):
    """Django's database cache, but a write error is raised.

    Django ignores the error and returns False. Rate limits that count in the cache would take this for too
    many attempts.
    """

    def _base_set(self, mode: str, key: str, value: object, timeout: Any = None) -> bool:
        refused: list[OperationalError] = []

        def noting(execute: Callable[..., Any], *query: Any) -> Any:
            try:
                return execute(*query)
            except OperationalError as error:
                refused.append(error)
                raise

        # PostgreSQL reports a full disk when a row is written, SQLite when the transaction ends.
        with connection.execute_wrapper(noting), transaction.atomic():
            done: bool = super()._base_set(mode, key, value, timeout)  # type: ignore[misc]
        if refused:
            raise refused[0]
        return done
