"""Singulars of English nouns, for lists of object words."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["make_singular"]

# Endings that stay as they are, and irregular plurals.
_UNCHANGED = ("scissors", "luggage", "bison", "series", "news", "species", "collies", "doggies")
_IRREGULAR = {
    "people": "person",
    "children": "child",
    "men": "man",
    "geese": "goose",
    "oxen": "ox",
    "kine": "cow",
    "leaves": "leaf",
    "loaves": "loaf",
    "feet": "foot",
    "teeth": "tooth",
}
# Endings of plurals with the letters to remove and to add; the first that fits counts.
_ENDINGS = (
    (("mice", "lice"), 3, "ouse"),
    (("shoes",), 1, ""),
    (("oes", "buses", "xes", "ches", "sses", "shes"), 2, ""),
    (("aies", "eies", "iies", "oies", "uies", "yies"), 1, ""),
    (("ies",), 3, "y"),
    (("nives", "lives", "wives"), 3, "fe"),
    (("alves", "elves", "olves"), 3, "f"),
    (("s",), 1, ""),
)


@lru_cache(maxsize=1 << 16)
def make_singular(word: str) -> str:
    """Return the singular of a lowercase noun.

    For COCO's object words, the result is that of the library that the published code of CHAIR uses. Singular
    nouns in -s lose their last letter, so that "bus" becomes "bu".

    Example:
        >>> from capeval._internal.singulars import make_singular
        >>> [make_singular(word) for word in ("women", "dogs", "knives", "buses", "bus")]
        ['woman', 'dog', 'knife', 'bus', 'bu']
    """
    if word.endswith(_UNCHANGED):
        return word
    for ending, singular in _IRREGULAR.items():
        if word.endswith(ending):
            return word[: -len(ending)] + singular
    for endings, removed, added in _ENDINGS:
        if word.endswith(endings):
            return word[:-removed] + added
    return word
