"""Vocabulary of a captioner: words and token ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from capeval.errors import OptionError
from capeval.errors.messages import format_names

__all__ = ["BOUNDARY", "UNKNOWN", "Vocabulary"]

UNKNOWN = "@@UNKNOWN@@"
"""Token for words outside of the vocabulary; also used as padding."""

BOUNDARY = "@@BOUNDARY@@"
"""Start and end token of a caption."""


@dataclass(frozen=True)
class Vocabulary:
    """Vocabulary of a captioner. The token id of a word is its position.

    Attributes:
        words: Distinct words; the first two are `UNKNOWN` and `BOUNDARY`.

    Example:
        >>> from capeval_decoding.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
        >>> vocabulary = Vocabulary((UNKNOWN, BOUNDARY, "a", "dog", "runs"))
        >>> vocabulary.encode(["a", "zebra", "runs"])
        [2, 0, 4]
        >>> vocabulary.decode([2, 3, 4])
        'a dog runs'
    """

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.words[:2] != (UNKNOWN, BOUNDARY):
            raise OptionError(
                f"'words' must begin with {UNKNOWN!r} and {BOUNDARY!r} (got {format_names(self.words[:2])})"
            )
        if len(self.numbers) != len(self.words):
            repeated = [word for at, word in enumerate(self.words) if self.numbers[word] != at]
            raise OptionError(f"'words' must be distinct (got duplicates of {format_names(repeated)})")

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Token id of each word."""
        return {word: number for number, word in enumerate(self.words)}

    @property
    def unknown(self) -> int:
        """Token id of `UNKNOWN`."""
        return 0

    @property
    def boundary(self) -> int:
        """Token id of `BOUNDARY`."""
        return 1

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Iterable[str]) -> list[int]:
        """Return the token ids of words; unknown words get the id of `UNKNOWN`."""
        return [self.numbers.get(word, self.unknown) for word in words]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of a caption: its words, joined by spaces."""
        return " ".join(self.words[token] for token in tokens)
