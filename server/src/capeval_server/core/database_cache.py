"""The cache in the database, which says so when it can't be written to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.cache.backends.db import DatabaseCache
from django.db import OperationalError, connection, transaction

__all__ = ["Cache"]


class Cache(DatabaseCache):
    """Django's own, but for writing to a full disk: that is an error.

    Django's ignores the error, and who counts attempts in the cache takes this for too many attempts.
    """

    def _base_set(self, mode: str, key: str, value: object, timeout: Any = None) -> bool:
        refused: list[OperationalError] = []

        def noting(execute: Callable[..., Any], *query: Any) -> Any:
            try:
                return execute(*query)
            except OperationalError as error:
                refused.append(error)
                raise

        # PostgreSQL says that its disk is full when a row is written, SQLite when the transaction ends.
        with connection.execute_wrapper(noting), transaction.atomic():
            done: bool = super()._base_set(mode, key, value, timeout)  # type: ignore[misc]
        if refused:
            raise refused[0]
        return done
