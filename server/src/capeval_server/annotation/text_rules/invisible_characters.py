"""Invisible characters in collected captions: detection, description and removal.

Bidirectional controls, zero-width characters, tags and other characters without a glyph change the order in
which a text is shown, or how it is tokenized. Characters that scripts and emoji need are kept: joiners
between letters of Arabic and Indic scripts, and the joiners, variation selectors and tags of emoji sequences.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["describe_invisible", "find_invisible", "name_of", "remove_invisible"]

_MOST_NAMED = 5
_LONGEST_CONTEXT = 20
_JOINERS = ("\u200c", "\u200d")
_EMOJI_SELECTORS = ("\ufe0e", "\ufe0f")
# Selectors of variants of letters and symbols, without the selectors of emoji variants.
_SELECTORS = re.compile("[\ufe00-\ufe0d\u180b-\u180d\u180f\U000e0100-\U000e01ef]")
# Characters without a glyph that Unicode calls letters, marks or symbols: fillers, and an empty Braille cell.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800")
# Format characters with a glyph, such as the signs before Arabic numbers.
_SHOWN = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]")
# Flags of regions, such as the flag of Scotland: a black flag, tags, and the tag that ends them.
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2190-\u2bff\u00a9\u00ae\u203c\u2049\u2122\u2139\u3030\u303d\u3297\u3299]"
)
_SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff]")
# The beginnings of the names of letters that joiners can join or keep apart.
_JOINED_SCRIPT = re.compile(
    "(ARABIC|SYRIAC|MANDAIC|NKO|ADLAM|MONGOLIAN|DEVANAGARI|BENGALI|GURMUKHI|GUJARATI|ORIYA|TAMIL|TELUGU"
    "|KANNADA|MALAYALAM|SINHALA|TIBETAN|MYANMAR|KHMER|BALINESE|JAVANESE) "
)
_VIRAMA = 9


def find_invisible(text: str) -> tuple[int, ...]:
    """Return the positions of invisible characters that the text does not need.

    Scripts and emoji need some of them.

    White space is not included: captions are stored with single spaces.
    """
    flags = {place for match in _FLAG.finditer(text) for place in range(*match.span())}
    return tuple(
        place
        for place, character in enumerate(text)
        if _is_invisible(character) and place not in flags and not _is_needed(text, place)
    )


def remove_invisible(text: str) -> str:
    """Return a text without invisible characters, in one line with single spaces."""
    places = set(find_invisible(text))
    visible = "".join(character for place, character in enumerate(text) if place not in places)
    return " ".join(visible.split())


def describe_invisible(text: str) -> str:
    """Describe the invisible characters of a text and their positions.

    For example: `U+202E RIGHT-TO-LEFT OVERRIDE after 'A dog'`. The result is empty if the text has none.
    """
    places = find_invisible(text)
    named = [f"{name_of(text[place])} {_describe_context(text, place)}" for place in places[:_MOST_NAMED]]
    more = [f"and {len(places) - _MOST_NAMED:,} more"] if len(places) > _MOST_NAMED else []
    return "; ".join([*named, *more])


def name_of(character: str) -> str:
    """Return the code point and name of a character, e.g. `U+200B ZERO WIDTH SPACE`."""
    return f"U+{ord(character):04X} {unicodedata.name(character, 'CONTROL CHARACTER')}"


def _describe_context(text: str, place: int) -> str:
    before = remove_invisible(text[:place])
    return f"after {before[-_LONGEST_CONTEXT:]!r}" if before else "at the start"


def _is_invisible(character: str) -> bool:
    if character.isspace():
        return False
    if unicodedata.category(character) in ("Cc", "Cf"):
        return not _SHOWN.match(character)
    is_selector = character in _EMOJI_SELECTORS or bool(_SELECTORS.match(character))
    return is_selector or character in _BLANK


def _is_needed(text: str, place: int) -> bool:
    """Return whether a script or an emoji sequence needs an invisible character."""
    character, before, after = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if not before:
        return False
    if character in _JOINERS:
        return _joins_letters(before, after) or (character == "\u200d" and _joins_emoji(text, place))
    if character in _EMOJI_SELECTORS:
        return bool(_EMOJI.match(before)) or (before in "0123456789#*" and after == "\u20e3")
    # Ideographs, letters of other scripts and signs of mathematics have variants.
    return bool(_SELECTORS.match(character)) and (
        unicodedata.category(before) in ("Lo", "Sm") and not before.isascii() and before not in _BLANK
    )


def _joins_letters(before: str, after: str) -> bool:
    if unicodedata.combining(before) == _VIRAMA:
        return True
    return _is_of_joined_script(before) and bool(after) and _is_of_joined_script(after)


def _is_of_joined_script(character: str) -> bool:
    is_letter = unicodedata.category(character)[0] in "LM" and not _is_invisible(character)
    return is_letter and bool(_JOINED_SCRIPT.match(unicodedata.name(character, "")))


def _joins_emoji(text: str, place: int) -> bool:
    before = text[place - 1]
    if place > 1 and (before == "\ufe0f" or _SKIN_TONES.match(before)):
        before = text[place - 2]
    return bool(_EMOJI.match(before)) and bool(_EMOJI.match(text, place + 1))
