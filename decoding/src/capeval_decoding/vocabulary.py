"""The words of a captioner, and their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from capeval.errors import OptionError
from capeval.errors.messages import listed

__all__ = ["BOUNDARY", "UNKNOWN", "Vocabulary"]

UNKNOWN = "@@UNKNOWN@@"
"""The word that stands for all that are not in a vocabulary; it is padding too."""

BOUNDARY = "@@BOUNDARY@@"
"""The word that a caption begins and ends with."""


@dataclass(frozen=True)
class Vocabulary:
    """The words of a captioner. A word's number is its position.

    Attributes:
        words: The words, each once; the first two are `UNKNOWN` and `BOUNDARY`.
    """

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.words[:2] != (UNKNOWN, BOUNDARY):
            raise OptionError(
                f"'words' must begin with {UNKNOWN!r} and {BOUNDARY!r} (got {listed(self.words[:2])})"
            )
        if len(self.numbers) != len(self.words):
            repeated = [word for at, word in enumerate(self.words) if self.numbers[word] != at]
            raise OptionError(f"'words' must have each word once (got {listed(repeated)} again)")

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    @property
    def unknown(self) -> int:
        """The number of `UNKNOWN`."""
        return 0

    @property
    def boundary(self) -> int:
        """The number of `BOUNDARY`."""
        return 1

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Iterable[str]) -> list[int]:
        """The numbers of words; that of `UNKNOWN` for those that are not in the vocabulary."""
        return [self.numbers.get(word, self.unknown) for word in words]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of a caption: its words with a space between them."""
        return " ".join(self.words[token] for token in tokens)
