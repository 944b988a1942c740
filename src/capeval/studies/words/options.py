"""Options of the words study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from capeval._internal.options import Level, Option, Samples, Seed, check_options

__all__ = ["Tagger", "WordsOptions"]

Tagger = Literal["auto", "spice", "wordnet"]
"""The source of word classes: SPICE's parser, WordNet, or the parser if its model is installed."""


@dataclass(frozen=True, kw_only=True)
class WordsOptions:
    """Options of the words study.

    Raises:
        OptionError: An option has an invalid value.
    """

    words: Annotated[int, Option(min=1, help="Number of the most frequent words.")] = 1000
    references: Annotated[
        int, Option("--references", "-k", min=1, help="Largest number of references; all from 1 are used.")
    ] = 4
    samples: Samples = 1000
    level: Level = 0.95
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
