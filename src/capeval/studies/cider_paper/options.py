"""Options of the study of the CIDEr paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from capeval._internal.options import Option, Seed, check_options

__all__ = ["CiderPaperOptions"]


@dataclass(frozen=True, kw_only=True)
class CiderPaperOptions:
    """Options of the study of the CIDEr paper.

    Raises:
        OptionError: An option has an invalid value.
    """

    draws: Annotated[int, Option(min=1, help="Number of random draws of references, halves and images.")] = 3
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
