"""Word classes from WordNet's dictionary files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from capeval.errors import ResourceError
from capeval.formats.word_classes import WORD_CLASSES

__all__ = ["classify_words"]

# Words of closed classes. WordNet does not contain these classes, but lists some of the words as rare nouns
# (such as "as" for arsenic).
_CLOSED_WORDS = """
    a about above across after against all along alongside although am amid among an and another any are
    around as at atop away back be because been before behind being below beneath beside besides between
    beyond both but by can could did do does doing down during each either else every few for from had
    has have having he her here hers him his i if in inside into is it its itself just like many may me
    might more most much must my near next no nor not of off on one onto or other our out outside over
    past several she should since so some than that the their them themselves then there these they this
    those though through throughout till to together too toward towards under underneath until up upon
    us various very via was we were what when where which while who whose why will with within without
    would you your two three four five six seven eight nine ten
"""
_CLOSED = frozenset(_CLOSED_WORDS.split())
# Classes by the digit in a sense key, their files, and the suffix rules of inflection (as in morphy).
_TYPES = {"1": "noun", "2": "verb", "3": "adjective", "4": "adverb", "5": "adjective"}
_FILES = {"noun": "noun", "verb": "verb", "adjective": "adj", "adverb": "adv"}
_ENDINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    "adjective": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adverb": (),
}
# WordNet's counts of base forms include inflected forms. These are rough shares in English text of the base
# form, of the form in -s, and of each other form: plurals and verbs in -s are rarer.
_SHARES = {
    "noun": (0.75, 0.25, 0.25),
    "verb": (0.375, 0.125, 0.25),
    "adjective": (1.0, 1.0, 1.0),
    "adverb": (1.0, 1.0, 1.0),
}


def classify_words(words: Iterable[str], folder: str | Path) -> dict[str, str]:
    """Return the most frequent class of each word in WordNet's tagged texts.

    WordNet counts the tagged occurrences of each sense of a base form. The singular of a noun receives three
    quarters of its count and the plural one quarter. The base form of a verb receives three eighths, the form
    in -s one eighth, and each of the two other forms two eighths.

    Words of closed classes, adverbs, and words missing from WordNet are excluded. Ties go to the class with
    more senses, and then to nouns, verbs and adjectives in this order.

    Args:
        words: Words in lower case.
        folder: The folder of WordNet's dictionary, such as `/usr/share/wordnet`.

    Returns:
        `noun`, `verb` or `adjective` for each word with such a class.

    Raises:
        ResourceError: A file is missing from the folder, or is damaged.
    """
    folder = Path(folder)
    try:
        counts = _count_tags(_read_lines(folder / "cntlist.rev"))
        senses = {name: dict(_parse_senses(_read_lines(folder / f"index.{_FILES[name]}"))) for name in _FILES}
        irregular = {
            name: dict(_parse_exceptions(_read_lines(folder / f"{_FILES[name]}.exc"))) for name in _FILES
        }
    except (ValueError, KeyError, IndexError):
        reason = f"{folder} must contain WordNet's dictionary (got files with these names but other content)"
        raise ResourceError(reason) from None
    classes = {}
    for word in words:
        if word in _CLOSED:
            continue
        ranked = []
        for place, name in enumerate(_FILES):
            bases = [base for base in _find_bases(word, name, irregular[name]) if base in senses[name]]
            if bases:
                tagged = sum(counts[name, base] * _get_share(name, word, base) for base in sorted(bases))
                ranked.append((tagged, sum(senses[name][base] for base in bases), -place, name))
        if ranked and max(ranked)[-1] in WORD_CLASSES:
            classes[word] = max(ranked)[-1]
    return classes


def _get_share(name: str, word: str, base: str) -> float:
    whole, in_s, other = _SHARES[name]
    if word == base:
        return whole
    return in_s if word.endswith("s") else other


def _find_bases(word: str, name: str, irregular: Mapping[str, tuple[str, ...]]) -> set[str]:
    bases = {word, *irregular.get(word, ())}
    for end, base in _ENDINGS[name]:
        if word.endswith(end) and len(word) > len(end) + 1:
            stem = word[: -len(end)]
            bases.add(stem + base)
            # Doubled consonants, as in "sitting" and "cutting".
            if name == "verb" and not base and len(stem) > 2 and stem[-1] == stem[-2]:
                bases.add(stem[:-1])
    return bases


def _read_lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as file:
            # The file starts with the license, in lines that start with spaces.
            yield from (line for line in file if line.strip() and not line.startswith(" "))
    except FileNotFoundError:
        raise ResourceError(
            f"the folder of WordNet's dictionary must contain {path.name} (got {path})"
        ) from None


def _count_tags(lines: Iterable[str]) -> defaultdict[tuple[str, str], int]:
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    for line in lines:
        key, _, count = line.split()
        base, _, rest = key.partition("%")
        counts[_TYPES[rest[0]], base] += int(count)
    return counts


def _parse_senses(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    for line in lines:
        base, _, number, *_ = line.split()
        yield base, int(number)


def _parse_exceptions(lines: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in lines:
        form, *bases = line.split()
        yield form, tuple(bases)
