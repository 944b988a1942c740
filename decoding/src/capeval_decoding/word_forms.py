"""Constraints from the phrases that mention Open Images classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.errors.messages import format_names
from capeval.formats.io.rows import text_lines
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors
from capeval_decoding.state_machines import Constraint, Phrase
from capeval_decoding.vocabulary import Vocabulary

__all__ = [
    "PUBLISHED_NAMES",
    "constraint",
    "load_published_forms",
    "make_published_constraint",
]

PUBLISHED_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "band-aid": "bandaid",
        "kitchen & dining room table": "table",
        "luggage and bags": "luggage",
        "power plugs and sockets": "power plugs",
        "salt and pepper shakers": "salt and pepper",
        "wood-burning stove": "wood burning stove",
    }
)
"""Class names that differ in the published code: Open Images name to published name."""


def constraint(name: str, phrases: Iterable[str], vocabulary: Vocabulary) -> Constraint:
    """Return a constraint met by any phrase with all of its words in the vocabulary.

    Raises:
        OptionError: Every phrase has a word that is not in the vocabulary.

    Example:
        >>> from capeval_decoding.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
        >>> from capeval_decoding.word_forms import constraint
        >>> vocabulary = Vocabulary((UNKNOWN, BOUNDARY, "fire", "hydrant", "hydrants"))
        >>> constraint("fire hydrant", ["fire hydrant", "fire hydrants", "fireplug"], vocabulary).phrases
        ((frozenset({2}), frozenset({3})), (frozenset({2}), frozenset({4})))
    """
    tried = [phrase.split() for phrase in phrases]
    known = [words for words in tried if all(word in vocabulary.numbers for word in words)]
    if not known:
        lacking = dict.fromkeys(word for words in tried for word in words if word not in vocabulary.numbers)
        raise OptionError(
            f"constraint {name!r} has no phrase with all words in the vocabulary (missing:"
            f" {format_names(list(lacking))})"
        )
    return Constraint(
        name=name,
        phrases=tuple(tuple(frozenset({vocabulary.numbers[word]}) for word in words) for words in known),
    )


def load_published_forms(file: File, *, limit: int = LIMIT) -> dict[str, tuple[str, ...]]:
    r"""Load the word forms file of the published code.

    Each line holds a word, a tab, and the comma-separated forms of the word.

    Args:
        file: Path or bytes of the file.
        limit: Maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: A line is invalid; the error names the line.
        OSError: The file can't be read.

    Example:
        >>> from capeval_decoding.word_forms import load_published_forms
        >>> load_published_forms(b"dog\tdog,dogs\nfire\tfire,fires\n")
        {'dog': ('dog', 'dogs'), 'fire': ('fire', 'fires')}
    """
    forms: dict[str, tuple[str, ...]] = {}
    with add_path_to_errors(file):
        for number, line in text_lines(file, limit):
            word, tab, rest = line.rstrip("\r").partition("\t")
            if not word or not tab or not all(rest.split(",")):
                message = (
                    f"line {number}: expected a word, a tab and comma-separated forms (got {line[:60]!r})"
                )
                raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, line=number)
            forms[word] = tuple(rest.split(","))
    return forms


def make_published_constraint(
    name: str, forms: Mapping[str, Sequence[str]], vocabulary: Vocabulary
) -> Constraint:
    """Return the published code's constraint of a class: all forms of each word.

    As in that code, forms outside of the vocabulary are encoded as the unknown word.

    Raises:
        OptionError: A word of the class has no forms.

    Example:
        >>> from capeval_decoding.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
        >>> from capeval_decoding.word_forms import make_published_constraint
        >>> vocabulary = Vocabulary((UNKNOWN, BOUNDARY, "fire", "hydrant", "hydrants"))
        >>> forms = {"fire": ["fire"], "hydrant": ["hydrant", "hydrants"]}
        >>> make_published_constraint("fire hydrant", forms, vocabulary).phrases
        ((frozenset({2}), frozenset({3, 4})),)
    """
    words = PUBLISHED_NAMES.get(name, name).split()
    lacking = [word for word in words if word not in forms]
    if lacking:
        raise OptionError(f"no word forms for {format_names(lacking)}, required by constraint {name!r}")
    phrase: Phrase = tuple(frozenset(vocabulary.encode(forms[word])) for word in words)
    return Constraint(name=name, phrases=(phrase,))
