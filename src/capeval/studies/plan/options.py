"""Options of a plan of pairs and triplets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from capeval._internal.options import Option, Seed, check_options

__all__ = ["PlanOptions"]


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Options of a plan of pairs and triplets.

    Raises:
        OptionError: An option has a value that is not allowed.
    """

    held_out: Annotated[
        int, Option(min=1, help="Captions of each image to judge; the others are references.")
    ] = 2
    per_pair: Annotated[
        int | None, Option(min=1, help="References that each pair is shown with.", show_default="all")
    ] = None
    judgments: Annotated[int, Option(min=1, help="People to ask for each triplet.")] = 3
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
