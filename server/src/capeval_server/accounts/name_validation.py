"""Names of teams and users: which can be had, and which look like others."""

from __future__ import annotations

import unicodedata
from functools import cache

__all__ = ["LONGEST_KEY", "keys_of", "problem_of"]

# The most characters of a name's key. Some characters stand for many: ﷺ stands for 18.
LONGEST_KEY = 300
# What leaderboards call the human baseline.
_RESERVED = ("human",)
# Letters and symbols that show nothing: fillers of Korean, an empty pattern of Braille.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
# Marks that show nothing: joiners, vowels of Khmer without a form, selectors of variants.
_UNSEEN = frozenset(
    map(
        chr, (0x34F, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
    )
)
# Written languages need no more on one letter.
_MOST_MARKS = 4


def problem_of(name: str) -> str:
    """Why a name can't be had by anybody, as it follows "the name"; empty if it can."""
    if not name.isprintable() or _UNSEEN & set(name) or _BLANK & set(name):
        return "must be one that can be printed, without invisible characters"
    if not any(unicodedata.category(character)[0] in "LN" for character in name):
        return "must have a letter or a digit"
    if _stacked(name):
        return f"must have at most {_MOST_MARKS} marks on a letter"
    keys = keys_of(name)
    if max(map(len, keys)) > LONGEST_KEY:
        return "is too long"
    reserved = next((word for word in _RESERVED if set(keys) & set(keys_of(word))), None)
    return f"must not look like {reserved!r}, which stands for the human baseline" if reserved else ""


def keys_of(name: str) -> tuple[str, str]:
    """Two keys: names of which one of the keys is the same look alike.

    The first one is of the name in small letters, and the second one of the name as it is written: `Il` looks
    like `ll`, and like `IL` in another case. Letters that look alike are those of Unicode's confusables.
    """
    normal = " ".join(unicodedata.normalize("NFKC", name).split())
    return _skeleton(normal.casefold()), _skeleton(normal).casefold()


def _stacked(name: str) -> bool:
    run = 0
    for character in unicodedata.normalize("NFD", name):
        run = run + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if run > _MOST_MARKS:
            return True
    return False


def _skeleton(text: str) -> str:
    """The skeleton of Unicode's technical standard 39, without what can't be seen."""
    prototypes = _prototypes()
    seen = (character for character in unicodedata.normalize("NFD", text) if character not in _UNSEEN)
    return unicodedata.normalize("NFD", "".join(prototypes.get(one, one) for one in seen))


@cache
def _prototypes() -> dict[str, str]:
    """What each character is confused with, in one form for all that are confused with each other.

    The package lists pairs in both directions: of a character and of the prototype that it looks like. A
    prototype is in more pairs than what looks like it.
    """
    from confusable_homoglyphs.confusables import confusables_data

    # Characters that are written from right to left stand between two marks of direction.
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
