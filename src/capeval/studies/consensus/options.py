"""Options of the consensus study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from capeval._internal.options import Option, Seed, check_options
from capeval.studies.shared.ties import HumanTies, TieRules, Ties

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
    ties: Annotated[
        Ties,
        Option(help="Count a metric's tie as wrong, half correct or the first candidate, or toss a coin."),
    ] = "wrong"
    human_ties: Annotated[
        HumanTies,
        Option(help="Exclude pairs without a human winner, or count any choice on them as half correct."),
    ] = "exclude"
    words: Annotated[
        Literal["paper", "default"],
        Option(help="Use stems and punctuation as in the CIDEr paper, or each metric's default."),
    ] = "paper"
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def tie_rules(self) -> TieRules:
        """The rules for ties of metrics and people."""
        return TieRules(ties=self.ties, human_ties=self.human_ties, seed=self.seed)
