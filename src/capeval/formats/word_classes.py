"""Lists of words and their classes."""

from __future__ import annotations

from pathlib import Path

from capeval.errors import FormatError, FormatErrorKind

__all__ = ["WORD_CLASSES", "load_word_classes"]

WORD_CLASSES = ("noun", "verb", "adjective")
"""The classes that words are put in; a word may be in none."""


def load_word_classes(path: str | Path) -> dict[str, str]:
    """A list of words and their classes: a word, a tab and its class on each line; `#` starts a comment.

    Raises:
        FormatError: A line is something else, or a word is there twice.
        OSError: The file can't be read.
    """
    classes: dict[str, str] = {}
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise FormatError("a list of words must be UTF-8", kind=FormatErrorKind.NOT_UTF8, path=path) from None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        word, _, name = line.partition("\t")
        if name not in WORD_CLASSES:
            message = f"must be a word, a tab and one of {', '.join(WORD_CLASSES)} (got {line!r})"
            raise FormatError(
                f"line {number} {message}", kind=FormatErrorKind.WRONG_TYPE, line=number, path=path
            )
        if word in classes:
            raise FormatError(
                f"line {number}: the word {word!r} must be there once (got it again)",
                kind=FormatErrorKind.DUPLICATE,
                line=number,
                path=path,
            )
        classes[word] = name
    return classes
