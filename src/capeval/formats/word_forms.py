"""Phrases that mention each Open Images class in a caption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from capeval.errors import OptionError
from capeval.formats.io.rows import read_table

__all__ = ["WordForms", "load_word_forms"]

_COLUMNS = ["class", "also", "phrases"]


@dataclass(frozen=True, kw_only=True, eq=False)
class WordForms:
    """The phrases of each class.

    Attributes:
        phrases: Phrases by lowercase class name; the words of a phrase are separated by spaces.
        detector_names: Names of classes in the published detector, if they differ.
        names: Class by each of its lowercase names.

    Example:
        >>> from capeval.datasets.word_forms import load_word_forms
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
            >>> from capeval.datasets.word_forms import load_word_forms
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
        >>> from capeval.datasets.word_forms import load_word_forms
        >>> forms = load_word_forms()
        >>> len(forms.phrases), forms.phrases["alarm clock"]
        (601, ('alarm clock', 'alarm clocks', 'clock radio', 'clock radios'))
    """
    source = Path(__file__).with_name("word_forms.tsv").read_bytes()
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
