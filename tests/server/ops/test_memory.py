"""In-memory cache of a server process between requests."""

from __future__ import annotations

from capeval_server.leaderboards.bounded_cache import BoundedCache


def test_values_are_of_their_groups() -> None:
    memory: BoundedCache[str, int] = BoundedCache(most=10)
    memory.add("first", {"a": 1, "b": 2})
    memory.add("second", {"a": 3})
    assert memory.known("first", ["a", "b", "c"]) == {"a": 1, "b": 2}
    assert memory.known("second", ["a", "b"]) == {"a": 3}
    assert memory.known("third", ["a"]) == {}


def test_it_does_not_grow_without_end() -> None:
    memory: BoundedCache[int, int] = BoundedCache(most=10)
    for number in range(100):
        memory.add(str(number % 3), {number: number})
        found = [memory.known(str(group), range(100)) for group in range(3)]
        assert sum(map(len, found)) <= 10
        assert found[number % 3][number] == number


def test_what_is_remembered_again_counts_once() -> None:
    memory: BoundedCache[int, int] = BoundedCache(most=2)
    for _ in range(5):
        memory.add("group", {1: 1})
    memory.add("group", {2: 2})
    assert memory.known("group", [1, 2]) == {1: 1, 2: 2}


def test_the_least_recently_used_values_are_dropped_first() -> None:
    cache: BoundedCache[str, str] = BoundedCache(most=6, size_of=len)
    cache.add("group", {"a": "xxx", "b": "xx"})
    assert cache.known("group", ["a"]) == {"a": "xxx"}
    cache.add("group", {"c": "xx"})
    assert cache.known("group", ["a", "b", "c"]) == {"a": "xxx", "c": "xx"}
