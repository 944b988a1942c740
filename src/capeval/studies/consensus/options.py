"""Options of the consensus study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from capeval._internal.options import Option, Seed, check_options
from capeval.studies.shared.ties import Ties

__all__ = ["ConsensusOptions"]


@dataclass(frozen=True, kw_only=True)
class ConsensusOptions:
    """Options of the consensus study.

    Raises:
        OptionError: An option has an invalid value.
    """

    counts: Annotated[
        tuple[int, ...],
        Option(help="Comma-separated numbers of references for the curve.", show_default="no curve"),
    ] = ()
    draws: Annotated[int, Option(min=1, help="Number of random draws of references, or of halves.")] = 3
    ties: Annotated[Ties, Option(help="Count a tie as a win of the first candidate, or as half a win.")] = (
        "first"
    )
    words: Annotated[
        Literal["paper", "default"],
        Option(help="Use stems and punctuation as in the CIDEr paper, or each metric's default."),
    ] = "paper"
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
