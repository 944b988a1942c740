"""Options of a forecast of annotation effort."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from capeval._internal.options import Option, check_options
from capeval._internal.validation import checked_number, checked_positive

__all__ = ["Prices"]


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
