"""Phrases that mention each Open Images class in a caption."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from types import MappingProxyType

from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.errors.messages import format_names
from capeval.formats.io.rows import read_table, text_lines
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors
from capeval_decoding.state_machines import Constraint, Phrase
from capeval_decoding.vocabulary import Vocabulary

__all__ = [
    "PUBLISHED_NAMES",
    "WordForms",
    "constraint",
    "load_published_forms",
    "load_word_forms",
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

_COLUMNS = ["class", "also", "phrases"]


@dataclass(frozen=True, kw_only=True, eq=False)
class WordForms:
    """The phrases of each class.

    Attributes:
        phrases: Phrases by lowercase class name; the words of a phrase are separated by spaces.
        detector_names: Names of classes in the published detector, if they differ.
        names: Class by each of its lowercase names.

    Example:
        >>> from capeval_decoding.word_forms import load_word_forms
        >>> forms = load_word_forms()
        >>> forms.get_class("Ball")
        'ball (object)'
        >>> forms.phrases["ball (object)"]
        ('ball', 'balls')
    """

    phrases: Mapping[str, tuple[str, ...]]
    detector_names: Mapping[str, str]
    names: Mapping[str, str]

    def words(self) -> frozenset[str]:
        """Return the words of all phrases."""
        return frozenset(word for each in self.phrases.values() for phrase in each for word in phrase.split())

    def get_class(self, name: str) -> str:
        """Return the class with a name, ignoring case.

        Raises:
            OptionError: No class has this name.
        """
        if name.lower() not in self.names:
            raise OptionError(
                f"unknown class {name!r}: expected one of {len(self.phrases)} Open Images classes"
            )
        return self.names[name.lower()]

    def add_parents(self, parents: Mapping[str, Sequence[str]]) -> WordForms:
        """Return the phrases with those of the next higher classes, such as bear for polar bear.

        Args:
            parents: The next higher classes of each class below others (`Hierarchy.parents`).

        Example:
            >>> from capeval_decoding.word_forms import load_word_forms
            >>> forms = load_word_forms().add_parents({"polar bear": ["bear"]})
            >>> forms.phrases["polar bear"]
            ('polar bear', 'polar bears', 'bear', 'bears')
        """
        phrases = {
            name: tuple(
                dict.fromkeys(
                    (*own, *(each for higher in parents.get(name, ()) for each in self.phrases[higher]))
                )
            )
            for name, own in self.phrases.items()
        }
        return replace(self, phrases=MappingProxyType(phrases))


def load_word_forms() -> WordForms:
    """Load the phrases of the 601 boxable Open Images classes.

    They were chosen by capeval's authors.

    Example:
        >>> from capeval_decoding.word_forms import load_word_forms
        >>> forms = load_word_forms()
        >>> len(forms.phrases), forms.phrases["alarm clock"]
        (601, ('alarm clock', 'alarm clocks', 'clock radio', 'clock radios'))
    """
    source = files("capeval_decoding").joinpath("word_forms.tsv").read_bytes()
    header, rows = read_table(source)
    phrases, detector_names, names = {}, {}, {}
    for _, row in rows:
        name, also, given = (dict(zip(header, row, strict=True))[column] for column in _COLUMNS)
        phrases[name] = tuple(given.split(", "))
        names[name] = name
        if also:
            detector_names[name] = also
            names[also] = name
    return WordForms(
        phrases=MappingProxyType(phrases),
        detector_names=MappingProxyType(detector_names),
        names=MappingProxyType(names),
    )


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
