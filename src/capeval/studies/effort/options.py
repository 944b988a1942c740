"""Options of a forecast of annotation effort."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from capeval._internal.options import Level, Option, check_options
from capeval._internal.validation import checked_number, checked_positive
from capeval.errors import OptionError
from capeval.studies.votes.options import LEAST_VOTES, LEVELS

__all__ = ["EffortOptions", "Prices"]


@dataclass(frozen=True, kw_only=True)
class EffortOptions:
    """Options of a forecast of annotation effort.

    With `curtail`, all winners are the same as without; with `confidence`, nearly all are. Shares of votes
    can't be reported with either.

    Raises:
        OptionError: An option has a value that is not allowed, or one is missing.
    """

    systems: Annotated[int, Option(min=1, help="Systems, people's and random captions among them.")] = 1
    votes: Annotated[int, Option(min=1, help="People to ask for each question.")] = 3
    curtail: Annotated[bool, Option(help="A question ends when more answers can't change its winner.")] = (
        False
    )
    confidence: Annotated[
        float | None,
        Option(help="A question ends when its winner is that likely, such as 0.95.", show_default="never"),
    ] = None
    least: Annotated[
        int | None,
        Option(min=1, help="Votes that --confidence takes at least.", show_default=str(LEAST_VOTES)),
    ] = None
    level: Level = 0.95

    def __post_init__(self) -> None:
        check_options(self)
        if self.confidence is not None:
            checked_number("confidence", self.confidence, *LEVELS)
        elif self.least is not None:
            raise OptionError("'--least' must go with '--confidence'")


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Time and cost of answers; money is in any currency.

    Raises:
        OptionError: A number is not in its range.
    """

    seconds: Annotated[float, Option(help="Median time of an answer.")] = 8.0
    hourly: Annotated[float, Option(help="Pay for an hour.")] = 12.0
    fee: Annotated[float, Option(help="Fee of a panel, as a part of the pay.")] = 0.0
    workers: Annotated[int, Option(min=1, help="People who work at a time.")] = 10
    hours: Annotated[float, Option(help="Hours a day that each works.")] = 2.0

    def __post_init__(self) -> None:
        check_options(self)
        for name in ("seconds", "hourly", "hours"):
            checked_positive(name, getattr(self, name))
        checked_number("fee", self.fee, 0, 10)
