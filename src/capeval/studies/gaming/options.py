"""Options of the gaming study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from capeval._internal.options import Option, Seed, check_options

__all__ = ["GamingOptions"]


@dataclass(frozen=True, kw_only=True)
class GamingOptions:
    """Options of the gaming study.

    Raises:
        OptionError: An option has an invalid value.
    """

    images: Annotated[int, Option(min=2, help="Number of images, from the start of the file.")] = 5000
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
