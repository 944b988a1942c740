"""The words that captions name objects with: for each class of Open Images phrases that mention it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.errors.messages import listed
from capeval.formats.io.rows import read_table, text_lines
from capeval.formats.io.sources import LIMIT, File, naming
from capeval_decoding.state_machines import Constraint, Phrase
from capeval_decoding.vocabulary import Vocabulary

__all__ = [
    "PUBLISHED_NAMES",
    "WordForms",
    "constraint",
    "load_published_forms",
    "load_word_forms",
    "published_constraint",
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
"""The names of classes that the published code calls otherwise."""

_COLUMNS = ["class", "also", "phrases"]


@dataclass(frozen=True, kw_only=True, eq=False)
class WordForms:
    """The phrases of each class.

    Attributes:
        phrases: The phrases of each class, by its name in lower case; a phrase is words with spaces between.
        detector_names: The names that the published detector has for some classes.
        names: The classes by all of their names in lower case.
    """

    phrases: Mapping[str, tuple[str, ...]]
    detector_names: Mapping[str, str]
    names: Mapping[str, str]

    def words(self) -> frozenset[str]:
        """The words of all phrases."""
        return frozenset(word for each in self.phrases.values() for phrase in each for word in phrase.split())

    def class_of(self, name: str) -> str:
        """The class of a name, in any case.

        Raises:
            OptionError: No class has this name.
        """
        if name.lower() not in self.names:
            raise OptionError(f"a class must be one of the {len(self.phrases)} of Open Images (got {name!r})")
        return self.names[name.lower()]


def load_word_forms() -> WordForms:
    """The phrases of the 601 classes of Open Images with boxes, which capeval's authors chose."""
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
    """The constraint that any of some phrases meets, of those whose words are all in a vocabulary.

    Raises:
        OptionError: The vocabulary lacks a word of each of them.
    """
    tried = [phrase.split() for phrase in phrases]
    known = [words for words in tried if all(word in vocabulary.numbers for word in words)]
    if not known:
        lacking = dict.fromkeys(word for words in tried for word in words if word not in vocabulary.numbers)
        raise OptionError(
            f"constraint {name!r} must have a phrase of words in the vocabulary, which lacks"
            f" {listed(list(lacking))}"
        )
    return Constraint(
        name=name,
        phrases=tuple(tuple(frozenset({vocabulary.numbers[word]}) for word in words) for words in known),
    )


def load_published_forms(file: File, *, limit: int = LIMIT) -> dict[str, tuple[str, ...]]:
    """The forms of each word, from a file of the published code: a word, a tab, and its forms with commas.

    Args:
        file: The path of the file, or its bytes.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else; the error says which line.
        OSError: The file can't be read.
    """
    forms: dict[str, tuple[str, ...]] = {}
    with naming(file):
        for number, line in text_lines(file, limit):
            word, tab, rest = line.rstrip("\r").partition("\t")
            if not word or not tab or not all(rest.split(",")):
                message = f"line {number} must be a word, a tab and its forms with commas (got {line[:60]!r})"
                raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, line=number)
            forms[word] = tuple(rest.split(","))
    return forms


def published_constraint(name: str, forms: Mapping[str, Sequence[str]], vocabulary: Vocabulary) -> Constraint:
    """The constraint that the published code makes of a class: at each place any form of that word counts.

    A form that the vocabulary lacks counts as the unknown word, as it does there.

    Raises:
        OptionError: A word of the class has no forms.
    """
    words = PUBLISHED_NAMES.get(name, name).split()
    lacking = [word for word in words if word not in forms]
    if lacking:
        raise OptionError(
            f"the words of constraint {name!r} must have forms (got none for {listed(lacking)})"
        )
    phrase: Phrase = tuple(frozenset(vocabulary.encode(forms[word])) for word in words)
    return Constraint(name=name, phrases=(phrase,))
