"""Training captions as token ids, and their vocabulary."""

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
from capeval.formats.io.sources import add_path_to_errors
from capeval.toolkit import validate_integer
from capeval_decoding.vocabulary import BOUNDARY, UNKNOWN, Vocabulary

__all__ = [
    "Captions",
    "build_vocabulary",
    "encode_captions",
    "load_vocabulary",
    "tokenize_captions",
]

# Lowercases the text, and removes punctuation and brackets.
_TOKENIZER = Tokenizer(punctuation="paper")


@dataclass(frozen=True, kw_only=True, eq=False)
class Captions:
    """Training captions.

    Attributes:
        images: Image id of each caption.
        tokens: Token ids, one row per caption, padded with 0.
    """

    images: tuple[int, ...]
    tokens: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.images)


def tokenize_captions(captions: References) -> list[tuple[int, list[str]]]:
    """Return the image id and the words of each caption.

    Raises:
        OptionError: An image id is not an integer, as required by feature files.

    Example:
        >>> from capeval import References
        >>> from capeval_decoding.captions import tokenize_captions
        >>> tokenize_captions(References({7: ["A dog runs.", "The dog is outside!"]}))
        [(7, ['a', 'dog', 'runs']), (7, ['the', 'dog', 'is', 'outside'])]
    """
    images = [image for image, texts in captions.items() for _ in texts]
    integers = [image for image in images if isinstance(image, int)]
    if len(integers) < len(images):
        raise OptionError("image ids of training captions must be integers (got strings)")
    words = tokenize(list(chain.from_iterable(captions.values())), _TOKENIZER)
    return list(zip(integers, words, strict=True))


def build_vocabulary(
    captions: Iterable[Iterable[str]], *, least: int = 5, more: Iterable[str] = ()
) -> Vocabulary:
    """Build the vocabulary of captions, in alphabetical order.

    Args:
        captions: Words of each caption.
        least: Minimum number of occurrences of a word.
        more: Additional words regardless of their frequency, such as the words of constraints.

    Raises:
        OptionError: No word is frequent enough.

    Example:
        >>> from capeval_decoding.captions import build_vocabulary
        >>> captions = [["a", "dog", "runs"], ["a", "dog", "sleeps"], ["a", "cat", "sleeps"]]
        >>> build_vocabulary(captions, least=2, more=["harp"]).words
        ('@@UNKNOWN@@', '@@BOUNDARY@@', 'a', 'dog', 'harp', 'sleeps')
    """
    validate_integer("least", least, 1)
    counts = Counter(chain.from_iterable(captions))
    words = {word for word, count in counts.items() if count >= least}
    if not words:
        most = max(counts.values(), default=0)
        raise OptionError(
            f"'least' must be at most {most}, the count of the most frequent word (got {least})"
        )
    return Vocabulary((UNKNOWN, BOUNDARY, *sorted(words.union(more) - {UNKNOWN, BOUNDARY})))


def encode_captions(
    captions: Iterable[tuple[int, list[str]]], vocabulary: Vocabulary, *, most_words: int = 20
) -> Captions:
    """Encode captions as token ids, truncated to `most_words` words.

    Captions without a word of the vocabulary are dropped, since they do not contribute to the loss.

    Raises:
        OptionError: No caption has a word of the vocabulary.

    Example:
        >>> from capeval_decoding.captions import encode_captions
        >>> from capeval_decoding.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
        >>> vocabulary = Vocabulary((UNKNOWN, BOUNDARY, "a", "dog", "runs"))
        >>> captions = encode_captions([(7, ["a", "dog", "runs"]), (8, ["a", "dog"])], vocabulary)
        >>> captions.images, captions.tokens.tolist()
        ((7, 8), [[2, 3, 4], [2, 3, 0]])
    """
    validate_integer("most_words", most_words, 1)
    images, rows = [], []
    for image, words in captions:
        numbers = vocabulary.encode(words[:most_words])
        if any(numbers):
            images.append(image)
            rows.append(numbers)
    if not rows:
        raise OptionError("no caption has a word of the vocabulary")
    tokens = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for row, numbers in zip(tokens, rows, strict=True):
        row[: len(numbers)] = numbers
    return Captions(images=tuple(images), tokens=tokens)


def load_vocabulary(path: str | Path) -> Vocabulary:
    r"""Load a vocabulary with one word per line, like the published `tokens.txt`.

    Raises:
        FormatError: The file is not UTF-8, or its words do not form a valid vocabulary.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval_decoding.captions import load_vocabulary
        >>> _ = Path("tokens.txt").write_text("@@UNKNOWN@@\n@@BOUNDARY@@\na\ndog\n")
        >>> load_vocabulary("tokens.txt").numbers
        {'@@UNKNOWN@@': 0, '@@BOUNDARY@@': 1, 'a': 2, 'dog': 3}
    """
    words = []
    with add_path_to_errors(path):
        for line, word in text_lines(path):
            if word.split() != [word]:
                message = f"line {line}: expected a word without whitespace (got {word!r})"
                raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, line=line)
            words.append(word)
        try:
            return Vocabulary(tuple(words))
        except OptionError as error:
            raise FormatError(str(error), kind=FormatErrorKind.WRONG_VALUE) from None
