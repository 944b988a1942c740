"""Options of the plan study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from capeval._internal.options import Option, Seed, check_options

__all__ = ["PlanOptions"]


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Options of the plan study.

    Raises:
        OptionError: An option has an invalid value.
    """

    held_out: Annotated[
        int, Option(min=1, help="Number of captions per image to judge; the others are references.")
    ] = 2
    per_pair: Annotated[
        int | None, Option(min=1, help="Number of references to show with each pair.", show_default="all")
    ] = None
    judgments: Annotated[int, Option(min=1, help="Number of people to ask per triplet.")] = 3
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
