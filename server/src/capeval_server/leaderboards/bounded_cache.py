"""What a process of the server remembers between requests of what it read or computed."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

__all__ = ["BoundedCache"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """Values of some groups by their keys. What a key names must never change.

    Args:
        most: How many values there may be in all; when there would be more, all are forgotten.
    """

    def __init__(self, *, most: int) -> None:
        self._groups: dict[Hashable, dict[Key, Value]] = {}
        self._number = 0
        self._most = most
        self._lock = threading.Lock()

    def known(self, group: Hashable, keys: Iterable[Key]) -> dict[Key, Value]:
        """The values of a group, of those of some keys that are remembered."""
        with self._lock:
            found = self._groups.get(group, {})
            return {key: found[key] for key in keys if key in found}

    def add(self, group: Hashable, values: Mapping[Key, Value]) -> None:
        """Remembers values of a group."""
        with self._lock:
            if self._number + len(values) > self._most:
                self._groups.clear()
                self._number = 0
            found = self._groups.setdefault(group, {})
            before = len(found)
            found.update(values)
            self._number += len(found) - before
