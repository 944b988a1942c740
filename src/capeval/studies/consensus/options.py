"""Options of a study of consensus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from capeval._internal.options import Option, Seed, check_options
from capeval.studies.shared.ties import Ties

__all__ = ["ConsensusOptions"]


@dataclass(frozen=True, kw_only=True)
class ConsensusOptions:
    """Options of a study of consensus.

    Raises:
        OptionError: An option has a value that is not allowed.
    """

    counts: Annotated[
        tuple[int, ...],
        Option(help="Numbers of references for the curve, separated by commas.", show_default="no curve"),
    ] = ()
    draws: Annotated[int, Option(min=1, help="Random draws of references, or of halves.")] = 3
    ties: Annotated[Ties, Option(help="A tie counts as a win of the first, or half.")] = "first"
    words: Annotated[
        Literal["paper", "default"],
        Option(help="Stems and punctuation as in the CIDEr paper, or each metric's default."),
    ] = "paper"
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
