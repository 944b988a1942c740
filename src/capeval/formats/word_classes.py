"""Lists of words and their classes."""

from __future__ import annotations

from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.rows import text_lines
from capeval.formats.io.sources import LIMIT, File, naming

__all__ = ["WORD_CLASSES", "load_word_classes"]

WORD_CLASSES = ("noun", "verb", "adjective")
"""The classes of words; a word may be in none."""


def load_word_classes(file: File, *, limit: int = LIMIT) -> dict[str, str]:
    """A list of words and their classes: a word, a tab and its class on each line; `#` starts a comment.

    Args:
        file: The path of the file, or its bytes.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: A line is something else, or a word is listed twice.
        OSError: The file can't be read.
    """
    classes: dict[str, str] = {}
    with naming(file):
        for number, line in text_lines(file, limit):
            if not line.strip() or line.startswith("#"):
                continue
            word, _, name = line.partition("\t")
            if name not in WORD_CLASSES:
                expected = f"a word, a tab and one of {', '.join(WORD_CLASSES)}"
                message = f"line {number} must be {expected} (got {line!r})"
                raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, line=number)
            if word in classes:
                message = f"line {number} must have a new word (got {word!r} again)"
                raise FormatError(message, kind=FormatErrorKind.DUPLICATE, line=number)
            classes[word] = name
    return classes
