"""Word class lists."""

from __future__ import annotations

from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.rows import text_lines
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors

__all__ = ["WORD_CLASSES", "load_word_classes"]

WORD_CLASSES = ("noun", "verb", "adjective")
"""The word classes; a word may belong to none."""


def load_word_classes(file: File, *, limit: int = LIMIT) -> dict[str, str]:
    r"""Read a list of words and their classes.

    Each line contains a word, a tab and the word's class; `#` starts a comment line.

    Args:
        file: The path of the file, or its bytes.
        limit: The maximum size of the file in bytes, also after decompression.

    Returns:
        The class of each word.

    Raises:
        FormatError: A line is invalid, or a word is listed twice.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.word_classes import load_word_classes
        >>> _ = Path("classes.tsv").write_text("# Words of captions\ndog\tnoun\nrun\tverb\nred\tadjective\n")
        >>> load_word_classes("classes.tsv")
        {'dog': 'noun', 'run': 'verb', 'red': 'adjective'}
    """
    classes: dict[str, str] = {}
    with add_path_to_errors(file):
        for number, line in text_lines(file, limit):
            if not line.strip() or line.startswith("#"):
                continue
            word, _, name = line.partition("\t")
            if name not in WORD_CLASSES:
                expected = f"a word, a tab and one of {', '.join(WORD_CLASSES)}"
                message = f"line {number} must be {expected} (got {line!r})"
                raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, line=number)
            if word in classes:
                message = f"line {number}: duplicate word {word!r}"
                raise FormatError(message, kind=FormatErrorKind.DUPLICATE, line=number)
            classes[word] = name
    return classes
