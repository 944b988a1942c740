"""Options of a study of agreement on words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from capeval._internal.options import Option, check_options

__all__ = ["WordsOptions"]


@dataclass(frozen=True, kw_only=True)
class WordsOptions:
    """Options of a study of agreement on words.

    Raises:
        OptionError: An option has a value that is not allowed.
    """

    words: Annotated[int, Option(min=1, help="Number of words, the most frequent ones.")] = 1000
    references: Annotated[
        int, Option("--references", "-k", min=1, help="Largest number of references; all from 1 are studied.")
    ] = 4

    def __post_init__(self) -> None:
        check_options(self)
