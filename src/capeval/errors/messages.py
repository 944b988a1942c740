"""Parts of messages that several modules need, and how messages shorten long lists and ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan

__all__ = [
    "RESULTS_AS_REFERENCES",
    "SWAPPED",
    "first_few",
    "id_types",
    "images_problem",
    "listed",
    "one_candidate",
    "shortened",
    "shown_score",
]

SWAPPED = "the references have one caption an image: were references and results swapped?"
"""The hint where images have several candidates, and one reference."""

RESULTS_AS_REFERENCES = "the file has the form of results: were references and results swapped?"
"""The hint where the file of references can be read as results."""

_LONGEST = 80
_IMAGES = 5
_NAMES = 3
_TYPES = {int: "integers", str: "strings"}


def first_few(images: Sequence[int | str], noun: str = "image") -> str:
    """The beginning of a sentence: `image 7 is`, or `12 images (1, 2, 3, 4, 5, ...) are`."""
    if len(images) == 1:
        return f"{noun} {shortened(images[0])} is"
    first = ", ".join(shortened(image) for image in images[:_IMAGES])
    more = ", ..." if len(images) > _IMAGES else ""
    return f"{len(images):,} {noun}s ({first}{more}) are"


def one_candidate(image: int | str, count: int) -> str:
    """The message about an image with several candidates."""
    return f"every image must have one candidate (got {count} for image {shortened(image)})"


def id_types(found: int | str, expected: int | str) -> str:
    """The end of a message: `; image ids must be integers (got strings)`; empty where the types are equal."""
    if type(found) is type(expected):
        return ""
    return f"; image ids must be {_TYPES[type(expected)]} (got {_TYPES[type(found)]})"


def images_problem(
    found: Iterable[int | str], expected: Sequence[int | str], whole: str, without: str
) -> str:
    """`image 7 is not of split 'val'`, or `image 7 is without a caption`; empty if the images are the same.

    Args:
        found: The images of a file.
        expected: The images that it must have.
        whole: What these are, such as `split 'val'`.
        without: What an image that is missing lacks, such as `a caption`.
    """
    there, known = dict.fromkeys(found), set(expected)
    unknown = [image for image in there if image not in known]
    if unknown:
        return f"{first_few(unknown)} not of {whole}{id_types(unknown[0], expected[0])}"
    missing = [image for image in expected if image not in there]
    return f"{first_few(missing)} without {without}" if missing else ""


def listed(names: Sequence[str]) -> str:
    """`'a', 'b', 'c' and 4 more`."""
    more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
    return ", ".join(map(repr, names[:_NAMES])) + more


def shown_score(score: float) -> str:
    """A score with three decimals; a dash where it is not a number."""
    return "-" if isnan(score) else f"{score:.3f}"


def shortened(value: object) -> str:
    """The `repr` of a value, cut after 80 characters: ids come from files and can be long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
