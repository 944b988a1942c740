"""Options of a study of gaming."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from capeval._internal.options import Option, Seed, check_options

__all__ = ["GamingOptions"]


@dataclass(frozen=True, kw_only=True)
class GamingOptions:
    """Options of a study of gaming.

    Raises:
        OptionError: An option has a value that is not allowed.
    """

    images: Annotated[int, Option(min=2, help="Number of images to use, from the first on.")] = 5000
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
