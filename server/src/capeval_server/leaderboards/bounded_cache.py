"""Bounded in-process cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

__all__ = ["BoundedCache"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """Thread-safe cache of values by group and key, with LRU eviction.

    Args:
        most: The maximum total size of the values.
        size_of: Returns the size of a value; by default, each value has size 1.
    """

    def __init__(self, *, most: int, size_of: Callable[[Value], int] = lambda _: 1) -> None:
        self._values: OrderedDict[tuple[str, Key], Value] = OrderedDict()
        self._size = 0
        self._most, self._size_of = most, size_of
        self._lock = threading.Lock()

    def known(self, group: str, keys: Iterable[Key]) -> dict[Key, Value]:
        """Return the cached values of some keys of a group."""
        found: dict[Key, Value] = {}
        values = self._values
        with self._lock:
            for key in keys:
                place = (group, key)
                if place in values:
                    values.move_to_end(place)
                    found[key] = values[place]
        return found

    def add(self, group: str, values: Mapping[Key, Value]) -> None:
        """Add values of a group. Values that are already cached are kept."""
        with self._lock:
            for key, value in values.items():
                if (group, key) not in self._values:
                    self._values[group, key] = value
                    self._size += self._size_of(value)
            while self._size > self._most:
                _, dropped = self._values.popitem(last=False)
                self._size -= self._size_of(dropped)
