"""Validation of user and team names, and keys that detect confusable names."""

from __future__ import annotations

import unicodedata
from functools import cache

__all__ = ["LONGEST_KEY", "compute_name_keys", "find_name_problem"]

# Maximum length of a name's key. Normalization expands some characters: ﷺ becomes 18.
LONGEST_KEY = 300
# Leaderboards show the human baseline under this name.
_RESERVED = ("human",)
# Letters and symbols without ink: Korean fillers, the blank Braille pattern.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
# Marks without ink: joiners, inherent vowels of Khmer, variation selectors.
_UNSEEN = frozenset(
    map(
        chr, (0x34F, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
    )
)
# No written language needs more on one letter.
_MOST_MARKS = 4


def find_name_problem(name: str) -> str:
    """Return the problem of a name, as it follows "the name", or "" if it is valid."""
    if not name.isprintable() or _UNSEEN & set(name) or _BLANK & set(name):
        return "must not contain invisible or unprintable characters"
    if not any(unicodedata.category(character)[0] in "LN" for character in name):
        return "must contain a letter or a digit"
    if _has_stacked_marks(name):
        return f"must have at most {_MOST_MARKS} combining marks per letter"
    keys = compute_name_keys(name)
    if max(map(len, keys)) > LONGEST_KEY:
        return "is too long"
    reserved = next((word for word in _RESERVED if set(keys) & set(compute_name_keys(word))), None)
    return f"must not look like {reserved!r}, the name of the human baseline" if reserved else ""


def compute_name_keys(name: str) -> tuple[str, str]:
    """Return two keys of a name; names with an equal key look alike.

    The first key is computed from the case-folded name, the second from the name as written: `Il` looks like
    `ll`, but also like `IL` after case folding. Characters look alike if Unicode lists them as confusables.
    """
    normal = " ".join(unicodedata.normalize("NFKC", name).split())
    return _compute_skeleton(normal.casefold()), _compute_skeleton(normal).casefold()


def _has_stacked_marks(name: str) -> bool:
    run = 0
    for character in unicodedata.normalize("NFD", name):
        run = run + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if run > _MOST_MARKS:
            return True
    return False


def _compute_skeleton(text: str) -> str:
    """Return the skeleton of Unicode Technical Standard 39, less invisible characters."""
    prototypes = _load_prototypes()
    seen = (character for character in unicodedata.normalize("NFD", text) if character not in _UNSEEN)
    return unicodedata.normalize("NFD", "".join(prototypes.get(one, one) for one in seen))


@cache
def _load_prototypes() -> dict[str, str]:
    """Return the prototype of each confusable character, one per confusable group.

    The package lists each pair in both directions. A prototype occurs in more pairs than the characters that
    look like it.
    """
    from confusable_homoglyphs.confusables import confusables_data

    # The package puts direction marks around right-to-left characters.
    pairs = {
        one.strip("\u200e"): [other["c"].strip("\u200e") for other in others]
        for one, others in confusables_data.items()
    }

    def rank(text: str) -> tuple[int, str]:
        return -len(pairs.get(text, ())), text

    return {
        one: found
        for one, others in pairs.items()
        if len(one) == 1 and rank(found := min(others, key=rank)) < rank(one)
    }
