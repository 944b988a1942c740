"""Random draws: the only place in the package that creates random generators.

The draws of a seed never change between versions. Some draws have always used Python's generator and others
numpy's, so this module provides both.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from capeval._internal.validation import validate_integer
from capeval.errors import MismatchError

__all__ = [
    "draw_in_rounds",
    "draw_resample_counts",
    "make_generator",
    "make_named_generator",
    "make_python_random",
    "orders",
    "split_in_halves",
    "split_randomly",
]

_Item = TypeVar("_Item")


def make_generator(seed: int, *numbers: int) -> np.random.Generator:
    """Return a numpy generator for a seed and numbers, such as the index of a draw.

    Raises:
        OptionError: The seed is not an integer of at least 0.
    """
    return np.random.default_rng([validate_integer("seed", seed, 0), *numbers])


def make_named_generator(seed: int, name: str) -> np.random.Generator:
    """Return a numpy generator for a seed and a name, such as an image id."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16]))


def make_python_random(seed: int, name: str | None = None) -> random.Random:
    """Return a generator of Python's `random` for a seed, or for a seed and a name."""
    return random.Random(seed if name is None else f"{seed}/{name}")  # noqa: S311 - nothing here is a secret.


def split_randomly(items: Sequence[_Item], sizes: Sequence[int], *, seed: int = 0) -> list[list[_Item]]:
    """Split items into random groups; each group keeps the original order.

    Args:
        items: The items.
        sizes: The size of each group; their sum is the number of items.
        seed: The seed.
    """
    order = make_generator(seed).permutation(len(items))
    parts = np.split(order, np.cumsum(sizes)[:-1])
    return [[items[position] for position in np.sort(part)] for part in parts]


def split_in_halves(count: int, *, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the positions 0 to `count` - 1 into two sorted random halves.

    If `count` is odd, the second half has one more.

    Raises:
        MismatchError: `count` is below 2.
    """
    if count < 2:
        raise MismatchError(f"cannot split fewer than two into halves (got {count})")
    order = make_generator(seed).permutation(count)
    return np.sort(order[: count // 2]), np.sort(order[count // 2 :])


def draw_in_rounds(items: Sequence[_Item], count: int, rng: random.Random) -> list[_Item]:
    """Draw `count` items: all of them in random order, then all again, and so on."""
    drawn: list[_Item] = []
    while len(drawn) < count:
        drawn += rng.sample(list(items), len(items))
    return drawn[:count]


def orders(sizes: Sequence[int], rng: np.random.Generator) -> list[list[int]]:
    """Return a random permutation for each list, such as each image's captions.

    Args:
        sizes: The lengths of the lists.
        rng: The generator.
    """
    keys = rng.random((len(sizes), max(sizes)))
    return [np.argsort(row[:size]).tolist() for row, size in zip(keys, sizes, strict=True)]


def draw_resample_counts(count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the number of times each item occurs in a bootstrap resample.

    Args:
        count: The number of items, and of draws with replacement.
        rng: The generator.
    """
    return np.bincount(rng.integers(0, count, count), minlength=count)
