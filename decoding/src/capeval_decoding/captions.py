"""The captions that a captioner learns from, as numbers of words, and the vocabulary that they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from capeval import References, Tokenizer, tokenize
from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.formats.io.rows import text_lines
from capeval.formats.io.sources import naming
from capeval.toolkit import checked_integer
from capeval_decoding.vocabulary import BOUNDARY, UNKNOWN, Vocabulary

__all__ = [
    "Captions",
    "build_vocabulary",
    "encode_captions",
    "load_vocabulary",
    "words_of_captions",
]

# Lower case, and without punctuation and brackets.
_TOKENIZER = Tokenizer(punctuation="paper")


@dataclass(frozen=True, kw_only=True, eq=False)
class Captions:
    """Captions to learn from.

    Attributes:
        images: The image of each caption.
        tokens: The numbers of the words of each caption, in a row that is filled up with 0.
    """

    images: tuple[int, ...]
    tokens: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.images)


def words_of_captions(captions: References) -> list[tuple[int, list[str]]]:
    """The image and the words of each caption.

    Raises:
        OptionError: The ids of images are not integers, as they are in files of features.
    """
    images = [image for image, texts in captions.items() for _ in texts]
    integers = [image for image in images if isinstance(image, int)]
    if len(integers) < len(images):
        raise OptionError("images of captions to learn from must have integers as ids (got strings)")
    words = tokenize(list(chain.from_iterable(captions.values())), _TOKENIZER)
    return list(zip(integers, words, strict=True))


def build_vocabulary(
    captions: Iterable[Iterable[str]], *, least: int = 5, more: Iterable[str] = ()
) -> Vocabulary:
    """The vocabulary of some captions, in alphabetical order.

    Args:
        captions: The words of each caption.
        least: How often captions must have a word.
        more: Words that the vocabulary gets besides, however rare they are, such as those of constraints.

    Raises:
        OptionError: No word is frequent enough.
    """
    checked_integer("least", least, 1)
    counts = Counter(chain.from_iterable(captions))
    words = {word for word, count in counts.items() if count >= least}
    if not words:
        most = max(counts.values(), default=0)
        raise OptionError(f"'least' must be at most {most}, which the most frequent word has (got {least})")
    return Vocabulary((UNKNOWN, BOUNDARY, *sorted(words.union(more) - {UNKNOWN, BOUNDARY})))


def encode_captions(
    captions: Iterable[tuple[int, list[str]]], vocabulary: Vocabulary, *, most_words: int = 20
) -> Captions:
    """Captions as numbers of words, cut after `most_words` words.

    A caption without a word of the vocabulary teaches nothing, and is left out.

    Raises:
        OptionError: No caption has a word of the vocabulary.
    """
    checked_integer("most_words", most_words, 1)
    images, rows = [], []
    for image, words in captions:
        numbers = vocabulary.encode(words[:most_words])
        if any(numbers):
            images.append(image)
            rows.append(numbers)
    if not rows:
        raise OptionError("captions must have words of the vocabulary (got none that has)")
    tokens = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for row, numbers in zip(tokens, rows, strict=True):
        row[: len(numbers)] = numbers
    return Captions(images=tuple(images), tokens=tokens)


def load_vocabulary(path: str | Path) -> Vocabulary:
    """Reads a vocabulary: a word a line, as in the published `tokens.txt`.

    Raises:
        FormatError: The file is not UTF-8, or the words are not those of a vocabulary.
        OSError: The file can't be read.
    """
    words = []
    with naming(path):
        for line, word in text_lines(path):
            if word.split() != [word]:
                message = f"line {line}: must be a word without white space (got {word!r})"
                raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, line=line)
            words.append(word)
        try:
            return Vocabulary(tuple(words))
        except OptionError as error:
            raise FormatError(str(error), kind=FormatErrorKind.WRONG_VALUE) from None
