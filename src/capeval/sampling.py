"""Random draws: every draw of the package is made with a generator from here.

What a seed draws never changes. Some draws were first made with Python's generator and some with numpy's,
so there are both.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from capeval.checks import checked_integer
from capeval.errors import MismatchError
from capeval.types import Candidates, ImageId, References

__all__ = [
    "deal",
    "generator",
    "halves",
    "hold_out",
    "hold_out_several",
    "in_turn",
    "named_generator",
    "orders",
    "python_random",
    "resample_counts",
]

_Item = TypeVar("_Item")


def generator(seed: int, *numbers: int) -> np.random.Generator:
    """A generator of numpy for a seed; further numbers, such as that of a draw, give another one."""
    return np.random.default_rng([seed, *numbers])


def named_generator(seed: int, name: str) -> np.random.Generator:
    """A generator of numpy for what depends on a seed and a name alone, such as one image's captions."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16]))


def python_random(seed: int, name: str | None = None) -> random.Random:
    """A generator of Python for a seed, or for a seed and a name."""
    return random.Random(seed if name is None else f"{seed}/{name}")  # noqa: S311 - nothing here is a secret.


def hold_out(references: References, *, seed: int = 0) -> tuple[References, Candidates]:
    """Makes one caption of each image the candidate and leaves the others as references.

    Args:
        references: At least two captions for each image.
        seed: Of `random.Random`, whose `randrange(captions of the image)` chooses, image by image.

    Returns:
        The references without the captions held out, and the captions held out.

    Raises:
        MismatchError: An image has only one caption.
    """
    chance = python_random(seed)
    left: dict[ImageId, list[str]] = {}
    held: dict[ImageId, str] = {}
    for image, texts in references.items():
        if len(texts) < 2:
            raise MismatchError(f"every image must have at least two captions (got one for image {image!r})")
        held[image] = texts.pop(chance.randrange(len(texts)))
        left[image] = texts
    return References(left), Candidates(held)


def hold_out_several(
    captions: Mapping[ImageId, Sequence[str]], count: int = 2, *, seed: int = 0
) -> tuple[dict[ImageId, list[str]], dict[ImageId, list[str]]]:
    """Makes several captions of each image candidates; the others are its references, in their order.

    Args:
        captions: All captions by people, by image.
        count: How many captions of each image are candidates.
        seed: The seed; what is drawn for an image depends on it and the image alone.

    Returns:
        Candidates and references of each image.

    Raises:
        OptionError: `count` is below 1.
        MismatchError: An image has too few captions for candidates and a reference.
    """
    checked_integer("count", count, 1)
    candidates: dict[ImageId, list[str]] = {}
    references: dict[ImageId, list[str]] = {}
    for image in captions:
        texts = list(captions[image])
        if len(texts) <= count:
            raise MismatchError(
                f"image {image!r} must have at least {count + 1} captions, {count} to judge and a reference"
                f" (got {len(texts)})"
            )
        drawn = python_random(seed, repr(image)).sample(range(len(texts)), count)
        candidates[image] = [texts[place] for place in drawn]
        references[image] = [text for place, text in enumerate(texts) if place not in drawn]
    return candidates, references


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


def in_turn(items: Sequence[_Item], count: int, chance: random.Random) -> list[_Item]:
    """`count` items: all of them in random order, then all again in another order, and so on."""
    drawn: list[_Item] = []
    while len(drawn) < count:
        drawn += chance.sample(list(items), len(items))
    return drawn[:count]


def orders(sizes: Sequence[int], chance: np.random.Generator) -> list[list[int]]:
    """A random order of the positions in each of several lists, such as the captions of each image.

    Args:
        sizes: The lengths of the lists.
        chance: The generator.
    """
    keys = chance.random((len(sizes), max(sizes)))
    return [np.argsort(row[:size]).tolist() for row, size in zip(keys, sizes, strict=True)]


def resample_counts(count: int, chance: np.random.Generator) -> NDArray[np.int64]:
    """A bootstrap resample: how often each of `count` items is drawn when `count` are, with replacement."""
    return np.bincount(chance.integers(0, count, count), minlength=count)
