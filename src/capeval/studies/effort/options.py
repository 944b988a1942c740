"""Options of the effort study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from capeval._internal.options import Level, Option, check_options
from capeval._internal.validation import validate_number, validate_positive
from capeval.errors import OptionError
from capeval.studies.votes.options import LEAST_VOTES, LEVELS

__all__ = ["EffortOptions", "Prices"]


@dataclass(frozen=True, kw_only=True)
class EffortOptions:
    """Options of the effort study.

    With `curtail`, all winners are the same as without it. With `confidence`, nearly all are. Neither allows
    reporting shares of votes.

    Raises:
        OptionError: An option has an invalid value, or a required option is missing.
    """

    systems: Annotated[int, Option(min=1, help="Number of systems, including human and random captions.")] = 1
    votes: Annotated[int, Option(min=1, help="Number of people to ask per question.")] = 3
    curtail: Annotated[bool, Option(help="End a question when more answers can't change its winner.")] = False
    confidence: Annotated[
        float | None,
        Option(help="End a question at this probability of its winner, such as 0.95.", show_default="never"),
    ] = None
    least: Annotated[
        int | None,
        Option(min=1, help="Minimum number of votes for --confidence.", show_default=str(LEAST_VOTES)),
    ] = None
    level: Level = 0.95

    def __post_init__(self) -> None:
        check_options(self)
        if self.confidence is not None:
            validate_number("confidence", self.confidence, *LEVELS)
        elif self.least is not None:
            raise OptionError("'--least' requires '--confidence'")


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Time and cost of answers, in any currency.

    Raises:
        OptionError: A number is out of range.
    """

    seconds: Annotated[float, Option(help="Median time of an answer, in seconds.")] = 8.0
    hourly: Annotated[float, Option(help="Pay per hour.")] = 12.0
    fee: Annotated[float, Option(help="Fee of a panel, as a fraction of the pay.")] = 0.0
    workers: Annotated[int, Option(min=1, help="Number of people working in parallel.")] = 10
    hours: Annotated[float, Option(help="Working hours per person and day.")] = 2.0

    def __post_init__(self) -> None:
        check_options(self)
        for name in ("seconds", "hourly", "hours"):
            validate_positive(name, getattr(self, name))
        validate_number("fee", self.fee, 0, 10)
