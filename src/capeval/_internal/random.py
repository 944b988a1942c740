"""Random draws: all random generators of the package are made here.

The draws of a seed never change between versions. Some draws have always used Python's generator and some
numpy's, so both are here.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from capeval._internal.validation import checked_integer
from capeval.errors import MismatchError

__all__ = [
    "deal",
    "generator",
    "halves",
    "in_turn",
    "named_generator",
    "orders",
    "python_random",
    "resample_counts",
]

_Item = TypeVar("_Item")


def generator(seed: int, *numbers: int) -> np.random.Generator:
    """A numpy generator for a seed and further numbers, such as the number of a draw.

    Raises:
        OptionError: The seed is not an integer of at least 0.
    """
    return np.random.default_rng([checked_integer("seed", seed, 0), *numbers])


def named_generator(seed: int, name: str) -> np.random.Generator:
    """A numpy generator for a seed and a name, such as that of an image."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16]))


def python_random(seed: int, name: str | None = None) -> random.Random:
    """A generator of Python's `random` for a seed, or for a seed and a name."""
    return random.Random(seed if name is None else f"{seed}/{name}")  # noqa: S311 - nothing here is a secret.


def deal(items: Sequence[_Item], sizes: Sequence[int], *, seed: int = 0) -> list[list[_Item]]:
    """Deals items out to groups at random; the items of a group stay in their order.

    Args:
        items: The items.
        sizes: The size of each group; together, the number of items.
        seed: The seed.
    """
    order = generator(seed).permutation(len(items))
    parts = np.split(order, np.cumsum(sizes)[:-1])
    return [[items[position] for position in np.sort(part)] for part in parts]


def halves(count: int, *, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The positions 0 to `count` - 1 in two random halves; of an odd number the second has one more.

    Raises:
        MismatchError: There are fewer than two.
    """
    if count < 2:
        raise MismatchError(f"there must be at least two to halve (got {count})")
    order = generator(seed).permutation(count)
    return np.sort(order[: count // 2]), np.sort(order[count // 2 :])


def in_turn(items: Sequence[_Item], count: int, rng: random.Random) -> list[_Item]:
    """Draws `count` items: all of them in random order, then all again in another order, and so on."""
    drawn: list[_Item] = []
    while len(drawn) < count:
        drawn += rng.sample(list(items), len(items))
    return drawn[:count]


def orders(sizes: Sequence[int], rng: np.random.Generator) -> list[list[int]]:
    """A random order of the positions in each of several lists, such as the captions of each image.

    Args:
        sizes: The lengths of the lists.
        rng: The generator.
    """
    keys = rng.random((len(sizes), max(sizes)))
    return [np.argsort(row[:size]).tolist() for row, size in zip(keys, sizes, strict=True)]


def resample_counts(count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A bootstrap resample: how often each of `count` items is drawn when `count` are, with replacement."""
    return np.bincount(rng.integers(0, count, count), minlength=count)
