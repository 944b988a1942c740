"""Shared parts of messages, and abbreviation of long lists and ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan

__all__ = [
    "RESULTS_AS_REFERENCES",
    "SWAPPED",
    "describe_id_types",
    "describe_image_mismatch",
    "describe_several_candidates",
    "format_images",
    "format_names",
    "format_score",
    "shorten",
]

SWAPPED = "each image has only one reference; did you swap references and results?"
"""The hint if images have several candidates but one reference."""

RESULTS_AS_REFERENCES = "the file has the format of results; did you swap references and results?"
"""The hint if the reference file can be read as results."""

_LONGEST = 80
_IMAGES = 5
_NAMES = 3
_TYPES = {int: "integers", str: "strings"}


def format_images(images: Sequence[int | str], noun: str = "image") -> str:
    """Return the start of a sentence about images.

    Examples are `image 7 is` and `12 images (1, 2, 3, 4, 5, ...) are`.
    """
    if len(images) == 1:
        return f"{noun} {shorten(images[0])} is"
    first = ", ".join(shorten(image) for image in images[:_IMAGES])
    more = ", ..." if len(images) > _IMAGES else ""
    return f"{len(images):,} {noun}s ({first}{more}) are"


def describe_several_candidates(image: int | str, count: int) -> str:
    """Return the message about an image with several candidates."""
    return f"every image must have one candidate (got {count} for image {shorten(image)})"


def describe_id_types(found: int | str, expected: int | str) -> str:
    """Return the end of a message about different id types; empty if they are equal.

    An example is `; image ids must be integers (got strings)`.
    """
    if type(found) is type(expected):
        return ""
    return f"; image ids must be {_TYPES[type(expected)]} (got {_TYPES[type(found)]})"


def describe_image_mismatch(
    found: Iterable[int | str], expected: Sequence[int | str], whole: str, without: str
) -> str:
    """Return a message about unknown and missing images; empty if there are none.

    Examples are `image 7 is not in split 'val'` and `image 7 is missing a caption`. If all images of the
    file are unknown, the missing ones are not mentioned.

    Args:
        found: The images of a file.
        expected: The images that the file must contain.
        whole: Name of the expected images, such as `split 'val'`.
        without: Name of the content of an image, such as `a caption`.
    """
    there, known = dict.fromkeys(found), set(expected)
    unknown = [image for image in there if image not in known]
    missing = [image for image in expected if image not in there] if len(unknown) < len(there) else []
    problems = []
    if unknown:
        types = describe_id_types(unknown[0], expected[0])
        problems.append(f"{format_images(unknown)} not in {whole}{types}")
    if missing or not there:
        problems.append(f"{format_images(missing or expected)} missing {without}")
    return "; ".join(problems)


def format_names(names: Sequence[str]) -> str:
    """Join names for a message, such as `'a', 'b', 'c' and 4 more`."""
    more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
    return ", ".join(map(repr, names[:_NAMES])) + more


def format_score(score: float) -> str:
    """Format a score with three decimals, or NaN as a dash."""
    return "-" if isnan(score) else f"{score:.3f}"


def shorten(value: object) -> str:
    """Return the `repr` of a value, such as an id, truncated to 80 characters."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
