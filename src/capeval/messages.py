"""How messages show what can be long: images, names, ids of any length."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["first_few", "id_types", "listed", "shortened"]

_LONGEST = 80
_IMAGES = 5
_NAMES = 3
_TYPES = {int: "integers", str: "strings"}


def first_few(images: Sequence[int | str]) -> str:
    """`image 7 is`, or `12 images (1, 2, 3, 4, 5, ...) are`."""
    if len(images) == 1:
        return f"image {shortened(images[0])} is"
    named = ", ".join(shortened(image) for image in images[:_IMAGES])
    more = ", ..." if len(images) > _IMAGES else ""
    return f"{len(images):,} images ({named}{more}) are"


def id_types(found: int | str, expected: int | str) -> str:
    """`; image ids must be integers (got strings)`, where two ids have different types; else nothing."""
    if type(found) is type(expected):
        return ""
    return f"; image ids must be {_TYPES[type(expected)]} (got {_TYPES[type(found)]})"


def listed(names: Sequence[str]) -> str:
    """`'a', 'b', 'c' and 4 more`."""
    more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
    return ", ".join(map(repr, names[:_NAMES])) + more


def shortened(value: object) -> str:
    """A value as Python writes it, cut off after 80 characters: ids come from files, and can be long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
